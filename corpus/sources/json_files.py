"""Read JSON Lines and JSON files."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from ranklet.corpus.collections.bounds import LONGEST, PIECES, count_pieces
from ranklet.corpus.collections.opening import Position, content, lines, open_text
from ranklet.corpus.sources.cells import Bad, Record, Records, is_decoded, not_decoded, plain
from ranklet.corpus.sources.columns import TEXTS, is_known
from ranklet.runtime.ground.errors import CollectionError
from ranklet.runtime.ground.strict_json import DECODER

EARLY = 20  # lines of which one must be a document
_PIECE = 1 << 16  # characters of a list that are read at once
_SIGNS = ",[{"  # before values
_SPACES, _AFTER = re.compile(r"\s*"), frozenset(", ]\n\r\t")


def read_json_lines(path: Path, encoding: str, position: Position | None = None) -> Records:
    """Yield one record per line, which is an object, or a string that is its text.

    Raises:
        CollectionError: none of the first lines is a document.
    """
    early: list[tuple[Bad, str]] = []  # broken lines before the first record, and their content
    read = False
    with open_text(path, encoding, position) as file:
        for number, line in enumerate(lines(path, file), start=1):
            if not line.strip():
                continue
            record = _of_line(f"{path}:{number}", line)
            if read or isinstance(record, Record):
                yield from (bad for bad, _ in early)
                early, read = [], True
                yield record
            else:
                early.append((record, line))
                if len(early) > EARLY or line.strip() == "[":  # a list, whose last item is a line
                    break
    if early:
        raise _no_json_lines(*early[0])


def _of_line(place: str, line: str) -> Record | Bad:
    if not is_decoded(line):
        return not_decoded(place, line)
    try:
        count_pieces(line, _SIGNS, "the line", 2 * PIECES)
        return as_record(place, DECODER.decode(line))
    except CollectionError as error:
        return Bad(place, "broken", str(error))
    except (ValueError, RecursionError) as error:
        return Bad(place, "broken", f"not JSON: {error}")


def read_json(path: Path, encoding: str, position: Position | None = None) -> Records:
    """Yield the records of a JSON file.

    It is a list of objects or texts, an object whose values are the documents by their ids, an
    object one of whose values is such a list, or one document. A list is read in parts.

    Raises:
        CollectionError: the file has another content.
    """
    with open_text(path, encoding, position) as file:
        begin = _spaces(file)
        if begin == "[":
            yield from _listed(path, _Items(path, file, encoding))
        else:
            value = _object(path, begin + content(path, file), encoding)
            yield from _of_value(path, value)


def _spaces(file: IO[str]) -> str:
    """Return the first character that is not white space; "" at the end."""
    while (char := file.read(1)) and char.isspace():
        pass
    return char


def _object(path: Path, text: str, encoding: str) -> Any:
    if not text:
        raise CollectionError(f"{path} is empty; it must be a list of documents in JSON")
    _check_decoded(path, text, encoding)
    count_pieces(text, _SIGNS, str(path), 2 * PIECES)
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise _no_json(path, str(error)) from None


def _check_decoded(path: Path, text: str, encoding: str) -> None:
    if not is_decoded(text):
        bad = not_decoded(str(path), text)
        raise CollectionError(
            f"{path} is not {encoding} ({bad.found}); pass --encoding with the right name"
        )


def _no_json(path: Path, why: str) -> CollectionError:
    return CollectionError(
        f"{path} is not JSON ({why}); if each line is one document, pass --format jsonl"
    )


def _of_value(path: Path, value: Any) -> Records:
    if isinstance(value, Mapping):
        lists = [inner for inner in value.values() if isinstance(inner, list)]
        if is_document(value):
            value = [value]
        elif len(lists) == 1:
            value = lists[0]
        elif _has_columns(value):
            raise CollectionError(
                f"{path} has columns and not documents; write it with "
                'to_json(orient="records"), if pandas wrote it'
            )
    if isinstance(value, Mapping):
        yield from _by_id(path, value)
    elif isinstance(value, list):
        yield from _listed(path, value)
    else:
        raise CollectionError(
            f"{path} is {detect_kind(value)}; it must be a list of documents, or an object with "
            "documents by id"
        )


def _has_columns(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a table by columns or in parts, as pandas may write it."""
    if set(value) == {"columns", "index", "data"}:
        return True
    columns = [each for each in value.values() if isinstance(each, Mapping)]
    numbered = all(str(row).isdigit() for each in columns for row in each)
    sure = any("0" in each for each in columns) or any(is_known(name, TEXTS) for name in value)
    return len(columns) == len(value) > 0 and numbered and sure  # years have no such names


class _Items:
    """The items of a list, read one by one from a file that was opened behind its bracket.

    Raises:
        CollectionError: something is no JSON, or an item is too long.
    """

    def __init__(self, path: Path, file: IO[str], encoding: str) -> None:
        self._path, self._file, self._encoding = path, file, encoding
        self._text, self._at, self._lines = "", 0, 0  # read, its done part, and lines before it
        self._decode = DECODER.raw_decode

    def __iter__(self) -> Iterator[Any]:
        end = self._next()
        while end != "]":
            yield self._item()
            end = self._next()
            if end == ",":
                self._at += 1
                self._next()
            elif end != "]":
                raise self._fault("Expecting ',' delimiter")
        self._at += 1
        if self._next():
            raise self._fault("Extra data")

    def _next(self) -> str:
        """Return the next character that is not white space, and go there; "" at the end."""
        while True:
            self._at = _SPACES.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def _item(self) -> Any:
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._more():
                    raise self._fault(error.msg, error.pos) from None
            except (ValueError, RecursionError) as error:
                raise self._fault(str(error)) from None
            else:
                # A number at the end of what was read may go on, as that of 1.5 does after 1.
                if self._text[end : end + 1] in _AFTER or not self._more():
                    self._at = end
                    return value

    def _more(self) -> bool:
        """Read at least as much again as is buffered; return whether there was anything."""
        waiting = len(self._text) - self._at
        if waiting > LONGEST:
            raise CollectionError(
                f"{self._path}:{self._line(self._at)} begins an item of more than {LONGEST:,} "
                "characters; divide the file into shorter documents"
            )
        piece = self._file.read(max(_PIECE, waiting))
        if not piece:
            return False
        _check_decoded(self._path, piece, self._encoding)
        self._lines += self._text.count("\n", 0, self._at)
        self._text, self._at = self._text[self._at :] + piece, 0
        if waiting >= _PIECE:  # one item fills it
            count_pieces(self._text, _SIGNS, f"{self._path}:{self._line(0)}", 2 * PIECES)
        return True

    def _line(self, at: int) -> int:
        return 1 + self._lines + self._text.count("\n", 0, at)

    def _fault(self, why: str, at: int | None = None) -> CollectionError:
        return _no_json(self._path, f"{why}: line {self._line(self._at if at is None else at)}")


def as_record(place: str, value: object) -> Record | Bad:
    """Return an object as a record, and a string as a record that is only a text."""
    value = plain(value)
    if isinstance(value, str):
        return Record(place, {"text": value})
    if isinstance(value, Mapping):
        return Record(place, value)
    return Bad(place, "broken", f"{detect_kind(value)} and not an object or a text")


def detect_kind(value: object) -> str:
    """Return what a value is, in words.

    >>> detect_kind([1]), detect_kind(None), detect_kind(1.5)
    ('a list', 'null', 'a number')
    """
    if value is None:
        return "null"
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "a text"}
    kinds |= {list: "a list", tuple: "a list", dict: "an object"}
    return kinds.get(type(value), f"of type {type(value).__name__}")


def is_document(value: Mapping[str, Any]) -> bool:
    """Return whether an object is one document, which has a string in a field of a known name."""
    return any(isinstance(each, str) and is_known(str(name), TEXTS) for name, each in value.items())


def _listed(path: Path, values: Iterable[Any]) -> Records:
    for number, value in enumerate(values, start=1):
        yield as_record(f"{path}, item {number}", value)


def _by_id(path: Path, values: Mapping[str, Any]) -> Records:
    for name, row in zip(values, rows_by_id(values), strict=True):
        yield as_record(f"{path}, item {name!r}", row)


def rows_by_id(values: Mapping[Any, Any]) -> Iterator[object]:
    """Yield objects or texts by their ids as objects that have them."""
    for name, value in values.items():
        value = plain(value)
        if isinstance(value, str):
            yield {"_id": name, "text": value}
        else:
            yield {"_id": name, **value} if isinstance(value, Mapping) else value


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
