"""Without a query all documents come back that the options allow, on every front."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.commands.running import succeeds
from tests.metadata_rows import CATEGORY, WORDS, YEAR
from tests.updates import SPLIT, indexed

import ranklet
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.handlers.api import answers
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.mcp.tools import call
from ranklet.runtime import InputError
from ranklet.runtime.syntax.query_syntax import Query

if TYPE_CHECKING:
    from tests.conftest import Described

WHERE = {YEAR: {">=": 2020}}


@pytest.mark.parametrize("query", ["", " \t", "*"])
@pytest.mark.parametrize("front", ["Python", "HTTP", "assistant", "command line"])
def test_all_that_the_filter_allows_comes_back_in_order(
    described: "Described", front: str, query: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle, limits = described.bundle, Limits()
    wanted = [row for row in described.rows if row.get(YEAR, 0) >= 2020]
    asked: dict[str, Any] = {"where": WHERE, "facets": [CATEGORY], "k": 5, "offset": 2}
    for more, expected in (
        ({}, wanted),
        ({"sort": ["-" + YEAR]}, sorted(wanted, key=lambda row: -row[YEAR])),
    ):
        options = asked | more
        sent = options | {"query": query}
        if front == "Python":
            found = bundle.rank(query, **options).to_dict()
        elif front == "HTTP":
            found = cast(dict[str, Any], answers.rank(bundle, sent, limits).body)
        elif front == "assistant":
            found = call(bundle, "search", sent, limits).values
        else:
            flags = [f"--sort={each}" for each in options.get("sort", ())]
            out = succeeds(
                capsys, "rank", described.path, query, "--where", json.dumps(WHERE), "--facet",
                CATEGORY, "-k", "5", "--offset", "2", "--json", *flags,
            )  # fmt: skip
            found = json.loads(out)
        assert [hit["id"] for hit in found["hits"]] == [row["id"] for row in expected[2:7]]
        assert {hit["score"] for hit in found["hits"]} == {0.0}
        assert (found["total"], found["exact"]) == (len(wanted), True)
        assert sum(each["count"] for each in found["facets"][CATEGORY]) == sum(
            CATEGORY in row for row in wanted
        )


def test_passages_additions_pins_and_boosts_are_as_for_a_query(tmp_path: Path, built: Any) -> None:
    made = [
        {"id": f"d{at}", "text": ". ".join([" ".join(WORDS[:5])] * 3), "stars": at % 4}
        for at in range(9)
    ]
    bundle = ranklet.open(indexed(built.exported, made, tmp_path / "live", SPLIT), writable=True)
    assert isinstance(bundle, WritableBundle)
    bundle.change([{"id": "new", "text": "other words", "stars": 9}], ["d1"])
    ids = ["d0", *(f"d{at}" for at in range(2, 9)), "new"]
    assert bundle.rank_ids("") == [(each, 0.0) for each in ids]
    assert [hit.id for hit in bundle.rank("", pin=["d5"], hide=["d0"])] == [
        "d5", *(each for each in ids if each not in ("d0", "d5")),
    ]  # fmt: skip
    best = bundle.rank("", k=3, boost={"stars": {"linear": True, "weight": 0.5}}, explain=True)
    assert [(hit.id, hit.score) for hit in best] == [("new", 4.5), ("d3", 1.5), ("d7", 1.5)]
    assert best[0].explanation is not None
    assert "the query is empty" in best[0].explanation.parts[1].label
    assert [len(hit.spans) for hit in bundle.rank("", k=2, passages=5)] == [1, 1]
    assert [hit.id for hit in bundle.rank("", group_by="stars")] == ["d0", "d2", "d3", "d5", "new"]
    assert [hit.id for hit in bundle.rank("", unique=True)] == ["d0", "new"]
    assert [hit.id for hit in bundle.rank("-bread", syntax=True)] == ["new"]
    assert (marks := bundle.rank("").marks) is not None
    assert marks(best[0]) == []


@pytest.mark.parametrize("name", ["relevance", "min_relevance", "diversity"])
def test_what_compares_hits_with_a_query_is_refused(described: "Described", name: str) -> None:
    option: dict[str, Any] = {name: 1 if name != "relevance" else True}
    with pytest.raises(InputError, match=f"{name} compares hits with a query"):
        described.bundle.rank(Query(""), **option)
