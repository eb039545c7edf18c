import os
from pathlib import Path

import pytest
from tests.corpus.sources.reading import read, refused, write

from ranklet.corpus.collections.collection import Document


def test_each_file_is_a_document_with_its_path_as_its_id(tmp_path: Path) -> None:
    write(tmp_path / "b.txt", "Plain.\r\nText.")
    write(tmp_path / "a" / "c.md", "Intro.\n\n## Cats ##\nThey sleep.")
    write(tmp_path / "a" / "d.html.gz", "<title>Dogs &amp;\nmore</title><p>They<br>bark.")
    write(tmp_path / "e.markdown", "No heading.")
    assert read(tmp_path) == [
        Document("a/c.md", "Cats", "Intro.\n\nThey sleep."),
        Document("a/d.html.gz", "Dogs & more", "They\nbark."),
        Document("b.txt", "b", "Plain.\nText."),
        Document("e.markdown", "e", "No heading."),
    ]
    assert read(tmp_path / "b.txt") == [Document("b.txt", "b", "Plain.\nText.")]


def test_every_file_that_cannot_be_read_is_counted(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "fine")
    write(tmp_path / "b.txt", "Caf\u00e9", "latin-1")
    write(tmp_path / "c.txt", "sixteen", "utf-16")
    write(tmp_path / "d.txt", " \n")
    (tmp_path / "e.txt.gz").write_bytes(b"plain")
    lines = refused(tmp_path).splitlines()
    assert lines[0] == f"4 of 5 documents of {tmp_path.name} cannot be used:"
    assert f"{tmp_path / 'b.txt'} (byte 0xe9 after 'Caf')" in lines[1]
    assert "c.txt (begins with the byte order mark of utf-16; pass --encoding utf-16)" in lines[2]
    assert "e.txt.gz (has damaged or truncated compressed data" in lines[2]
    assert "d.txt (text is ' \\n')" in lines[3]
    assert [each.text for each in read(tmp_path, skip_bad=True)] == ["fine"]


def test_a_name_that_is_not_utf_8_is_reported(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    try:
        write(tmp_path / name, "text")
    except OSError:
        pytest.skip("the file system allows only UTF-8")
    assert "id: byte 0xe9 after 'caf'" in refused(tmp_path)
