"""Read JSON Lines and JSON files."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ranklet.runtime.errors import CollectionError
from ranklet.training.data.sources.opening import open_text
from ranklet.training.data.sources.records import Bad, Record, Records, is_decoded, not_decoded


def read_json_lines(path: Path, encoding: str) -> Records:
    """Yield one record per line, which is an object, or a string that is its text.

    Raises:
        CollectionError: the first line that is not empty is no JSON.
    """
    with open_text(path, encoding) as file:
        read = False
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            place = f"{path}:{number}"
            if not is_decoded(line):
                yield not_decoded(place, line)
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                if not read:
                    raise _no_json(path, line, number, error) from None
                yield Bad(place, "broken", f"not JSON: {error}")
                continue
            if not read and isinstance(value, list):
                raise CollectionError(
                    f"{place} is a list, but each line of a JSON Lines file is one document; pass "
                    "--format json"
                )
            read = True
            yield as_record(place, value)


def read_json(path: Path, encoding: str) -> Records:
    """Yield the records of a JSON file.

    It is a list of objects or texts, an object whose values are the documents by their ids, or an
    object one of whose values is such a list.

    Raises:
        CollectionError: the file has another content.
    """
    with open_text(path, encoding) as file:
        content = file.read()
    if not is_decoded(content):
        bad = not_decoded(str(path), content)
        raise CollectionError(
            f"{path} is not {encoding} ({bad.found}); pass --encoding with the right name"
        )
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CollectionError(
            f"{path} is not JSON ({error}); if each line is one document, pass --format jsonl"
        ) from None
    if isinstance(value, Mapping):
        lists = [inner for inner in value.values() if isinstance(inner, list)]
        if len(lists) == 1:
            value = lists[0]
    if isinstance(value, Mapping):
        yield from _by_id(path, value)
    elif isinstance(value, list):
        yield from _listed(path, value)
    else:
        raise CollectionError(
            f"{path} is a JSON {type(value).__name__}; it must be a list of documents, or an "
            "object of documents by id"
        )


def as_record(place: str, value: object) -> Record | Bad:
    """Return an object as a record, and a string as a record that is only a text."""
    if isinstance(value, str):
        return Record(place, {"text": value})
    if isinstance(value, Mapping):
        return Record(place, value)
    return Bad(place, "broken", f"a JSON {type(value).__name__} and not an object")


def _listed(path: Path, values: Iterable[Any]) -> Records:
    for number, value in enumerate(values, start=1):
        yield as_record(f"{path}, item {number}", value)


def _by_id(path: Path, values: Mapping[str, Any]) -> Records:
    for name, value in values.items():
        record = as_record(f"{path}, item {name!r}", value)
        if isinstance(record, Record):
            record = Record(record.place, {"_id": name, **record.fields})
        yield record


def _no_json(path: Path, line: str, number: int, error: Exception) -> CollectionError:
    if line.lstrip().startswith(("{", "[")):
        hint = "if the file is one JSON document, pass --format json"
    else:
        hint = "if it is a table, pass --format csv"
    return CollectionError(f"{path}:{number} is not JSON ({error}); {hint}")
