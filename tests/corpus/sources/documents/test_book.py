"""Chapters of books are documents in the order in which they are read."""

from pathlib import Path

import pytest
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


def encrypted(*names: str) -> str:
    listed = (
        f'<EncryptedData><CipherData><CipherReference URI="{name}"/></CipherData></EncryptedData>'
        for name in names
    )
    return f'<encryption xmlns="urn:e">{"".join(listed)}</encryption>'


def test_an_encrypted_chapter_is_named_and_others_are_read(tmp_path: Path) -> None:
    rights = {"META-INF/rights.xml": "<a/>", "META-INF/license.lcpl": "{}"}
    listed = {"META-INF/encryption.xml": encrypted("OEBPS/a%20b.xhtml", "OEBPS/f.otf")}
    write_zip(tmp_path / "a.epub", {**PARTS, **rights, **listed, "OEBPS/a b.xhtml": "\x01\x02"})
    assert "a.epub#page=2 (OEBPS/a b.xhtml is encrypted for the book's buyer)" in refused(tmp_path)
    assert [each.text for each in read(tmp_path, skip_bad=True)] == ["First."]
    fonts = {"META-INF/encryption.xml": encrypted("OEBPS/f.otf")}
    write_zip(tmp_path / "a.epub", {**PARTS, **rights, **fonts})
    assert len(read(tmp_path)) == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "windows-1252"])
def test_a_chapter_is_decoded_by_its_declaration(tmp_path: Path, encoding: str) -> None:
    page = f'<?xml version="1.0" encoding="{encoding}"?><html><p>A naïve café.'
    write_zip(tmp_path / "a.epub", {**PARTS, "b.xhtml": [page.encode(encoding)]})
    assert read(tmp_path)[0].text == "A naïve café."


def test_a_cover_is_no_document(tmp_path: Path) -> None:
    cover = "<title>Cover</title><svg><image href='a.png'/></svg>"
    write_zip(tmp_path / "a.epub", {**PARTS, "b.xhtml": cover})
    assert [each.id for each in read(tmp_path)] == ["a.epub#page=2"]
    write_zip(tmp_path / "a.epub", {**PARTS, "b.xhtml": cover, "OEBPS/a b.xhtml": cover})
    assert "a.epub (holds no text; are its chapters pictures?)" in refused(tmp_path)


def test_a_book_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    write_zip(tmp_path / "a.epub", {"META-INF/container.xml": CONTAINER})
    assert "a.epub (is damaged: it has no OEBPS/c.opf)" in refused(tmp_path)
