"""Rules for a query in the file of synonyms pin and hide documents on every front."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from tests.commands.running import Capture, succeeds

from ranklet.corpus.updating.writable import WritableBundle
from ranklet.handlers.api import answers
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.mcp.tools import call
from ranklet.runtime import Bundle, load
from ranklet.workflows.build import build

POTS = [
    {"id": "A-1", "text": "A lid.", "kind": "x"}, {"id": "A-2", "text": "A pot.", "kind": "y"},
    {"id": "A-3", "text": "Pots and pans.", "kind": "x"}, {"id": "A-4", "text": "My pot of tea."},
]  # fmt: skip
RULES = "pot, saucepan\npin: pots, big pot => A-1, Z-9\nhide: pot=>A-3\n"


@pytest.fixture
def shop(tmp_path: Path, capsys: Capture) -> Path:
    (tmp_path / "words.txt").write_text(RULES, "utf-8")
    (tmp_path / "pots.json").write_text(json.dumps(POTS), "utf-8")
    path = tmp_path / "pots.ranklet"
    said = succeeds(
        capsys, "build", tmp_path / "pots.json", "-o", path, "--synonyms", tmp_path / "words.txt"
    )
    has = "2 entries have synonyms; queries with rules: 2; no document has the ids Z-9"
    assert has in said
    return path


def ask(front: str, bundle: Bundle, capsys: Capture, query: str, **more: Any) -> list[Any]:
    sent = {"query": query, **more}
    if front == "Python":
        found = bundle.rank(**sent).to_dict()
    elif front == "HTTP":
        found = cast(dict[str, Any], answers.rank(bundle, sent, Limits()).body)
    elif front == "assistant":
        found = dict(call(bundle, "search", sent, Limits()).values)
    else:
        flags = [] if more.get("rules", True) else ["--no-rules"]
        flags += [f"--{name}={json.dumps(more[name])}" for name in ("where",) if name in more]
        flags += [f"--{name}={each}" for name in ("pin", "hide") for each in more.get(name, ())]
        found = json.loads(succeeds(capsys, "rank", bundle, query, "--json", *flags))
    assert "unknown" not in found
    return [hit["id"] + "!" * hit.get("pinned", False) for hit in found["hits"]]


@pytest.mark.parametrize("front", ["Python", "HTTP", "assistant", "command line"])
def test_a_rule_pins_and_hides_on_every_front(shop: Path, capsys: Capture, front: str) -> None:
    bundle = load(shop)
    for query, more, found in (
        ("the Pot", {}, ["A-1!", "A-2", "A-4"]),
        ("big pot", {}, ["A-1!", "A-2", "A-3", "A-4"]),
        ("pot tea", {}, ["A-4", "A-2", "A-3"]),
        ("saucepan", {}, ["A-2", "A-3", "A-4"]),
        ("pot", {"rules": False}, ["A-2", "A-3", "A-4"]),
        ("pot", {"hide": ["A-1"]}, ["A-2", "A-4"]),
        ("pot", {"pin": ["A-3"]}, ["A-3!", "A-1!", "A-2", "A-4"]),
        ("pot", {"where": {"kind": "y"}}, ["A-2"]),
        ("", {}, ["A-1", "A-2", "A-3", "A-4"]),
    ):
        assert sorted(ask(front, bundle, capsys, query, **more)) == sorted(found), (query, more)
        pins = [each for each in found if each.endswith("!")]
        assert ask(front, bundle, capsys, query, **more)[: len(pins)] == pins


def test_rules_change_what_is_counted_and_said_and_with_the_file(shop: Path) -> None:
    bundle = load(shop)
    found = bundle.rank("pot", facets=["kind"], sort=["-kind"])
    assert ([hit.id for hit in found], found.total) == (["A-1", "A-2", "A-4"], 3)
    assert {span.id for span in bundle.context("pot")} == {"A-2", "A-4"}
    assert "A-3" in {span.id for span in bundle.context("pot", rules=False)}
    assert not {"A-1", "Z-9"} & {each for each, _ in bundle.rank_ids("pot")}
    part = bundle.only({"kind": "y"}).rank("pot")
    assert ([hit.id for hit in part], part.unknown) == (["A-2"], ())
    assert [hit.text for hit in bundle.rank("pot", ["tea", "pot"])] == ["pot", "tea"]
    with WritableBundle(shop) as live:
        live.add([{"id": "Z-9", "text": "New."}])
    assert [hit.id for hit in load(shop).rank("pots")][:2] == ["A-1", "Z-9"]
    shop.with_name("pots.ranklet.synonyms").write_text("pin: tea => A-3", "utf-8")
    assert not bundle.has_current_synonyms
    assert load(shop).rank("tea")[0].id == "A-3"


def test_a_rule_for_many_ids_is_fine(tmp_path: Path) -> None:
    path = Path(build([{"id": str(n), "text": "a dog"} for n in range(40)], tmp_path / "b"))
    ids = [str(n) for n in range(39, 19, -1)]
    path.with_name("b.synonyms").write_text(f"pin: dog => {', '.join(ids)}\nhide: dog => 1")
    pages = [load(path).rank("dogs", k=15, offset=at) for at in (0, 15, 30)]
    found = [hit.id for page in pages for hit in page]
    assert (found[:20], len({*found}), "1" in found) == (ids, 39, False)
