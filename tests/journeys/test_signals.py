"""Boosts, pins and hidden documents mean the same on all fronts, and from object storage."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.commands.running import Capture, succeeds
from tests.range_server import RangeServer

from ranklet import build, load, update
from ranklet.handlers.api.answers import explain, rank
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.mcp.tools import call
from ranklet.runtime import Bundle, InputError
from ranklet.runtime.pipelines.pipeline import own_pipeline

if TYPE_CHECKING:
    from tests.conftest import Described

QUERY = "bread water"
LIMITS = Limits()
WISHES: dict[str, Any] = {
    "boost": {
        "year": {"saturation": 2020, "weight": 0.5},
        "due": {"half_life": "2d", "weight": 0.5, "now": "2024-03-01"},
        "tags": {"in": ["x", "ü"], "weight": 0.2},
    },
    "pin": ["d7", "nobody", "d3"],
    "hide": ["d1", "d2"],
}


def test_all_fronts_agree(described: "Described", capsys: Capture) -> None:
    wanted = described.bundle.rank(QUERY, **WISHES)
    assert [hit.id for hit in wanted][:2] == ["d7", "d3"]
    hits = [(hit.id, hit.score, hit.pinned) for hit in wanted]
    answer = rank(described.bundle, {"query": QUERY, **WISHES}, LIMITS).body
    assert isinstance(answer, dict)
    assert [(h["id"], h["score"], h.get("pinned", False)) for h in answer["hits"]] == hits
    assert answer["unknown"] == ["nobody"]
    found = call(described.bundle, "search", {"query": QUERY, **WISHES}, LIMITS).values
    once = described.bundle.rank(QUERY, **WISHES, unique=True)  # as assistants get texts
    assert [h["id"] for h in found["hits"]] == [h.id for h in once]
    assert found["unknown"] == ["nobody"]
    flags = ["--boost", json.dumps(WISHES["boost"])]
    for name in ("pin", "hide"):
        flags += [each for value in WISHES[name] for each in (f"--{name}", value)]
    printed = succeeds(capsys, "rank", described.path, QUERY, *flags)
    assert "d7 (pinned)" in printed
    assert printed.endswith("unknown ids: nobody\n")
    assert described.bundle.rank_batch([QUERY], **WISHES)[0].hits == wanted.hits
    # An explanation of one document is boosted in the same way.
    best, boost = wanted[2], WISHES["boost"]
    body = {"query": QUERY, "id": best.id, "boost": boost}
    shown = explain(described.bundle, body, LIMITS).body
    assert isinstance(shown, dict)
    assert shown["score"] == pytest.approx(best.score)
    assert "year / (year + 2020)" in json.dumps(shown["explanation"])
    tool = call(described.bundle, "explain", body, LIMITS).values
    assert "year / (year + 2020)" in tool["explanation"]
    printed = succeeds(capsys, "explain", described.path, QUERY, best.id, *flags[:2])
    assert "year / (year + 2020)" in printed


def test_object_storage_agrees(
    described: "Described", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKLET_CACHE", str(tmp_path / "cache"))
    path = build(described.rows, tmp_path / "rows.zip").path
    with RangeServer({"/rows.zip": Path(path).read_bytes()}) as server:
        far = Bundle(server.address("/rows.zip"))
        assert far.rank(QUERY, **WISHES).hits == described.bundle.rank(QUERY, **WISHES).hits


def test_a_pipeline_may_boost_by_itself(described: "Described") -> None:
    signals = {"stage": "boost", "signals": WISHES["boost"]}
    pipeline = own_pipeline([{"stage": "retrieve", "ranker": "bm25"}, signals])
    wanted = described.bundle.rank(QUERY, boost=WISHES["boost"])
    assert described.bundle.rank(QUERY, pipeline=pipeline).hits == wanted.hits
    plain = described.bundle.rank(QUERY)
    assert described.bundle.rank(QUERY, pipeline=pipeline, boost={}).hits == plain.hits
    scores = described.bundle.score(QUERY, ids=[hit.id for hit in wanted], pipeline=pipeline)
    assert scores.tolist() == pytest.approx([hit.score for hit in wanted])


def test_a_build_keeps_a_boost_for_all_its_searches(described: "Described", tmp_path: Path) -> None:
    boost = WISHES["boost"]
    bundle = load(build(described.rows, tmp_path / "b.ranklet", boost=boost).path)
    wanted = described.bundle.rank(QUERY, boost=boost).hits
    assert bundle.rank(QUERY).hits == wanted
    assert bundle.rank(QUERY, boost={}).hits == described.bundle.rank(QUERY).hits
    plain = described.bundle.rank("bread", ["bread", "water"])
    assert bundle.rank("bread", ["bread", "water"]).hits == plain.hits  # which have no metadata
    one = [{"id": "more", "text": "gnorp"}]
    updated = load(update(bundle, add=one, target=tmp_path / "c.ranklet").path)
    assert updated.manifest.pipelines == bundle.manifest.pipelines
    without = update(bundle, add=one, delete=[row["id"] for row in described.rows],
                     target=tmp_path / "d.ranklet")  # fmt: skip
    assert len(load(without.path).rank("gnorp")) == 1  # no document has the fields any more
    with pytest.raises(InputError, match="did you mean 'year'"):
        build(described.rows, tmp_path / "e", boost={"yaer": boost["year"]})
