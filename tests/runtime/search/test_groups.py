"""Pages, thresholds and groups of a ranking."""

from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metadata_rows import FIELDS, WORDS

from ranklet.runtime import Bundle, InputError, Pipeline, Retrieve
from ranklet.runtime.asks import Ask
from ranklet.runtime.search.groups import chosen

if TYPE_CHECKING:
    from tests.conftest import Described

SINGLE = [name for name in FIELDS if name != "tags"]
QUERY = " ".join(WORDS)


def ids(bundle: Bundle, **options: Any) -> list[str]:
    return [hit.id for hit in bundle.rank(QUERY, **options)]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=30),
    st.integers(0, 6),
    st.integers(0, 4),
    st.integers(1, 3),
    st.none() | st.integers(0, 5),
)
def test_groups_are_those_of_a_plain_loop(
    documents: list[tuple[int, int]], k: int, offset: int, size: int, least: int | None
) -> None:
    ordered = sorted(documents, key=lambda each: -each[0])
    wanted, members = [], dict[int, list[int]]()
    for place, (score, group) in enumerate(ordered):
        if least is None or score >= least:
            members.setdefault(group, []).append(place)
    for places in list(members.values())[offset : offset + k]:
        wanted += places[:size]
    ask = Ask(k=k, offset=offset, group_by="x", group_size=size, min_score=least)
    scores = np.array([score for score, _ in ordered], np.float32)
    groups = np.array([group for _, group in ordered], np.intp)
    assert chosen(ask, scores, groups).tolist() == sorted(wanted)


def test_pages_are_slices_of_the_larger_ranking(described: "Described") -> None:
    random, bundle = Random(5), described.bundle
    for _ in range(60):
        query = " ".join(random.choices(WORDS, k=3))
        k, offset = random.randint(0, 9), random.randint(0, 30)
        options: dict[str, Any] = random.choice(
            [{}, {"where": {"open": True}}, {"group_by": random.choice(SINGLE)}, {"min_score": 0.2}]
        )
        page = bundle.rank(query, k=k, offset=offset, **options)
        whole = bundle.rank(query, k=k + offset, **options)
        assert page.hits == whole.hits[offset:]


def test_hits_below_the_least_score_are_left_out(described: "Described") -> None:
    everything = described.bundle.rank(QUERY, k=100)
    least = everything[10].score
    found = described.bundle.rank(QUERY, k=100, min_score=least)
    assert found.hits == tuple(hit for hit in everything if hit.score >= least)
    assert len(described.bundle.rank(QUERY, min_score=1e9)) == 0
    kinds: list[Any] = [np.float16, np.float32, np.int8]  # which overflow where they are compared
    for number in kinds:
        assert described.bundle.rank(QUERY, min_score=number(0), budget_ms=number(99)).hits
    own = described.bundle.rank(
        "bread", ["bread", "house", "bread bread"], min_score=0.01, offset=1
    )
    assert [hit.index for hit in own] in ([0], [2])


@pytest.mark.parametrize("name", SINGLE)
def test_k_groups_come_back_if_there_are_k(described: "Described", name: str) -> None:
    # The pipeline retrieves two documents, so that longer lists are needed for more groups.
    shallow = Pipeline((Retrieve("bm25", 2),))
    everything = described.bundle.rank(QUERY, k=100, pipeline="bm25")
    best: dict[Any, str] = {}
    for hit in everything:
        best.setdefault(hit.metadata.get(name, hit.id), hit.id)
    for k in (0, 1, 3, 6, 100):
        found = ids(described.bundle, k=k, group_by=name, pipeline=shallow)
        assert found == list(best.values())[:k]
    assert ids(described.bundle, k=2, offset=1, group_by=name) == list(best.values())[1:3]


def test_groups_may_have_several_hits_and_a_filter(described: "Described") -> None:
    where = {"year": {"missing": False}}
    everything = described.bundle.rank(QUERY, k=100, where=where)
    years = list(dict.fromkeys(hit.metadata["year"] for hit in everything))
    found = described.bundle.rank(QUERY, k=2, group_by="year", group_size=3, where=where)
    wanted = [hit.id for year in years[:2] for hit in everything if hit.metadata["year"] == year]
    assert len(found) == 6
    assert set(ids(described.bundle, k=2, group_by="year", group_size=99, where=where)) == set(
        wanted
    )
    assert list(found) == sorted(found, key=lambda hit: (-hit.score, hit.index))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"offset": -1}, "offset is -1; it must be a whole number from 0"),
        ({"offset": 1.5}, "offset is 1.5; it must be a whole number"),
        ({"min_score": "1"}, "min_score is '1'; it must be a number"),
        ({"min_score": float("nan")}, "it must be a number"),
        ({"min_score": True}, "it must be a number"),
        ({"min_score": 10**400}, "it must be a number"),
        ({"group_by": "yaer"}, r"group_by: unknown field 'yaer' \(did you mean 'year'\?\)"),
        ({"group_by": 5}, "group_by is 5; it must be a string"),
        ({"group_by": "tags"}, "group_by: 'tags' holds lists of strings"),
        (
            {"group_by": "year", "group_size": 0},
            "group_size is 0; it must be a whole number from 1",
        ),
        ({"group_size": 2}, "pass group_by"),
        ({"documents": ["bread"], "group_by": "year"}, "texts of your own have no metadata"),
        ({"documents": ["bread"], "where": {}}, "texts of your own have no metadata"),
    ],
)
def test_what_cannot_be_used_is_refused(
    described: "Described", options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        described.bundle.rank("bread", **options)
