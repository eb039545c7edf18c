import copy
import json
import pickle
import sys
from dataclasses import FrozenInstanceError, asdict, replace
from datetime import date
from typing import Any

import numpy as np
import pytest

from ranklet.runtime import Explanation, Hit, Ranking, Timing
from ranklet.runtime.ground.errors import MissingPackageError
from ranklet.runtime.hits import untie

HITS = tuple(Hit(str(at), 1.0 - at, "", "text", at) for at in range(3))
RANKING = Ranking(HITS, "a query", (Timing("keep 3", 0.5),))


def test_a_ranking_is_a_sequence_of_hits() -> None:
    assert len(RANKING) == 3
    assert list(RANKING) == list(HITS)
    assert RANKING[0] is HITS[0]
    assert RANKING[-1] is HITS[2]
    assert RANKING[1:] == HITS[1:]
    assert HITS[1] in RANKING
    assert RANKING.index(HITS[2]) == 2
    assert [hit.id for hit in reversed(RANKING)] == ["2", "1", "0"]


def test_results_are_keys_whatever_they_hold() -> None:
    explained = Explanation("bm25", 1.0, (Explanation("dough", 1.0),))
    hit = Hit("1", 1.0, "", "text", 0, explained, metadata={"tags": ["a"]})
    about: dict[str, Any] = {
        "providers": {"dense": "CPU"}, "truncated": {"dense": 1}, "corrections": {"dogh": "dough"},
    }  # fmt: skip
    ranking = Ranking((hit,), "dogh", (Timing("keep 3", 0.5),), **about)
    assert {ranking: 1}[replace(ranking)] == 1
    assert ranking != replace(ranking, corrections={})


def test_the_repr_names_the_query_and_the_best_hits() -> None:
    assert repr(RANKING) == "<Ranking of 'a query': 3 hits: 0 (1), 1 (0), 2 (-1)>"
    assert repr(Ranking((*HITS, HITS[0]), "q", ())).endswith(", …>")
    assert repr(Ranking((), "q", ())) == "<Ranking of 'q': 0 hits>"


def test_a_ranking_becomes_plain_values_and_json() -> None:
    passage = Hit("d", 0.5, "", "é", 7, Explanation("why", 0.5), passage=2)
    ranking = Ranking((HITS[0], passage), "q", (Timing("keep 3", 0.5),), truncated={"x": 1})
    values = ranking.to_dict()
    assert json.loads(ranking.to_json()) == values
    assert "é" in ranking.to_json()
    assert "\n" in ranking.to_json(indent=2)
    assert (values["query"], values["ms"], values["truncated"]) == ("q", {"keep 3": 0.5}, {"x": 1})
    shown = {"id": "0", "score": 1.0, "index": 0, "title": "", "text": "text", "snippet": "text"}
    assert values["hits"][0] == shown
    assert values["hits"][1]["passage"] == 2
    assert values["hits"][1]["explanation"]["label"] == "why"


def test_a_ranking_becomes_a_table() -> None:
    day = date(2024, 5, 31)
    first = Hit("a", 2.0, "A", "x", 0, metadata={"year": 2024, "tags": ["p", "q"], "rank": "high"})
    ranking = Ranking((first, Hit("b", 1.0, "", "y", 1, passage=3, metadata={"day": day})), "q", ())
    columns = ranking.columns()
    assert columns == {
        "rank": [1, 2], "id": ["a", "b"], "score": [2.0, 1.0], "title": ["A", ""],
        "text": ["x", "y"], "passage": [None, 3], "year": [2024, None],
        "tags": [["p", "q"], None], "metadata.rank": ["high", None], "day": [None, day],
    }  # fmt: skip
    frame = ranking.to_pandas()
    assert list(frame) == list(columns)
    assert frame["id"].tolist() == ["a", "b"]
    empty = Ranking((), "q", ())
    assert len(empty.to_pandas()) == 0
    common = columns.keys() - {"passage", "year", "tags", "metadata.rank", "day"}
    for name in common:  # so that the answers to several queries can be put together
        assert empty.to_pandas()[name].dtype == frame[name].dtype


def test_a_table_of_a_library_that_is_not_installed_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match="pip install pandas"):
        RANKING.to_pandas()


def test_hits_and_rankings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        RANKING.query = "another"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        HITS[0].score = 7.0  # type: ignore[misc]


def test_a_stored_hit_reads_once_what_it_is_asked_for_and_is_equal_to_any_other() -> None:
    values: dict[str, Any] = {
        "title": "A", "text": "x " * 400, "metadata": {"year": 2024}, "location": None,
        "passage": 1,
    }  # fmt: skip
    asked: list[tuple[str, int]] = []

    def read(name: str, number: int) -> Any:
        asked.append((name, number))
        return values[name]

    def hit() -> Hit:
        return Hit.stored(7, read, "a", 2.0, 5, None)

    late, same = hit(), Hit("a", 2.0, values["title"], values["text"], 5, None, 1, {"year": 2024})
    assert (late.id, late.score, late.index) == ("a", 2.0, 5)
    assert not asked
    assert late.title + late.title == "AA"
    assert asked == [("title", 7)]
    assert late.name == "a · passage 1"
    for make in (
        hit, lambda: copy.copy(hit()), lambda: copy.deepcopy(hit()), lambda: replace(hit()),
        lambda: pickle.loads(pickle.dumps(hit())),  # noqa: S301
    ):  # fmt: skip
        assert make() == same
        assert hash(make()) == hash(same)
        assert repr(make()) == repr(same)
        assert make().to_dict() == same.to_dict()
        assert make() != replace(same, text="y")
    assert replace(hit(), text="y") == replace(same, text="y")
    assert asdict(hit()) == asdict(same)
    with pytest.raises(FrozenInstanceError):
        late.text = "y"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="no attribute 'texts'"):
        late.texts  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(object.__new__(Hit), "text")


def test_ties_are_set_apart_by_as_little_as_trec_eval_can_tell() -> None:
    hits = [("a", 0.5), ("b", 0.5), ("c", 0.5), ("d", 0.5 - 1e-8), ("e", 0.0), ("f", 0.0)]
    found = untie(hits)
    assert [name for name, _ in found] == list("abcdef")
    scores = np.array([score for _, score in found], np.float32)
    assert (np.diff(scores) < 0).all()
    np.testing.assert_allclose(scores, [score for _, score in hits], atol=1e-6)
    assert untie([("a", 2.0), ("b", 1.0)]) == [("a", 2.0), ("b", 1.0)]
