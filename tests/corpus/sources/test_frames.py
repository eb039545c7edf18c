"""Tables in memory are read row by row, whatever library they are of."""

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ranklet.corpus.indexing.metadata import MetadataCollector
from ranklet.corpus.sources.source import Source
from ranklet.runtime import load
from ranklet.runtime.ground.errors import InputError
from ranklet.workflows.build import build

ROWS = [{"id": f"d{at}", "text": f"note {at}", "year": at} for at in range(2500)]
TABLES: dict[str, Any] = {
    "pandas": lambda: pd.DataFrame(ROWS),
    "pandas, another index": lambda: pd.DataFrame(ROWS, index=[0] * len(ROWS)),
    "polars": lambda: pl.DataFrame(ROWS),
    "arrow": lambda: pa.Table.from_pylist(ROWS),
}


@pytest.mark.parametrize("name", TABLES)
def test_every_row_is_a_document(name: str) -> None:
    table = TABLES[name]()
    documents = list(Source(table).documents())
    assert [(each.id, each.text) for each in documents] == [(r["id"], r["text"]) for r in ROWS]
    assert [each.metadata["year"] for each in documents] == list(range(2500))


def test_a_named_index_of_pandas_is_a_column() -> None:
    frame = pd.DataFrame({"id": ["b7", "b12"], "year": [1, 2], "text": ["a red bike", "a bike"]})
    for names in ("id", ["id", "year"]):
        indexed = frame.set_index(names)
        found = [(each.id, each.metadata["year"]) for each in Source(indexed).documents()]
        assert found == [("b7", 1), ("b12", 2)]
        assert "id" not in indexed.columns  # the caller's table is as it was
    twice = frame.set_index(pd.Index([1, 2], name="text"))
    with pytest.raises(InputError, match="two columns 'text'"):
        list(Source(twice).documents())


def test_series_are_texts() -> None:
    for series in (pd.Series(["a b", "c d"]), pl.Series(["a b", "c d"]), pa.array(["a b", "c d"])):
        assert [each.text for each in Source(series).documents()] == ["a b", "c d"]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.Table.from_pylist])
def test_a_table_becomes_a_bundle_and_hits_become_tables(library: Any, tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": "bread dough", "year": 1.5, "day": date(2024, 5, 31)},
        {"id": "b", "text": "bread rises", "year": None, "day": None},
    ]
    ranking = load(build(library(rows), tmp_path / "b.ranklet", language="en")).rank("bread dough")
    assert [dict(hit.metadata) for hit in ranking] == [{"year": 1.5, "day": date(2024, 5, 31)}, {}]
    assert ranking.to_pandas()["day"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame([["a", "b c"]], columns=["1", "1"]),
        pd.DataFrame([["a", "b c"]], columns=[1, "1"]),
        pa.table([pa.array(["a"]), pa.array(["b c"])], names=["1", "1"]),
    ],
)
def test_two_columns_of_one_name_are_refused(table: Any) -> None:
    with pytest.raises(InputError, match="two columns '1'; rename one"):
        list(Source(table).documents())


def test_a_value_that_python_lacks_is_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """Python's years end at 9999."""
    late = pa.array([5_000_000], pa.int32()).cast(pa.date32())
    table = pa.table({"text": ["a b c"], "day": late})
    (document,) = Source(table).documents()
    metadata = MetadataCollector()
    metadata.add(document.metadata)
    metadata.fields(np.arange(1))
    assert "values of 'day' are not kept" in caplog.text
    for frame in (pl.from_arrow(table), table.to_pandas(types_mapper=pd.ArrowDtype)):
        with pytest.raises(InputError, match="a value that cannot be read"):
            list(Source(frame).documents())


def test_rows_that_are_computed_later_are_refused() -> None:
    lazy: Any = pl.DataFrame(ROWS).lazy()
    with pytest.raises(InputError, match="LazyFrame, whose rows are computed later"):
        list(Source(lazy).documents())


def test_a_table_without_rows_that_can_be_read_is_refused() -> None:
    class Frame:
        columns = ("id", "text")

    frame: Any = Frame()
    with pytest.raises(InputError, match="a Frame, whose rows cannot be read"):
        list(Source(frame).documents())
