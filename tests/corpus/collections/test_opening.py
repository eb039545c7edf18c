import gzip
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.corpus.sources.reading import CATS, read, refused, write

from ranklet.corpus.collections import opening
from ranklet.corpus.sources import arrow, arrow_parts, json_files, tables
from ranklet.runtime.ground.extras import install

TABLE = "id,title,text\n1,Cats,They sleep.\n"


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst", "CSV.GZ"])
def test_files_may_be_compressed(ending: str, tmp_path: Path) -> None:
    content = gzip.compress(TABLE.encode()) if ending == "CSV.GZ" else TABLE
    assert read(write(tmp_path / f"a.{ending}", content)) == [CATS]


@pytest.mark.parametrize("ending", ["gz", "zst"])
@pytest.mark.parametrize("kept", [3, -3])
def test_damaged_compressed_data_are_named(ending: str, kept: int, tmp_path: Path) -> None:
    path = write(tmp_path / f"a.jsonl.{ending}", '{"text": "one"}\n' * 1000)
    path.write_bytes(path.read_bytes()[:kept])
    assert "has damaged or truncated compressed data" in refused(path)
    path.write_bytes(b"this is plain text\n")
    assert "has damaged or truncated compressed data" in refused(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04 a sheet", "name it .docx, .pptx, .xlsx or .epub"),
        (b"PAR1 a file", "pass --format parquet"),
        (TABLE.encode("utf-16"), "byte order mark of utf-16; pass --encoding utf-16"),
        (TABLE.encode("utf-32"), "pass --encoding utf-32"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "txt"])
def test_a_file_that_is_no_text_says_what_it_is(
    content: bytes, message: str, ending: str, tmp_path: Path
) -> None:
    assert message in refused(write(tmp_path / f"a.{ending}", content))


def test_other_encodings_are_read(tmp_path: Path) -> None:
    for encoding in ("utf-16", "utf-16-le", "cp1252", "shift-jis"):
        assert read(write(tmp_path / "a.csv", TABLE, encoding), encoding=encoding) == [CATS]


@pytest.mark.parametrize(
    ("written", "given"),
    [
        ("utf-8", "U8"), ("utf-8", "cp1252"), ("utf-16-le", "utf-16-le"), ("utf-16-be", "UTF_16BE"),
        ("utf-32-be", "utf-32-be"),
    ],
)  # fmt: skip
def test_a_byte_order_mark_is_no_part_of_the_text(written: str, given: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"\ufeff{TABLE}", written)
    assert read(path, encoding=given) == [CATS]


def test_a_byte_order_mark_of_another_encoding_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", TABLE, "utf-16")
    assert "pass --encoding utf-16" in refused(path, encoding="cp1252")


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.csv.zst", TABLE)
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    assert f"run: {install('zst')}" in refused(path)


def test_a_file_that_vanishes_is_reported(tmp_path: Path) -> None:
    from ranklet.corpus.sources.source import Source

    path = write(tmp_path / "a.csv", TABLE)
    source = Source(path)
    path.unlink()
    with pytest.raises(Exception, match=r"a\.csv cannot be read \(No such file"):
        list(source.documents())


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.jsonl", '{"text": "a b c"}\n"' + "x" * 100, "a.jsonl:2"),
        ("a.csv", "id,text\n1," + "x" * 100, "a.csv:2"),
        ("a.tsv", "id\ttext\n1\t" + "x" * 100, "a.tsv:2"),
        ("a.jsonl.gz", "x" * 100, "a.jsonl.gz:1"),
        ("a.csv.zst", "x" * 100, "a.csv.zst:1"),
        ("a.json", '[1,\n"' + "x" * 100 + '"]', "a.json:2"),
        ("a.json", '{"a": "' + "x" * 1000 + '"}', "a.json"),
        ("a.txt", "x" * 100, "a.txt"), ("a.md", "x" * 100, "a.md"),
        ("a.html.gz", "x" * 100, "a.html.gz"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("csv_limit")
def test_what_is_too_long_for_a_document_is_refused_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str, place: str
) -> None:
    for module in (opening, tables, json_files):
        monkeypatch.setattr(module, "LONGEST", 50)
    monkeypatch.setattr(json_files, "_PIECE", 10)
    assert re.search(
        rf"{tmp_path / place}\D.*more than 50 characters", refused(write(tmp_path / name, content))
    )


def test_a_parquet_cell_that_is_too_long_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow, "LONGEST", 1000)
    monkeypatch.setattr(arrow_parts, "PART", 100)
    table = pa.table({"text": ["one two three", "x" * 2000, "four"]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert "a.parquet, row 2 (it has more than 1,000 bytes)" in refused(tmp_path / "a.parquet")
    assert [each.text for each in read(tmp_path / "a.parquet", skip_bad=True)] == [
        "one two three",
        "four",
    ]
