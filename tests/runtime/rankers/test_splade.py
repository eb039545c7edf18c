"""SPLADE in a bundle: its queries may run no network."""

import pytest
from tests.kinds import TinyRankers

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.rankers import learned_sparse


@pytest.mark.parametrize("name", ["idf", "learned"])
def test_queries_without_a_network_open_none(
    tiny: TinyRankers, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tiny.indexed("splade")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a network was opened")

    monkeypatch.setattr(learned_sparse, "open_encoder", refuse)
    bundle = Bundle(path)
    pipeline = [{"stage": "retrieve", "ranker": name, "k": 10}]
    hits = bundle.rank("red apple", pipeline=pipeline, explain=True)
    assert hits
    assert hits.providers == {name: "numpy"}
