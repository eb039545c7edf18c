"""Pages of PDF are documents with their numbers; what has no text, or too much, says so."""

import logging
import sys
from pathlib import Path

import pytest
from tests.corpus.sources.documents.writing import PAGE, lines, write_pdf
from tests.corpus.sources.reading import read, refused

from ranklet.corpus.collections import bounds
from ranklet.corpus.sources.documents import pdf
from ranklet.runtime.ground.extras import install

pypdf = pytest.importorskip("pypdf")

SHOWN = b"<" + b"0041" * 1_000 + b"> Tj"


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


@pytest.mark.parametrize(
    "title", ["", "Microsoft Word - x.doc", "report.indd", "untitled", "The last draft.docx"]
)
def test_a_title_that_a_program_wrote_is_none(tmp_path: Path, title: str) -> None:
    write_pdf(tmp_path / "a.pdf", [lines("Text")], title=title)
    assert [each.title for each in read(tmp_path)] == ["a"]


@pytest.mark.parametrize(
    "title", ["Learning Node.js", "ASP.NET", "Release notes 2.1", "Roe vs. Doe"]
)
def test_a_title_with_a_dot_is_one(tmp_path: Path, title: str) -> None:
    write_pdf(tmp_path / "a.pdf", [lines("Text")], title=title)
    assert [each.title for each in read(tmp_path)] == [title]


def test_the_hyphen_behind_one_letter_stays(tmp_path: Path) -> None:
    write_pdf(tmp_path / "a.pdf", [lines("a T-", "shirt and an e-", "mail of the auto-", "mat")])
    (page,) = read(tmp_path)
    assert page.text.split() == [
        "a",
        "T-",
        "shirt",
        "and",
        "an",
        "e-",
        "mail",
        "of",
        "the",
        "automat",
    ]


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


@pytest.mark.parametrize(
    ("content", "table", "said"),
    [
        (SHOWN, b"0041" * 250, "has more than 33,333 characters on a page"),
        (SHOWN, b"0041", ""),
        (b" " * 100_000, b"0041", "stands for more than 66,666 bytes"),
    ],
)  # fmt: skip
def test_characters_of_a_page_are_counted_before_they_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, table: bytes, said: str
) -> None:
    monkeypatch.setattr(pdf, "LONGEST", 33_333)
    monkeypatch.setattr(bounds, "ALLOWED", 66_666)
    monkeypatch.setattr(bounds, "DENSEST", 1)
    font = (
        b"<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/ToUnicode 99 0 R>>",
        b"begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
        b"1 beginbfchar\n<0041> <%s>\nendbfchar endcmap" % table,
    )
    path = write_pdf(tmp_path / "a.pdf", [PAGE % content], font=font)
    if said:
        assert said in refused(path)
    else:
        assert read(path)[0].text == "A" * 1_000


def test_a_page_that_is_damaged_is_named(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", [lines("One"), lines("Two")])
    head, found, tail = path.read_bytes().rpartition(b"/FlateDecode")
    path.write_bytes(head + found.replace(b"Flate", b"Fault") + tail)
    assert "a.pdf#page=2 (is damaged (NotImplementedError" in refused(tmp_path)
    assert [each.text for each in read(tmp_path, skip_bad=True)] == ["One"]


def test_a_missing_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pdf(tmp_path / "a.pdf", [lines("Text")])
    monkeypatch.setitem(sys.modules, "pypdf", None)
    assert f"run: {install('documents')}" in refused(tmp_path)
