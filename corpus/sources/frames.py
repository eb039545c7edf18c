"""Rows of tables in memory: of pandas, polars, pyarrow, and of all that give a stream of Arrow."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from ranklet.corpus.sources.arrow import check_names, rows_in
from ranklet.corpus.sources.arrow_parts import in_parts
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.extras import install

ROWS = 1024  # that become objects of Python at once
_STREAM = "__arrow_c_stream__"


class Table(Protocol):
    """A table of pandas, polars, pyarrow, or of another library that gives a stream of Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None, /) -> object:
        """Return the stream in a capsule of the Arrow PyCapsule Interface."""


def is_table(value: object) -> bool:
    """Return whether a value is a table, whose own iterator may yield columns.

    A column is none, and neither is a dataset of Hugging Face, because their iterators yield rows.
    """
    kind = type(value)
    later = hasattr(kind, "collect")  # polars then warns of `columns`
    streams = hasattr(kind, _STREAM) and (hasattr(kind, "schema") or not hasattr(kind, "__iter__"))
    return later or streams or hasattr(value, "columns")


def make_rows(table: Any) -> Iterator[Mapping[Any, Any]]:
    """Yield the rows of a table as objects; an index of pandas is a column if it has a name.

    Raises:
        InputError: two columns have one name, the rows are computed later, Python has no such
            value, as with a year after 9999, or pyarrow, which an unknown table needs, is not
            installed.
    """
    if hasattr(type(table), "collect"):
        raise InputError(
            f"documents are a {type(table).__name__}, whose rows are computed later; pass what its "
            "collect() or toPandas() returns"
        )
    if hasattr(table, "iter_rows"):  # polars, whose names differ
        rows = table.iter_rows(named=True)
    elif hasattr(table, "iloc"):
        named = [name for name in table.index.names if name is not None]
        check_names([*named, *table.columns], "the table")
        parts = (table.iloc[begin : begin + ROWS] for begin in range(0, len(table), ROWS))
        rows = (row for part in parts for row in _with_index(part, named).to_dict("records"))
    else:
        yield from _arrow_rows(table)
        return
    try:
        yield from rows
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"the table has a value that cannot be read ({error}); leave its column out"
        ) from None


def _with_index(frame: Any, named: list[Any]) -> Any:
    """Return a table of pandas with its named indexes as columns, as Parquet has them."""
    return frame.reset_index(named) if named else frame


def _arrow_rows(table: Any) -> Iterator[Mapping[str, Any]]:
    if not hasattr(table, "to_batches"):
        if not hasattr(table, _STREAM):
            raise InputError(
                f"documents are a {type(table).__name__}, whose rows cannot be read; pass them as "
                "a list of objects"
            )
        try:
            import pyarrow as pa
        except ImportError:
            raise InputError(
                f"documents are a {type(table).__name__}, which pyarrow reads; run: "
                f"{install('parquet')}"
            ) from None
        table = pa.RecordBatchReader.from_stream(table)
    check_names(table.schema.names, "the table")
    for part in in_parts(table.to_batches() if hasattr(table, "to_batches") else table):
        yield from rows_in(part)
