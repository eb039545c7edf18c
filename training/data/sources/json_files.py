"""Read JSON Lines and JSON files."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ranklet.runtime.errors import CollectionError
from ranklet.training.data.sources.columns import TEXTS
from ranklet.training.data.sources.opening import open_text
from ranklet.training.data.sources.records import Bad, Record, Records, is_decoded, not_decoded

EARLY = 20  # lines of which one must be a document


def read_json_lines(path: Path, encoding: str) -> Records:
    """Yield one record per line, which is an object, or a string that is its text.

    Raises:
        CollectionError: none of the first lines is a document.
    """
    early: list[tuple[Bad, str]] = []  # broken lines before the first record, and their content
    read = False
    with open_text(path, encoding) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            record = _of_line(f"{path}:{number}", line)
            if read or isinstance(record, Record):
                yield from (bad for bad, _ in early)
                early, read = [], True
                yield record
            elif len(early) < EARLY:
                early.append((record, line))
            else:
                break
    if early:
        raise _no_json_lines(*early[0])


def _of_line(place: str, line: str) -> Record | Bad:
    if not is_decoded(line):
        return not_decoded(place, line)
    try:
        return as_record(place, json.loads(line))
    except (ValueError, RecursionError) as error:
        return Bad(place, "broken", f"not JSON: {error}")


def read_json(path: Path, encoding: str) -> Records:
    """Yield the records of a JSON file.

    It is a list of objects or texts, an object whose values are the documents by their ids, an
    object one of whose values is such a list, or one document.

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
    if not content.strip():
        raise CollectionError(f"{path} is empty; it must be a list of documents in JSON")
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CollectionError(
            f"{path} is not JSON ({error}); if each line is one document, pass --format jsonl"
        ) from None
    if isinstance(value, Mapping):
        lists = [inner for inner in value.values() if isinstance(inner, list)]
        if is_document(value):
            value = [value]
        elif len(lists) == 1:
            value = lists[0]
    if isinstance(value, Mapping):
        yield from _by_id(path, value)
    elif isinstance(value, list):
        yield from _listed(path, value)
    else:
        raise CollectionError(
            f"{path} is {kind_of(value)}; it must be a list of documents, or an object with "
            "documents by id"
        )


def as_record(place: str, value: object) -> Record | Bad:
    """Return an object as a record, and a string as a record that is only a text."""
    if isinstance(value, str):
        return Record(place, {"text": value})
    if isinstance(value, Mapping):
        return Record(place, {str(name): each for name, each in value.items()})
    return Bad(place, "broken", f"{kind_of(value)} and not an object or a text")


def kind_of(value: object) -> str:
    """Return what a value is, in words.

    >>> kind_of([1]), kind_of(None), kind_of(1.5)
    ('a list', 'null', 'a number')
    """
    if value is None:
        return "null"
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "a text"}
    kinds |= {list: "a list", tuple: "a list", dict: "an object"}
    return kinds.get(type(value), f"of type {type(value).__name__}")


def is_document(value: Mapping[str, Any]) -> bool:
    """Return whether an object is one document, which has a string in a field of a known name."""
    return any(name.lower() in TEXTS and isinstance(each, str) for name, each in value.items())


def _listed(path: Path, values: Iterable[Any]) -> Records:
    for number, value in enumerate(values, start=1):
        yield as_record(f"{path}, item {number}", value)


def _by_id(path: Path, values: Mapping[str, Any]) -> Records:
    for name, value in values.items():
        record = as_record(f"{path}, item {name!r}", value)
        if isinstance(record, Record):
            record = Record(record.place, {"_id": name, **record.fields})
        yield record


def _no_json_lines(bad: Bad, line: str) -> CollectionError:
    if bad.fault == "encoding":
        hint = "pass --encoding with the right name, for example --encoding cp1252"
    elif line.lstrip().startswith(("{", "[")):
        hint = "if the file is one JSON document, pass --format json"
    else:
        hint = "if it is a table, pass --format csv"
    return CollectionError(
        f"{bad.place} is no document of a JSON Lines file ({bad.found}), nor is a line after it; "
        f"{hint}"
    )
