"""What a file becomes is counted while it becomes it."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from tests.corpus.sources.documents.writing import relations, word, write_word, write_zip
from tests.corpus.sources.reading import read, refused, write

from ranklet.corpus.collections import bounds
from ranklet.corpus.sources import json_files, markdown
from ranklet.corpus.sources.documents import archive

SPACES = 'xmlns="urn:x" xmlns:r="urn:x/relationships"'


def write_book(path: Path, cells: int, shared: str) -> None:
    """Write a sheet whose cells all name one text."""
    row = "<row>" + '<c t="s"><v>0</v></c>' * cells + "</row>"
    write_zip(path, {
        "_rels/.rels": relations(("a", "officeDocument", "b.xml")),
        "b.xml": f'<workbook {SPACES}><sheet name="S" r:id="s"/></workbook>',
        "_rels/b.xml.rels": relations(("s", "worksheet", "s.xml"), ("t", "sharedStrings", "t.xml")),
        "s.xml": f"<worksheet {SPACES}>{row}</worksheet>",
        "t.xml": f"<sst><si><t>{shared}</t></si></sst>",
    })  # fmt: skip


def write_show(path: Path, slides: int, said: str) -> None:
    """Write a presentation that shows one slide often."""
    ids = '<p:sldId r:id="s"/>' * slides
    spaces = 'xmlns:p="urn:p" xmlns:a="urn:a" xmlns:r="urn:x/relationships"'
    write_zip(path, {
        "_rels/.rels": relations(("a", "officeDocument", "p.xml")),
        "p.xml": f"<p:x {spaces}>{ids}</p:x>",
        "_rels/p.xml.rels": relations(("s", "slide", "s.xml")),
        "s.xml": f"<p:sld {spaces}><a:p><a:r><a:t>{said}</a:t></a:r></a:p></p:sld>",
    })  # fmt: skip


@pytest.fixture
def dense(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files stand for 20,000 bytes, however large they are."""
    monkeypatch.setattr(bounds, "ALLOWED", 20_000)
    monkeypatch.setattr(bounds, "DENSEST", 0)


@pytest.mark.usefixtures("dense")
@pytest.mark.parametrize(
    "name", ["a.txt.gz", "a.csv.gz", "a.jsonl.zst", "a.pptx", "a.xlsx", "a.docx"]
)
def test_a_file_that_stands_for_too_much_is_one_bad_file(tmp_path: Path, name: str) -> None:
    data = b'text\n"some words"\n' + b'"other words"\n' * 9_000
    path = tmp_path / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(data))
    elif name.endswith(".zst"):
        path.write_bytes(pytest.importorskip("zstandard").compress(data[5:]))
    elif name == "a.pptx":
        write_show(path, 50, "word " * 100)
    elif name == "a.xlsx":
        write_book(path, 200, "word " * 100)
    else:
        write_word(path, word("<w:p/>" * 9_000))
    other = f"b{name[1:]}" if name[-3:] == ".gz" or name[-4:] == ".zst" else "b.txt"
    good = tmp_path / other
    if other == "b.txt":
        good.write_text("Text")
    else:
        good.write_bytes(gzip.compress(b'text\n"Text"\n' if "csv" in name else b'"Text"\n'))
    message = refused(tmp_path)
    assert f"{name} (stands for more than 20,000 " in message
    assert "1 record cannot be read" in message
    assert "Text" in read(tmp_path, skip_bad=True)[-1].text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", "<p>" * 60), ("a.html", "x\n" * 60),
        ("a.md", "x\n\n" * 60), ("a.md", "*a* " * 60),
        ("a.md", "| a | b |\n|-|-|\n" + "| c | d |\n" * 20), ("a.md", "- a\n" * 40),
        ("a.csv", "text," + ",".join(map(str, range(60))) + "\nx\n"),
        ("a.csv", 'text,b\n"' + 'x,\n"",' * 90 + '",y\n'), ("a.tsv", "text\t" + "b\t" * 60 + "\n"),
        ("a.json", '{"text": "x", "b": [' + "[]," * 120 + "1]}"),
        ("a.json", '[{"text": "x", "b": [' + "1," * 120 + "1]}]"),
        ("a.jsonl", '{"text": "x", "b": [' + "{}," * 120 + "1]}\n"),
    ],
)  # fmt: skip
def test_what_has_too_many_parts_is_refused_before_it_is_divided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str
) -> None:
    monkeypatch.setattr(bounds.count_pieces, "__defaults__", ("it", 50))
    monkeypatch.setattr(markdown, "_TOKENS", 100)
    monkeypatch.setattr(json_files, "PIECES", 50)
    monkeypatch.setattr(json_files, "_PIECE", 100)
    monkeypatch.setattr("ranklet.corpus.sources.tables.PIECES", 50)
    said = refused(write(tmp_path / name, content))
    assert any(each in said for each in ("parts, and", "marks and paragraphs", "begins a row"))


def test_a_text_of_wide_characters_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "WIDEST", 1_000)
    monkeypatch.setattr(bounds.count_pieces, "__defaults__", ("it", 50))
    for name, begin in (("a.html", ""), ("a.md", ""), ("a.csv", "text,b\na,")):
        wide = write(tmp_path / name, begin + "\U0001f600" * 300)
        assert "takes more than 1,000 bytes" in refused(wide)
        assert read(write(tmp_path / name, begin + "x" * 300))


def test_an_address_of_many_links_is_not_repeated() -> None:
    page = markdown._render(f"[a]: http://b.c/{'d' * 1_000}\n\n" + "[a] ![a] " * 50)
    assert len(page) < 2_000
    assert markdown.read_markdown("[a]: http://b.c\n\n[a] ![e][a]").text == "a e"


def test_what_is_kept_of_a_file_fits_in_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = tuple[Any, ...](("i", "image", f"{at}.png") for at in range(500))
    write_zip(tmp_path / "a.docx", {
        "_rels/.rels": relations(("a", "officeDocument", "d.xml")),
        "d.xml": word("<w:p><w:r><w:t>Text</w:t></w:r></w:p>"),
        "_rels/d.xml.rels": relations(*many),
    })  # fmt: skip
    assert [each.text for each in read(tmp_path)] == ["Text"]
    monkeypatch.setattr(archive, "HELD", 100_000)
    assert "a.docx (has more parts than 100,000 bytes of memory hold" in refused(tmp_path)
    write_word(tmp_path / "a.docx", [b"<a b='", *[b"word " * 9_000] * 10])
    monkeypatch.setattr(archive, "LONGEST", 100_000)
    assert "has a tag of more than 100,000 bytes" in refused(tmp_path)
