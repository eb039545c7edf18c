"""A value that Arrow stores once counts once per row, because Python has it so."""

from typing import Any

import pyarrow as pa
import pytest

from ranklet.corpus.sources import arrow_parts
from ranklet.corpus.sources.arrow_parts import in_parts, python_bytes

ROWS, LONG = 64, "bread " * 10_000
SHARED = pa.DictionaryArray.from_arrays(pa.array([0] * ROWS, pa.int32()), pa.array([LONG]))
OFFSETS = pa.array(range(ROWS + 1), pa.int32())
COLUMNS: dict[str, Any] = {
    "texts": SHARED.cast(pa.string()),
    "a dictionary": SHARED,
    "a dictionary of lists": pa.DictionaryArray.from_arrays(SHARED.indices, pa.array([[LONG]])),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([ROWS], pa.int32()), pa.array([LONG])),
    "views": SHARED.cast(pa.string()).cast(pa.string_view()),
    "lists": pa.ListArray.from_arrays(OFFSETS, SHARED),
    "views of a list": pa.ListViewArray.from_arrays(
        pa.array([0] * ROWS, pa.int32()), pa.array([1] * ROWS, pa.int32()), pa.array([LONG])
    ),
    "lists of one length": pa.FixedSizeListArray.from_arrays(SHARED, 1),
    "objects": pa.StructArray.from_arrays([SHARED], ["x"]),
    "maps": pa.MapArray.from_arrays(OFFSETS, pa.array(["k"] * ROWS), SHARED),
    "an extension": pa.ExtensionArray.from_storage(pa.json_(), SHARED.cast(pa.string())),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_rows_of_long_texts_are_divided(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = pa.RecordBatch.from_arrays([COLUMNS[name]], ["x"])
    whole = ROWS * len(LONG)
    assert whole <= python_bytes(batch) < 1.1 * whole
    assert len(LONG) <= python_bytes(batch.slice(ROWS - 1)) < 1.1 * len(LONG)
    monkeypatch.setattr(arrow_parts, "PART", 3 * len(LONG))
    parts = list(in_parts([batch]))
    assert {part.num_rows for part in parts} == {2}
    rows = [row for part in parts for row in part.to_pylist()]
    assert rows == batch.to_pylist()


def test_items_without_bytes_are_objects_too() -> None:
    empty = pa.ListArray.from_arrays(pa.array([0, 1000], pa.int32()), pa.nulls(1000))
    assert python_bytes(pa.RecordBatch.from_arrays([empty], ["x"])) > 50_000
