"""Read Parquet files and datasets that the package datasets has saved."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ranklet.corpus.collections.bounds import LONGEST
from ranklet.corpus.collections.opening import Position
from ranklet.corpus.sources.arrow_parts import PART, in_parts, python_bytes
from ranklet.corpus.sources.cells import Bad, Records
from ranklet.corpus.sources.json_files import as_record
from ranklet.runtime.ground.errors import CollectionError, InputError
from ranklet.runtime.ground.extras import install

STATE, SPLITS = "state.json", "dataset_dict.json"
BATCH = 1024  # rows that are read at once
_TEXT = "BYTE_ARRAY"  # the type of Parquet that texts have
_DENSEST = 1000  # bytes or items of lists per byte of a file, which no texts reach


def read_parquet(path: Path, position: Position) -> Records:
    """Yield the rows of a Parquet file, and count the bytes that they stand for.

    Raises:
        CollectionError: the file is damaged or no Parquet, or stands for far more than it has.
        InputError: pyarrow is not installed.
    """
    pyarrow = _pyarrow(path)
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            check_names(file.schema_arrow.names, path)
            size, rows = path.stat().st_size, max(1, file.metadata.num_rows)
            batch = _batch_rows(path, file.metadata, size)
            shared = [column.path for column in file.schema if column.physical_type == _TEXT]
            types = file.schema_arrow.types
        before, done = position.done, 0
        with ParquetFile(path, read_dictionary=shared) as file:
            for part in in_parts(file.iter_batches(batch)):
                yield from _rows(path, part, done, types)
                done += part.num_rows
                position.done = before + size * done // rows
    except (OSError, pyarrow.ArrowException) as error:
        raise CollectionError(f"{path} cannot be read as Parquet: {_first(error)}") from None


def dataset_files(folder: Path) -> list[Path]:
    """Return the files of a folder that ``Dataset.save_to_disk`` has written.

    Raises:
        CollectionError: the folder has several splits, no data, or is damaged.
    """
    if (folder / SPLITS).is_file():
        splits = sorted(path.parent.name for path in folder.glob(f"*/{STATE}"))
        if len(splits) != 1:
            raise CollectionError(
                f"{folder} has the splits {', '.join(splits) or 'none'}; give the folder of one, "
                f"such as {folder / (splits[0] if splits else 'train')}"
            )
        folder = folder / splits[0]
    return _data_files(folder)


def read_dataset(files: Sequence[Path], position: Position) -> Records:
    """Yield the rows of the files of a dataset; see `dataset_files`.

    Raises:
        CollectionError: a file is damaged.
        InputError: pyarrow is not installed.
    """
    for path in files:
        pyarrow = _pyarrow(path)
        before, number = position.done, 0
        try:
            with pyarrow.memory_map(str(path)) as file, pyarrow.ipc.open_stream(file) as stream:
                for part in in_parts(stream):
                    yield from _rows(path, part, number)
                    number += part.num_rows
                    position.done = before + file.tell()
        except (OSError, pyarrow.ArrowException) as error:
            raise CollectionError(f"{path} cannot be read as Arrow: {_first(error)}") from None


def _data_files(folder: Path) -> list[Path]:
    """Return the files that state.json lists, because a folder may also have cached results."""
    try:
        state = json.loads((folder / STATE).read_text("utf-8"))
        names = [each["filename"] for each in state["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError):
        names = []
    if not names or not all(isinstance(name, str) and Path(name).name == name for name in names):
        raise CollectionError(
            f"{folder / STATE} does not list the files of a dataset; write the dataset again with "
            "save_to_disk"
        )
    return [folder / name for name in names]


def is_dataset(folder: Path) -> bool:
    """Return whether ``save_to_disk`` of the package datasets has written a folder."""
    return any((folder / name).is_file() for name in (STATE, SPLITS))


def _batch_rows(path: Path, footer: Any, size: int) -> int:
    """Return how many rows of a Parquet file are read at once.

    Raises:
        CollectionError: a part of the file stands for far more than the file has.
    """
    most, longest = max(_DENSEST * size, PART // 2), 8  # bytes of a row
    for group in map(footer.row_group, range(footer.num_row_groups)):
        for number in range(group.num_columns):
            column, width = group.column(number), max(8, footer.schema.column(number).length)
            items = column.num_values - group.num_rows  # of lists
            if max(items, column.total_uncompressed_size) > most:
                raise CollectionError(
                    f"{path} has {size:,} bytes, and its column {column.path_in_schema} more than "
                    f"{_DENSEST:,} times as many; write it with shorter lists and texts"
                )
            longest = max(longest, width * column.num_values // max(1, group.num_rows))
    return min(BATCH, max(1, PART // longest))


def _rows(path: Path, part: Any, before: int, types: Iterable[Any] = ()) -> Records:
    """Yield the rows of a part, whose columns get other types if they can have them."""
    if part.num_rows == 1 and python_bytes(part) > LONGEST:
        yield Bad(f"{path}, row {before + 1}", "broken", f"it has more than {LONGEST:,} bytes")
        return
    if types:  # objects of Python are made faster of texts than of dictionaries
        pairs = zip(part.columns, types, strict=True)
        columns = [
            each.cast(kind) if hasattr(each, "indices") and "view" not in str(kind) else each
            for each, kind in pairs
        ]
        part = type(part).from_arrays(columns, part.schema.names)
    for number, row in enumerate(rows_in(part), start=before + 1):
        yield as_record(f"{path}, row {number}", row)


def rows_in(batch: Any) -> list[dict[str, Any]]:
    """Return the rows of a batch as objects.

    Where Python lacks a value, such as a year after 9999, or a string is no UTF-8, the fields are
    scalars of Arrow; see `plain`.
    """
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
    except (ValueError, OverflowError):
        names = batch.schema.names
        return [dict(zip(names, row, strict=True)) for row in zip(*batch.columns, strict=True)]
    return rows


def check_names(names: Iterable[object], where: object) -> None:
    """Raise InputError if two columns have one name, because a row would lose one of them."""
    twice = [name for name, count in Counter(map(str, names)).items() if count > 1]
    if twice:
        raise InputError(
            f"{where} has two columns {twice[0]!r}; rename one, because each name is a field"
        )


def _pyarrow(path: Path) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.ipc
    except ImportError:
        raise InputError(
            f"{path} needs a package that is not installed; run: {install('parquet')}"
        ) from None
    return pa


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
