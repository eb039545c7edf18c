import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.corpus.sources.reading import CATS, DOGS, read, refused, write

from ranklet.corpus.collections.opening import Position
from ranklet.corpus.sources import arrow
from ranklet.corpus.sources.cells import Record
from ranklet.runtime.ground.extras import install

ROWS = [dict(zip(("id", "title", "text"), each[:3], strict=True)) for each in (CATS, DOGS)]


def save_dataset(folder: Path, *files: list[dict[str, Any]]) -> Path:
    """Write what `Dataset.save_to_disk` writes: files of Arrow streams and state.json."""
    folder.mkdir(parents=True)
    names = [f"data-{number:05}-of-{len(files):05}.arrow" for number in range(len(files))]
    for name, rows in zip(names, files, strict=True):
        table = pa.Table.from_pylist(rows)
        with (
            pa.OSFile(str(folder / name), "wb") as file,
            pa.ipc.new_stream(file, table.schema) as s,
        ):
            s.write_table(table)
    state = {"_data_files": [{"filename": name} for name in names], "_split": "train"}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")
    return folder


def test_parquet_files_are_read(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "a.parquet", row_group_size=1)
    assert read(tmp_path / "a.parquet") == [CATS, DOGS]


def test_a_folder_of_shards_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    for number, row in enumerate(ROWS):
        pq.write_table(pa.Table.from_pylist([row]), tmp_path / f"train-{number}.parquet")
    assert read(tmp_path) == [CATS, DOGS]


def test_columns_of_other_types_are_read(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": pa.array([1.0, 2.0, None]),
            "title": pa.array([None, "Dogs", "x"]),
            "text": pa.array([b"Caf\xc3\xa9", b"\xe9", b"three"]),
            "vector": [[0.5], [0.5], [0.5]],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    message = refused(tmp_path / "a.parquet")
    assert "a.parquet, row 2 (text: byte 0xe9 at its beginning)" in message
    assert "a.parquet, row 3 (id is None)" in message
    (document,) = read(tmp_path / "a.parquet", skip_bad=True)
    assert (document.id, document.text) == ("1", "Café")


def test_a_string_that_is_no_utf_8_is_reported(tmp_path: Path) -> None:
    texts = pa.array([b"caf\xe9", b"good"]).cast(pa.string(), safe=False)
    pq.write_table(pa.table({"id": ["a", "b"], "text": texts}), tmp_path / "a.parquet")
    assert "a.parquet, row 1 (text: byte 0xe9 after 'caf')" in refused(tmp_path / "a.parquet")
    assert [each.id for each in read(tmp_path / "a.parquet", skip_bad=True)] == ["b"]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.table([pa.array(["a b"]), pa.array(["c d"])], names=["text", "text"])
    pq.write_table(table, tmp_path / "a.parquet")
    assert "a.parquet has two columns 'text'" in refused(tmp_path / "a.parquet")


def test_types_are_kept_although_texts_are_read_as_dictionaries(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "one two", "tags": ["x", None], "map": {"k": "v"}, "raw": b"\xff"}]
    views = pa.array(["a view"], pa.string_view())
    table = pa.Table.from_pylist(rows).append_column("view", views)
    pq.write_table(table, tmp_path / "a.parquet")
    (record,) = arrow.read_parquet(tmp_path / "a.parquet", Position(0))
    assert record == Record(f"{tmp_path}/a.parquet, row 1", {**rows[0], "view": "a view"})


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["x " * (1 << 24)]),
        pa.ListArray.from_arrays(pa.array([0, 1 << 25], pa.int32()), pa.array([True] * (1 << 25))),
    ],
    ids=["text", "list"],
)
@pytest.mark.slow
def test_a_file_that_stands_for_far_more_than_it_has_is_refused(
    column: Any, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"text": column}), tmp_path / "a.parquet", compression="zstd")
    assert "its column text" in refused(tmp_path / "a.parquet")
    assert "more than 1,000 times as many" in refused(tmp_path / "a.parquet")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"id,text\n1,a\n"])
def test_a_file_that_is_no_parquet_is_refused(content: bytes, tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", content)
    assert f"{path} cannot be read as Parquet" in refused(path)


def test_a_saved_dataset_is_read_without_its_cached_results(tmp_path: Path) -> None:
    folder = save_dataset(tmp_path / "saved", ROWS[:1], ROWS[1:])
    (folder / "cache-0123.arrow").write_bytes(b"a result of map")
    assert read(folder) == [CATS, DOGS]


def test_a_dataset_with_one_split_is_read_and_several_are_listed(tmp_path: Path) -> None:
    save_dataset(tmp_path / "saved" / "train", ROWS)
    write(tmp_path / "saved" / "dataset_dict.json", '{"splits": ["train"]}')
    assert read(tmp_path / "saved") == [CATS, DOGS]
    save_dataset(tmp_path / "saved" / "test", ROWS)
    assert (
        f"has the splits test, train; give the folder of one, such as {tmp_path}/saved/test"
        in refused(tmp_path / "saved")
    )
    assert read(tmp_path / "saved" / "train") == [CATS, DOGS]


@pytest.mark.parametrize(
    "state", ["", "[]", "{}", '{"_data_files": [{"filename": "../a.arrow"}]}', '{"_data_files": 3}']
)
def test_a_dataset_that_does_not_list_its_files_is_refused(state: str, tmp_path: Path) -> None:
    folder = save_dataset(tmp_path / "saved", ROWS)
    (folder / "state.json").write_text(state)
    assert "does not list the files of a dataset" in refused(folder)


def test_a_damaged_dataset_is_refused(tmp_path: Path) -> None:
    folder = save_dataset(tmp_path / "saved", ROWS)
    (path,) = folder.glob("*.arrow")
    path.write_bytes(path.read_bytes()[:20])
    assert f"{path} cannot be read as Arrow" in refused(folder)
    path.unlink()
    assert f"{path} cannot be read as Arrow" in refused(folder)


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.parquet", b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert f"run: {install('parquet')}" in refused(path)
