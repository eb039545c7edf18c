"""The picture is XML with every label, and shapes that need no colour."""

from pathlib import Path
from xml.etree import ElementTree

from benchmarks.all_systems.picture import Point, draw
from benchmarks.all_systems.studies import Reads

SVG = "{http://www.w3.org/2000/svg}"
POINTS = [
    Point("BM25 & friends", 0.2, 0.60, Reads.NOTHING, False),
    Point("encoder <int8>", 2.0, 0.65, Reads.QUERY, False),
    Point("both", 2.1, 0.66, Reads.QUERY, True),
    Point("slow", 90.0, 0.61, Reads.NOTHING, True),
    Point("cross-encoder", 700.0, 0.70, Reads.PAIRS, False),
]


def test_every_system_has_a_label_and_a_mark_of_its_class(tmp_path: Path) -> None:
    draw(POINTS, "tiny, 5 queries", "nDCG@10", tmp_path / "p.svg")
    root = ElementTree.parse(tmp_path / "p.svg").getroot()  # noqa: S314 (our own file)
    texts = {"".join(each.itertext()).strip(): each for each in root.iter(f"{SVG}text")}
    names = [each.name for each in POINTS]
    named = {name: own for name in names for text, own in texts.items() if text.startswith(name)}
    assert list(named) == names
    best = {name for name, each in named.items() if each.get("class") == "best"}
    assert best == {"BM25 & friends", "encoder <int8>", "both", "cross-encoder"}
    assert len(list(root.iter(f"{SVG}circle"))) == 2 + 2  # of which two are in the legend
    corners = [len(each.attrib["points"].split()) for each in root.iter(f"{SVG}polygon")]
    assert sorted(corners) == [3, 3, 4, 4, 4]
    hollow = [each for each in root.iter() if each.get("fill") == "#ffffff"]
    assert len(hollow) == 3 + 1 + 1  # systems, the legend, the background


def test_equal_systems_can_be_drawn(tmp_path: Path) -> None:
    draw(POINTS[:1], "one", "nDCG@10", tmp_path / "p.svg")
    assert "BM25 &amp; friends" in (tmp_path / "p.svg").read_text()
