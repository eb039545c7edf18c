"""Read Parquet files and datasets that the package datasets has saved."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ranklet.runtime.errors import CollectionError, InputError
from ranklet.runtime.extras import install
from ranklet.training.data.sources.records import Record, Records

STATE, SPLITS = "state.json", "dataset_dict.json"
BATCH = 1024  # rows that are read at once


def read_parquet(path: Path) -> Records:
    """Yield the rows of a Parquet file.

    Raises:
        CollectionError: the file is damaged or no Parquet.
        InputError: pyarrow is not installed.
    """
    pyarrow = _pyarrow(path)
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            yield from _rows(path, file.iter_batches(BATCH))
    except (OSError, pyarrow.ArrowException) as error:
        raise CollectionError(f"{path} cannot be read as Parquet: {_first(error)}") from None


def read_dataset(folder: Path) -> Records:
    """Yield the rows of a folder that ``Dataset.save_to_disk`` has written.

    Raises:
        CollectionError: the folder has several splits, no data, or is damaged.
        InputError: pyarrow is not installed.
    """
    if (folder / SPLITS).is_file():
        splits = sorted(path.parent.name for path in folder.glob(f"*/{STATE}"))
        if len(splits) != 1:
            raise CollectionError(
                f"{folder} has the splits {', '.join(splits) or 'none'}; give the folder of one, "
                f"such as {folder / (splits[0] if splits else 'train')}"
            )
        folder = folder / splits[0]
    pyarrow = _pyarrow(folder)
    paths = _data_files(folder)
    for path in paths:
        try:
            with pyarrow.memory_map(str(path)) as file, pyarrow.ipc.open_stream(file) as stream:
                yield from _rows(path, stream)
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


def _rows(path: Path, batches: Iterator[Any]) -> Records:
    number = 0
    for batch in batches:
        for row in batch.to_pylist():
            number += 1
            yield Record(f"{path}, row {number}", row)


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
