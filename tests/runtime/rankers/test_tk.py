"""A TK in a bundle: it rescores by its network."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.kinds import TinyRankers

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.manifest import Manifest
from ranklet.runtime.call.deadline import FIRST_SLICE
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.rankers.tk import TK

QUERIES = ("quiet stream", "an old old fiddle", "red apple here", "gnorp winter")

TEXTS = ["the red apple is red", "an old river " * 9, "", "gnorp", "winter is here here"]

RECIPE: list[dict[str, Any]] = [
    {"stage": "retrieve", "ranker": "bm25", "k": 20},
    {"stage": "rescore", "ranker": "tk"},
]


@pytest.fixture
def indexed(tiny: TinyRankers) -> Bundle:
    return tiny.bundle("tk")


def opened(bundle: Bundle) -> TK:
    found = open_ranker(bundle.files, "tk")
    assert isinstance(found, TK)
    return found


@pytest.mark.parametrize("name", ["tk", "tkl"])
@pytest.mark.parametrize("texts", [None, TEXTS])
def test_an_explanation_is_the_score_by_query_terms(
    texts: list[str] | None, indexed: Bundle, name: str
) -> None:
    recipe = [RECIPE[0], {"stage": "rescore", "ranker": name}]
    for hit in indexed.rank("old gnorp river old", texts, pipeline=recipe, explain=True):
        assert hit.explanation is not None
        assert hit.explanation.value == pytest.approx(hit.score, abs=1e-4)
        assert hit.explanation.label == f"{name} over words"
        # One part for both occurrences, and none for a word that the network does not know.
        assert sorted(part.label for part in hit.explanation.parts) == ["old", "river"]
        terms = {part.query_token for part in hit.explanation.parts}
        assert terms == {("words", "old"), ("words", "river")}


def test_it_reranks_and_does_not_retrieve(indexed: Bundle) -> None:
    assert "rescore by tk" in str(indexed.manifest.pipelines["tk"].stages[-1])
    retrieve = [{"stage": "retrieve", "ranker": "tk", "k": 3}]
    with pytest.raises(InputError, match="cannot retrieve"):
        indexed.rank("old river", pipeline=retrieve)
    raw = json.loads(indexed.manifest.to_json())
    raw["pipelines"]["bad"] = retrieve
    with pytest.raises(BundleError, match="has no index"):
        Manifest.from_json(json.dumps(raw))


def test_what_is_cut_is_reported_once(indexed: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    network = opened(indexed).network
    short = replace(network.settings, max_document_terms=5, max_query_terms=2)
    monkeypatch.setattr(network, "settings", short)
    texts = ["an old river " * 9, "short", "an old river " * 9]
    twice = [*RECIPE, RECIPE[1]]
    for query, cut in (("old river", 2), ("gnorp", 2), ("quiet old river", 3)):
        assert indexed.rank(query, texts, pipeline=twice, explain=True).truncated == {"tk": cut}
    assert indexed.rank("quiet old river", pipeline=RECIPE).truncated == {"tk": 1}


def test_a_budget_begins_with_few(indexed: Bundle) -> None:
    sizes = [opened(indexed).first_slice(texts=texts) for texts in (False, True)]
    assert sizes == [FIRST_SLICE, FIRST_SLICE]
