"""Chapters of books are documents in the order in which they are read."""

from pathlib import Path

from tests.corpus.sources.documents.writing import write_zip
from tests.corpus.sources.reading import read, refused

from ranklet.corpus.collections.collection import Document

CONTAINER = '<container xmlns="urn:c"><rootfile full-path="OEBPS/c.opf"/></container>'
PACKAGE = (
    '<package xmlns="urn:o"><metadata xmlns:dc="urn:dc"><dc:title>The Garden</dc:title>'
    "<dc:title>Sub</dc:title></metadata><manifest>"
    '<item id="n" href="n.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    '<item id="i" href="i.png" media-type="image/png"/>'
    '<item id="a" href="a%20b.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="b" href="../b.xhtml" media-type="application/xhtml+xml"/></manifest>'
    '<spine><itemref idref="n"/><itemref idref="b"/><itemref idref="x"/><itemref idref="a"/>'
    "</spine></package>"
)
PARTS = {
    "META-INF/container.xml": CONTAINER,
    "OEBPS/c.opf": PACKAGE,
    "OEBPS/a b.xhtml": "<!DOCTYPE html><html><title>Soil</title><p>Dig &amp; water.<aside>Note",
    "b.xhtml": "<html><head><title/></head><p>First.",
}


def test_chapters_are_read_in_their_order(tmp_path: Path) -> None:
    write_zip(tmp_path / "a.epub", {**PARTS})
    assert read(tmp_path, metadata="page") == [
        Document("a.epub#page=1", "The Garden", "First.", {"page": 1}),
        Document("a.epub#page=2", "The Garden: Soil", "Dig & water.\nNote", {"page": 2}),
    ]


def test_a_book_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    write_zip(tmp_path / "a.epub", {**PARTS, "META-INF/rights.xml": "<a/>"})
    assert "a.epub (is encrypted for its buyer" in refused(tmp_path)
    write_zip(tmp_path / "a.epub", {"META-INF/container.xml": CONTAINER})
    assert "a.epub (is damaged: it has no OEBPS/c.opf)" in refused(tmp_path)
