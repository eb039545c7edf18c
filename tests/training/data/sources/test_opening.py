import gzip
from pathlib import Path

import pytest
import zstandard
from tests.training.data.sources.reading import CATS, read, refused, write

TABLE = "id,title,text\n1,Cats,They sleep.\n"


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst", "CSV.GZ"])
def test_files_may_be_compressed(ending: str, tmp_path: Path) -> None:
    content = gzip.compress(TABLE.encode()) if ending == "CSV.GZ" else TABLE
    assert read(write(tmp_path / f"a.{ending}", content)) == [CATS]


def test_a_zst_file_may_have_several_frames(tmp_path: Path) -> None:
    compress = zstandard.ZstdCompressor().compress
    path = tmp_path / "a.txt.zst"
    path.write_bytes(compress(b"one " * 100_000) + compress(b"") + compress(b"two"))
    (document,) = read(path, passage_words=0)
    assert document.text == "one " * 100_000 + "two"


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
        (gzip.compress(b"a", mtime=0), "is compressed by gzip; add .gz to its name"),
        (zstandard.ZstdCompressor().compress(b"a"), "add .zst to its name"),
        (b"PK\x03\x04 a sheet", "save the sheet as CSV UTF-8"),
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


def test_half_of_a_character_in_utf_16_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", TABLE.encode("utf-16") + b"x")
    assert "is not utf-16 (" in refused(path, encoding="utf-16")


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.csv.zst", TABLE)
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    assert "run: pip install 'ranklet[zst]'" in refused(path)


def test_a_file_that_vanishes_is_reported(tmp_path: Path) -> None:
    from ranklet.training.data.sources.source import Source

    path = write(tmp_path / "a.csv", TABLE)
    source = Source(path)
    path.unlink()
    with pytest.raises(Exception, match=r"a\.csv cannot be read \(No such file"):
        list(source.documents())
