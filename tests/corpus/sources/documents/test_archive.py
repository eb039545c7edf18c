"""Hostile and broken archives end in one line."""

import struct
from pathlib import Path

import pytest
from tests.corpus.sources.documents.writing import word, write_word, write_zip
from tests.corpus.sources.reading import read, refused

from ranklet.corpus.collections import bounds

ENTITIES = '<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><a>&d;</a>'
OUTSIDE = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]><a>&b;</a>'


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (ENTITIES, "its word/document.xml declares entities, which no such file needs"),
        (OUTSIDE, "its word/document.xml declares entities, which no such file needs"),
        ("<a>" * 2_000, "its word/document.xml nests more than 1,000 elements"),
        ("<a></b>", "its word/document.xml is no XML (mismatched tag"),
    ],
)
def test_xml_that_no_office_writes_is_refused(tmp_path: Path, body: str, said: str) -> None:
    write_word(tmp_path / "a.docx", body)
    message = refused(tmp_path)
    assert f"a.docx (cannot be read, because {said}" in message
    assert len(message.splitlines()) == 3


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "ALLOWED", 1 << 16)
    begin, end = word("<w:p><w:r><w:t>|</w:t></w:r></w:p>").split("|")
    write_word(tmp_path / "a.docx", [begin.encode(), *[b"word " * 9_000] * 30, end.encode()])
    assert "a.docx (stands for more than " in refused(tmp_path)
    monkeypatch.setattr(bounds, "ALLOWED", 1 << 21)
    assert len(read(tmp_path, passage_words=0, overlap_words=0)[0].text.split()) == 270_000


def test_what_is_no_archive_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(b"\xd0\xcf\x11\xe0" + bytes(100))
    assert "a.docx (is encrypted, or an Office file of before 2007; save it" in refused(tmp_path)
    write_zip(path, {"a.xml": "<a/>"})
    assert "a.docx (is no Office file, although its name says so)" in refused(tmp_path)
    write_word(path, word(""))
    data = bytearray(path.read_bytes())
    path.write_bytes(data[:-40])
    assert "a.docx (is damaged (File is not a zip file); fetch the file again)" in refused(tmp_path)
    at = data.rindex(b"PK\x01\x02") + 10
    data[at : at + 2] = struct.pack("<H", 12)  # bzip2
    path.write_bytes(data)
    assert "a.docx (is encrypted, or packed in an unusual way)" in refused(tmp_path)
