"""Collect the metadata of documents and pack them into the columns of a bundle."""

import json
import logging
from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.indexing.field_types import (
    BITS,
    NOTHING,
    READERS,
    Unusable,
    as_string,
    choose_type,
    nearest,
    typed,
)
from ranklet.corpus.indexing.packer import Packer
from ranklet.corpus.sources.cells import stands_for_nothing
from ranklet.corpus.sources.column_types import EXAMPLES, are_no
from ranklet.runtime.answers.console import printable
from ranklet.runtime.bundles.manifest import (
    DATE,
    DATETIME,
    FLAG,
    LIST,
    MAX_FIELDS,
    NO_TYPES,
    NUMBER,
    STRING,
)
from ranklet.runtime.ground.errors import CollectionError
from ranklet.runtime.metadata.columns import CODES, MISSING, OFFSETS, VALUES
from ranklet.runtime.storage.strings import Strings

_log = logging.getLogger(__name__)
_SHOWN = 5  # fields that a message names


@dataclass(frozen=True, eq=False)
class Field:
    """One field of all documents as a bundle stores it.

    Attributes:
        type: one of `ranklet.runtime.bundles.manifest.TYPES`.
        arrays: the arrays by the names of their files; docs/maintainers/bundle-format.md has their
            shapes.
        distinct: the sorted distinct strings, if the values are strings.
        remark: why they are strings although most could be something else, and what to do; "" if
            that is not so.
    """

    type: str
    arrays: Mapping[str, NDArray[Any]]
    distinct: Strings | None = None
    remark: str = ""


class MetadataCollector:
    """Collects the metadata of documents one by one, in a temporary file.

    The type of a field is known when all documents were read.
    """

    def __init__(self) -> None:
        self._rows = Packer()
        self._seen: dict[str, Counter[int]] = {}
        self._first: dict[str, dict[int, list[tuple[int, str]]]] = {}  # by bits, for remarks
        self._left_out: dict[str, Counter[str]] = {}

    def add(self, metadata: Mapping[str, Any]) -> None:
        """Add the metadata of the next document.

        Raises:
            CollectionError: there are too many fields.
        """
        row = {}
        for name, value in metadata.items():
            try:
                value = typed(value)
                if value is not None and not name.strip():
                    raise Unusable("a column without a name")
            except Unusable as fault:
                self._left_out.setdefault(name, Counter())[str(fault)] += 1
                continue
            if value is not None:
                seen = self._seen.setdefault(name, Counter())
                seen[value[0]] += 1
                if seen[value[0]] <= EXAMPLES:
                    self._note(name, *value, getattr(metadata, "place", ""))
                row[name] = value[1]
        if len(self._seen) > MAX_FIELDS:
            raise CollectionError(
                f"the documents have more than {MAX_FIELDS} fields besides id, title and text; "
                "name those to keep by --metadata a,b, or pass --metadata none"
            )
        self._rows.add(json.dumps(row) if row else "")

    def fields(
        self, place: NDArray[np.intp], types: Mapping[str, str] = NO_TYPES
    ) -> dict[str, Field]:
        """Return the fields sorted by name; nothing can be added then.

        Args:
            place: which of the added documents each stored passage belongs to, (passages,).
            types: the types of fields that have one already, which all values can have.
        """
        names = sorted(self._seen)
        remarks = {name: remark for name in names if (remark := self._remark(name))}
        self._warn(remarks)
        columns = {
            name: _COLUMNS[types.get(name) or choose_type(self._seen[name])]() for name in names
        }
        for number, text in enumerate(self._rows.strings() if names else ()):
            for name, value in json.loads(text or "{}").items():
                columns[name].add(number, value)
        count = len(self._rows)
        return {
            name: replace(columns[name].field(count, place), remark=remarks.get(name, ""))
            for name in names
        }

    def _note(self, name: str, bits: int, value: Any, place: str) -> None:
        """Keep one of the first values of a type with its place."""
        said = f"{place} ({value!r:.40})" if place else f"{value!r:.40}"
        first = self._first.setdefault(name, {}).setdefault(bits, [])
        first.append((len(self._rows), said))

    def _remark(self, name: str) -> str:
        """Return what keeps a field from a type that most of its values could have."""
        seen = self._seen[name]
        if not (type_ := nearest(seen)):
            return ""
        others = [bits for bits in seen if not bits & BITS[type_]]
        bad = sum(seen[bits] for bits in others)
        first = sorted(each for bits in others for each in self._first[name][bits])
        total = seen.total() - seen[NOTHING]
        return printable(
            f"{bad:,} of {total:,} values {are_no(bad, type_)}, such as "
            f"{', '.join(said for _, said in first[:EXAMPLES])}; build with --types "
            f"{quote(f'{name}={type_}')}"
        )

    def _warn(self, remarks: Mapping[str, str]) -> None:
        """Say in one line what was not kept as it was given."""
        notes = [
            f"{name!r} is kept as strings, because {remark}" for name, remark in remarks.items()
        ]
        for name, faults in sorted(self._left_out.items()):
            what = ", ".join(f"{count:,} {fault}" for fault, count in faults.items())
            notes.append(f"values of {name!r} are not kept ({what})")
        if notes:
            more = f"; {len(notes) - _SHOWN} more fields" if len(notes) > _SHOWN else ""
            _log.warning("metadata: %s%s", "; ".join(notes[:_SHOWN]), more)


class _Column:
    """Collects the values of one field, with the numbers of the documents that have one."""

    kind: str  # the field's type
    strings = False  # whether a sign for a missing value is a string like others

    def __init__(self) -> None:
        self._numbers = array("q")

    def add(self, number: int, value: Any) -> None:
        """Add a document's value; a sign for a missing one is none among numbers and the like."""
        if isinstance(value, str) and not self.strings and stands_for_nothing(value.strip()):
            return
        self._numbers.append(number)
        self._add(value)

    def field(self, count: int, place: NDArray[np.intp]) -> Field:
        """Return the field of the passages whose documents, of `count`, stand at some places."""
        numbers = np.frombuffer(self._numbers, np.int64)
        arrays, distinct = self._arrays(numbers, count, place)
        if len(numbers) < count:
            missing = np.ones(count, np.uint8)
            missing[numbers] = 0
            arrays[MISSING] = missing[place]
        return Field(self.kind, arrays, distinct)

    def _add(self, value: Any) -> None:
        raise NotImplementedError

    def _arrays(
        self, numbers: NDArray[np.int64], count: int, place: NDArray[np.intp]
    ) -> tuple[dict[str, NDArray[Any]], Strings | None]:
        raise NotImplementedError


class _Values(_Column):
    """A column of numbers, flags or dates."""

    dtype: type[np.number[Any]]

    def __init__(self) -> None:
        super().__init__()
        self._values: list[int | float] = []

    def _add(self, value: Any) -> None:
        self._values.append(READERS[self.kind](value))

    def _arrays(
        self, numbers: NDArray[np.int64], count: int, place: NDArray[np.intp]
    ) -> tuple[dict[str, NDArray[Any]], None]:
        values = np.zeros(count, self._dtype())
        values[numbers] = self._values
        return {VALUES: values[place]}, None

    def _dtype(self) -> type[np.number[Any]]:
        return self.dtype


class _Numbers(_Values):
    kind = NUMBER

    def _dtype(self) -> type[np.number[Any]]:
        whole = all(isinstance(value, int) for value in self._values)
        return np.int64 if whole else np.float64


class _Flags(_Values):
    kind, dtype = FLAG, np.uint8


class _Dates(_Values):
    kind, dtype = DATE, np.int32


class _Moments(_Values):
    kind, dtype = DATETIME, np.int64


class _Texts(_Column):
    """A column of strings, whose distinct ones are in memory once."""

    kind, strings = STRING, True

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[str, int] = {}
        self._codes = array("q")

    def _add(self, value: Any) -> None:
        self._add_string(as_string(value))

    def _add_string(self, text: str) -> None:
        self._codes.append(self._places.setdefault(text, len(self._places)))

    def _coded(self) -> tuple[NDArray[np.unsignedinteger[Any]], Strings]:
        """Return the place of each string among the sorted distinct strings, and these strings."""
        # Lone surrogates were refused where the documents were read, so no two become one.
        ordered = sorted(self._places, key=lambda text: text.encode("utf-8", "replace"))
        place_of = np.empty(len(ordered), np.int64)
        for place, text in enumerate(ordered):
            place_of[self._places[text]] = place
        codes = place_of[np.frombuffer(self._codes, np.int64)]
        return codes.astype(smallest_type(len(ordered))), Strings.pack(ordered)

    def _arrays(
        self, numbers: NDArray[np.int64], count: int, place: NDArray[np.intp]
    ) -> tuple[dict[str, NDArray[Any]], Strings]:
        coded, distinct = self._coded()
        codes = np.zeros(count, coded.dtype)
        codes[numbers] = coded
        return {CODES: codes[place]}, distinct


class _Lists(_Texts):
    kind = LIST

    def __init__(self) -> None:
        super().__init__()
        self._lengths = array("q")

    def _add(self, value: Any) -> None:
        self._lengths.append(len(value))
        for text in value:
            self._add_string(text)

    def _arrays(
        self, numbers: NDArray[np.int64], count: int, place: NDArray[np.intp]
    ) -> tuple[dict[str, NDArray[Any]], Strings]:
        coded, distinct = self._coded()
        lengths = np.zeros(count, np.int64)
        lengths[numbers] = np.frombuffer(self._lengths, np.int64)
        begins = np.cumsum(lengths) - lengths
        offsets = np.concatenate([[0], np.cumsum(lengths[place])]).astype(np.int64)
        # Where each code of each passage stands among those of the whole documents.
        shift = np.repeat(begins[place] - offsets[:-1], lengths[place])
        return {OFFSETS: offsets, CODES: coded[shift + np.arange(len(shift))]}, distinct


_COLUMNS: Mapping[str, type[_Column]] = {
    each.kind: each for each in (_Texts, _Numbers, _Flags, _Dates, _Moments, _Lists)
}


def smallest_type(count: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest unsigned type for numbers below a count.

    >>> smallest_type(256), smallest_type(257)
    (<class 'numpy.uint8'>, <class 'numpy.uint16'>)
    """
    fitting = (np.uint8, np.uint16, np.uint32)
    return next(each for each in fitting if count <= np.iinfo(each).max + 1)


def join_documents(first: NDArray[np.uint32] | None, count: int) -> NDArray[np.intp]:
    """Return which whole document each of `count` passages belongs to, (passages,).

    >>> join_documents(np.array([0, 0, 2], np.uint32), 3).tolist()
    [0, 0, 1]
    """
    if first is None:
        return np.arange(count)
    return np.unique(first, return_inverse=True)[1]
