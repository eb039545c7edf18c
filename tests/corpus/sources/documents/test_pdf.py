"""Pages of PDF are documents with their numbers; what has no text, or too much, says so."""

import logging
import sys
from pathlib import Path

import pytest
from tests.corpus.sources.documents.writing import lines, write_pdf
from tests.corpus.sources.reading import read, refused

from ranklet.corpus.sources.documents import pdf

pypdf = pytest.importorskip("pypdf")


def test_each_page_is_a_document_with_its_number(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pages = [lines("Pumps are main-", "tained well-", "Known."), b"", lines("Second")]
    path = write_pdf(tmp_path / "a.pdf", pages, title="The manual")
    first, last = read(path, metadata="page")
    assert (first.id, first.title, first.metadata) == ("a.pdf#page=1", "The manual", {"page": 1})
    assert first.text.split() == ["Pumps", "are", "maintained", "wellKnown."]
    assert (last.id, last.text, last.metadata) == ("a.pdf#page=3", "Second", {"page": 3})
    assert "1 of 3 pages hold no text" in caplog.text
    assert logging.getLogger("pypdf").level == logging.NOTSET


@pytest.mark.parametrize("title", ["", "Microsoft Word - x.doc", "report.indd", "untitled"])
def test_a_title_that_a_program_wrote_is_none(tmp_path: Path, title: str) -> None:
    write_pdf(tmp_path / "a.pdf", [lines("Text")], title=title)
    assert [each.title for each in read(tmp_path)] == ["a"]


def test_a_pdf_without_text_says_so(tmp_path: Path) -> None:
    write_pdf(tmp_path / "a.pdf", [b"0 0 m", b""])
    assert "a.pdf (holds no text, as if it was scanned" in refused(tmp_path)


def test_an_encrypted_pdf_says_so(tmp_path: Path) -> None:
    reader = pypdf.PdfReader(write_pdf(tmp_path / "a.pdf", [lines("Text")]))
    for name, password in (("b", "secret"), ("c", "")):
        writer = pypdf.PdfWriter(reader)
        writer.encrypt(password, "owner", algorithm="RC4-128")
        writer.write(tmp_path / f"{name}.pdf")
    assert "b.pdf (is encrypted; save it without a password)" in refused(tmp_path)
    assert [each.text for each in read(tmp_path / "c.pdf")] == ["Text"]


def test_a_pdf_of_too_many_pages_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "MOST_PAGES", 1_000)
    write_pdf(tmp_path / "a.pdf", [b""], times=1_001)
    assert "a.pdf (has 1,001 pages, and at most 1,000 are read; divide it)" in refused(tmp_path)


def test_a_small_pdf_that_draws_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "MOST_OPERATIONS", 100)
    write_pdf(tmp_path / "a.pdf", [lines("x"), b"q Q " * 2_000])
    assert "a.pdf (draws more than its size allows; divide it)" in refused(tmp_path)


def test_a_page_that_is_damaged_is_named(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", [lines("One"), lines("Two")])
    head, found, tail = path.read_bytes().rpartition(b"/FlateDecode")
    path.write_bytes(head + found.replace(b"Flate", b"Fault") + tail)
    assert "a.pdf#page=2 (is damaged or too large (NotImplementedError" in refused(tmp_path)
    assert [each.text for each in read(tmp_path, skip_bad=True)] == ["One"]


def test_a_missing_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pdf(tmp_path / "a.pdf", [lines("Text")])
    monkeypatch.setitem(sys.modules, "pypdf", None)
    assert "run: pip install 'ranklet[documents]'" in refused(tmp_path)
