"""The metadata of a bundle's documents: one memory-mapped column per field, opened on first use.

docs/maintainers/bundle-format.md describes the files. A comparison is one pass of numpy over a
column: strings are the places of their values among the sorted distinct ones, and dates are whole
numbers, days or microseconds since 1970.
"""

import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from math import ceil, floor
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import DATE, DATETIME, FLAG, LIST, NUMBER, STRING, Value
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.ground.errors import BundleError, damaged
from ranklet.runtime.ground.sets import distinct
from ranklet.runtime.storage.block_array import fetch_rows, fetch_whole, is_absent
from ranklet.runtime.storage.strings import Strings
from ranklet.runtime.text.spellings import unaccented

# Files of a field, in `name_field_folder`.
VALUES, CODES, OFFSETS, DISTINCT, MISSING = (
    "values.npy", "codes.npy", "offsets.npy", "distinct", "missing.npy",
)  # fmt: skip

MICROSECOND = timedelta(microseconds=1)
MICROSECONDS = timedelta(days=1) // MICROSECOND  # of a day
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE = r"\d{4}-\d\d-\d\d"
_DATETIME = _DATE + r"[T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?"


class Span(NamedTuple):
    """The values of a column that equal an operand, from the least to the largest.

    If no value can, `least` is the first above the operand and `largest` the last below it.
    """

    least: Any
    largest: Any


def name_field_folder(place: int) -> str:
    """Return the folder of a field by its place among the sorted names, with a slash at its end.

    Names are no part of a path, because they may contain anything.
    """
    return f"metadata/{place}/"


class Ordinals(NamedTuple):
    """The values of a column as places among its different ones, which ascend.

    Places are quick to count and to compare.
    """

    distinct: NDArray[Any]  # (different values,) keys; of strings, their places
    codes: NDArray[Any]  # (values,) places in `distinct`; any place where a value is missing

    @classmethod
    def of(cls, keys: NDArray[Any]) -> "Ordinals":
        """Return the ordinals of keys."""
        found, codes = np.unique(keys, return_inverse=True)
        return cls(found, codes.astype(np.min_scalar_type(len(found))))


class Column(ABC):
    """One field of all documents, where each passage counts as one.

    Attributes:
        missing: the documents without a value, (documents,) bool; None if all have one.
    """

    missing: Mask | None

    def __init__(self, name: str, missing: NDArray[np.uint8] | None) -> None:
        self.name, self._flags = name, missing
        self.missing = None if missing is None else missing != 0

    def value(self, number: int) -> Value | None:
        """Return a document's value, or None if it has none.

        Raises:
            BundleError: the value is damaged.
        """
        if self.missing is not None and self.missing[number]:
            return None
        try:
            return self._value(number)
        except (IndexError, ValueError, OverflowError) as error:
            raise damaged(f"metadata: {self.name!r} of document {number} is {error}") from error

    def shown(self, code: int) -> Value:
        """Return one of the different values of the column by its place among them.

        Raises:
            BundleError: the value is damaged.
        """
        try:
            return self._shown(self.ordinals.distinct[code])
        except (IndexError, ValueError, OverflowError) as error:
            raise damaged(f"metadata: {self.name!r} has the value {error}") from error

    def fetch_shown(self, codes: NDArray[np.intp]) -> None:  # noqa: B027  # strings lie apart
        """Fetch at once what `shown` reads for some codes, if it lies far away."""

    def verify(self) -> None:
        """Check every number.

        Raises:
            BundleError: the first wrong one.
        """
        if self._flags is not None and (self._flags > 1).any():
            raise self._fault("missing is neither 0 nor 1")
        self._verify()

    def _fault(self, what: str) -> BundleError:
        return BundleError(f"metadata: {self.name!r}: {what}")

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of documents."""

    @property
    @abstractmethod
    def ordinals(self) -> Ordinals:
        """The values as places among the different ones; of lists, those of all lists in turn."""

    @abstractmethod
    def _value(self, number: int) -> Value: ...

    @abstractmethod
    def _shown(self, key: Any) -> Value: ...

    @abstractmethod
    def _verify(self) -> None: ...


class Ordered(Column):
    """A column whose values are compared by their keys.

    Attributes:
        keys: (documents,) of any type of numbers; 0 where a value is missing.
        type: the type of the values.
    """

    def __init__(
        self, name: str, keys: NDArray[Any], missing: NDArray[np.uint8] | None, type_: str
    ) -> None:
        super().__init__(name, missing)
        self.keys, self.type = keys, type_

    def __len__(self) -> int:
        return len(self.keys)

    @abstractmethod
    def span(self, operand: Any) -> Span:
        """Return the keys that an operand equals. Its type was checked before."""

    @cached_property
    def ordinals(self) -> Ordinals:
        """The values as places among the different ones, which are found out once."""
        return Ordinals.of(np.asarray(self.keys))

    def _value(self, number: int) -> Value:
        return self._shown(self.keys[number])

    def _check_blank(self) -> None:
        if self.missing is not None and self.keys[self.missing].any():
            raise self._fault("a missing value is not 0")


class Numbers(Ordered):
    """Numbers; flags are 0 and 1."""

    def span(self, operand: float) -> Span:
        """Return the numbers that an operand equals; between whole ones there may be none."""
        if self.keys.dtype.kind != "f":
            return Span(ceil(operand), floor(operand))
        try:
            value = float(operand)
        except OverflowError:  # a whole number of hundreds of digits
            value = np.inf if operand > 0 else -np.inf
        return Span(value, value)

    def _shown(self, key: Any) -> Value:
        return bool(key) if self.type == FLAG else key.item()

    def _verify(self) -> None:
        self._check_blank()
        if self.type == FLAG and (self.keys > 1).any():
            raise self._fault("a flag is neither 0 nor 1")
        if not np.isfinite(self.keys).all():
            raise self._fault("a number is not finite")


class Dates(Ordered):
    """Days, or instants in UTC."""

    def span(self, operand: date) -> Span:
        """Return the keys that an operand equals; a day equals every instant in it."""
        return count_span(operand, self.type)

    def _shown(self, key: Any) -> Value:
        return moment_at(int(key)) if self.type == DATETIME else day_at(int(key))

    def _verify(self) -> None:
        self._check_blank()
        if len(self.keys):
            for key in (int(self.keys.argmin()), int(self.keys.argmax())):
                self.value(key)


class Texts(Ordered):
    """Strings, as places among the sorted distinct ones.

    Args:
        name: of the field.
        keys: the places.
        missing: the documents without a value.
        distinct: the strings.
        collate: returns the place of each in the order of a dictionary; None to find it out.
    """

    def __init__(
        self,
        name: str,
        keys: NDArray[Any],
        missing: NDArray[np.uint8] | None,
        distinct: Strings,
        collate: Callable[[], NDArray[np.int64]] | None = None,
    ) -> None:
        super().__init__(name, keys, missing, STRING)
        self.distinct, self._collate = distinct, collate

    @cached_property
    def collated(self) -> NDArray[np.int64]:
        """The place of each distinct string in the order of a dictionary, see `collation`."""
        if self._collate is not None:
            return self._collate()
        fetch_whole(*self.distinct.packed)
        texts = list(self.distinct)
        places = np.empty(len(texts), np.int64)
        places[sorted(range(len(texts)), key=lambda at: collation(texts[at]))] = range(len(texts))
        return places

    def span(self, operand: str) -> Span:
        """Return the place of a string among the distinct ones."""
        place, found = find(self.distinct, operand)
        return Span(place, place if found else place - 1)

    def starting_with(self, begin: str) -> Span:
        """Return the first and the last place of the strings that begin with another one."""
        least, _ = find(self.distinct, begin)
        # No byte of UTF-8 is so large.
        after = begin.encode("utf-8", "surrogatepass") + b"\xff"
        return Span(least, _bisect(self.distinct, after) - 1)

    def containing(self, part: str) -> Mask:
        """Return which documents' strings contain another one, (documents,) bool."""
        raw = part.encode("utf-8", "surrogatepass")
        fetch_whole(*self.distinct.packed)
        found = [raw in self.distinct.raw(place) for place in range(len(self.distinct))]
        mask: Mask = np.array([*found, False])[self.keys]  # without any string all keys are 0
        return mask

    @cached_property
    def ordinals(self) -> Ordinals:
        """The places of the values among the sorted distinct strings."""
        return _of_strings(self, self.keys, self.distinct)

    def fetch_shown(self, codes: NDArray[np.intp]) -> None:
        """Fetch some of the distinct strings at once."""
        fetch_rows(codes, ragged=[self.distinct.packed])

    def _shown(self, key: Any) -> Value:
        return self.distinct[int(key)]

    def _verify(self) -> None:
        self._check_blank()
        _check_codes(self, self.keys, self.distinct)


def collation(text: str) -> tuple[str, str]:
    """Return a key of the order of a dictionary, in which capitals and accents come last.

    >>> sorted(["Zebra", "apple", "état", "Eta", "Apple"], key=collation)
    ['Apple', 'apple', 'Eta', 'état', 'Zebra']
    """
    return unaccented(text.casefold()), text


class Lists(Column):
    """Lists of strings: those of document i are ``codes[offsets[i]:offsets[i + 1]]``.

    Attributes:
        offsets: (documents + 1,) int64.
        codes: places among the sorted distinct strings, in the order of each list.
        distinct: the strings.
    """

    def __init__(
        self,
        name: str,
        offsets: NDArray[np.int64],
        codes: NDArray[Any],
        missing: NDArray[np.uint8] | None,
        distinct: Strings,
    ) -> None:
        super().__init__(name, missing)
        self.offsets, self.codes, self.distinct = offsets, codes, distinct

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def holding(self, operands: tuple[str, ...]) -> Mask:
        """Return which documents' lists hold at least one of some strings, (documents,) bool."""
        mask = np.zeros(len(self.offsets) - 1, np.bool_)
        wanted = np.zeros(len(self.distinct), np.bool_)
        for place, found in (find(self.distinct, operand) for operand in operands):
            if found:
                wanted[place] = True
        places = np.flatnonzero(wanted[self.codes])
        # Empty lists begin where the next one does, and the last of these is the one with the code.
        mask[np.searchsorted(self.offsets, places, side="right") - 1] = True
        return mask

    def holding_all(self, operands: tuple[str, ...]) -> Mask:
        """Return which documents' lists hold all of some strings, (documents,) bool."""
        found = [find(self.distinct, operand) for operand in dict.fromkeys(operands)]
        if not all(there for _, there in found):
            return np.zeros(len(self.offsets) - 1, np.bool_)
        wanted = np.zeros(len(self.distinct), np.bool_)
        wanted[[place for place, _ in found]] = True
        places = np.flatnonzero(wanted[self.codes])
        owners = np.searchsorted(self.offsets, places, side="right") - 1
        # A list may hold a string twice.
        each = distinct(owners * len(self.distinct) + self.codes[places])
        counts = np.bincount(each // max(1, len(self.distinct)), minlength=len(self.offsets) - 1)
        mask: Mask = counts == len(found)
        return mask

    @cached_property
    def ordinals(self) -> Ordinals:
        """The places of the strings of all lists, in turn, among the sorted distinct ones."""
        return _of_strings(self, self.codes, self.distinct)

    def fetch_shown(self, codes: NDArray[np.intp]) -> None:
        """Fetch some of the distinct strings at once."""
        fetch_rows(codes, ragged=[self.distinct.packed])

    @cached_property
    def once(self) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """The owner and the code of each string, without those that an owner's list has twice."""
        offsets: NDArray[np.int64] = np.asarray(self.offsets)
        owners = np.repeat(np.arange(len(self)), np.diff(offsets))
        size = max(1, len(self.distinct))
        pairs = distinct(owners * size + self.ordinals.codes)
        return pairs // size, (pairs % size).astype(self.codes.dtype)

    def _shown(self, key: Any) -> Value:
        return self.distinct[int(key)]

    def _value(self, number: int) -> Value:
        begin, end = self.offsets[number : number + 2].tolist()
        return [self.distinct[code] for code in self.codes[begin:end].tolist()]

    def _verify(self) -> None:
        if self.missing is not None and np.diff(self.offsets)[self.missing].any():
            raise self._fault("a missing value is not empty")
        _check_codes(self, self.codes, self.distinct)


def find(distinct: Strings, wanted: str) -> tuple[int, bool]:
    """Bisect sorted strings; return where a string is or would be, and whether it is there.

    >>> find(Strings.pack(["a", "c"]), "b"), find(Strings.pack(["a", "c"]), "c")
    ((1, False), (1, True))
    """
    # Not "replace", because a lone surrogate must not match the "?" that would replace it.
    raw = wanted.encode("utf-8", "surrogatepass")
    fetch_whole(*distinct.packed)  # a bisection by blocks would wait for the network at each step
    place = _bisect(distinct, raw)
    return place, place < len(distinct) and distinct.raw(place) == raw


def _bisect(distinct: Strings, raw: bytes) -> int:
    return bisect_left(range(len(distinct)), raw, key=distinct.raw)


def _of_strings(column: Column, codes: NDArray[Any], distinct: Strings) -> Ordinals:
    """Return the ordinals of strings, whose codes they are.

    Raises:
        BundleError: a code is past the strings.
    """
    codes = np.asarray(codes)
    if len(codes) and int(codes.max()) >= max(1, len(distinct)):
        raise damaged(f"metadata: {column.name!r} has a code past its {len(distinct)} strings")
    return Ordinals(np.arange(len(distinct)), codes)


def _check_codes(column: Column, codes: NDArray[Any], distinct: Strings) -> None:
    if len(codes) and int(codes.max()) >= len(distinct):
        raise BundleError(f"metadata: {column.name!r}: a code is past the {len(distinct)} strings")
    raws = [distinct.raw(place) for place in range(len(distinct))]
    for one, other in pairwise(raws):
        if one >= other:
            raise BundleError(f"metadata: {column.name!r}: its strings are not in order")
    for raw in raws:
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BundleError(f"metadata: {column.name!r}: a string is not UTF-8") from error


class Metadata:
    """The columns of a bundle; each is opened when it is first used, and shared by all threads.

    Args:
        bundle: the bundle.
        types: the types of all fields, of which the bundle may lack some; None for those it has.

    Attributes:
        types: the type of each field by its name, sorted by name.
    """

    def __init__(self, bundle: BundleFiles, types: Mapping[str, str] | None = None) -> None:
        own = bundle.manifest.metadata
        self._bundle, self.types = bundle, own if types is None else types
        self._places = {name: place for place, name in enumerate(own)}
        self._columns: dict[str, Column] = {}
        self._lock = Lock()

    def __iter__(self) -> Iterator[str]:
        return iter(self.types)

    def __len__(self) -> int:
        """Return the number of documents, where each passage counts as one."""
        return self._bundle.manifest.documents

    def column(self, name: str) -> Column:
        """Return the column of a field, which must exist.

        Raises:
            BundleError: a file is missing, or an array has another type or shape.
        """
        with self._lock:
            if name not in self._columns:
                self._columns[name] = self._open(name)
            return self._columns[name]

    def compare(self, names: Iterable[str]) -> None:
        """Compare the files of some fields with their sha256, each once.

        Raises:
            BundleError: one differs.
        """
        places = self._places
        folders = tuple(name_field_folder(places[name]) for name in names if name in places)
        files = self._bundle.manifest.files
        self._bundle.compare(name for name in files if folders and name.startswith(folders))

    def fetch(self, numbers: NDArray[np.integer], others: Sequence[Sequence[NDArray[Any]]]) -> None:
        """Fetch the values of some documents at once, and their rows of other arrays.

        Args:
            numbers: the documents' numbers, (documents,).
            others: offsets, and the arrays that they cut into rows; see `fetch_rows`.
        """
        missing = (name_field_folder(place) + MISSING for place in self._places.values())
        self._bundle.fetch(name for name in missing if self._bundle.has(name))
        columns = [self.column(name) for name in self._places]
        lists = [each for each in columns if isinstance(each, Lists)]
        keys = [each.keys for each in columns if isinstance(each, Ordered)]
        ragged = [(each.offsets, each.codes) for each in lists]
        fetch_rows(numbers, plain=keys, ragged=[*others, *ragged])
        for column in columns:
            if isinstance(column, Texts):
                fetch_rows(column.keys[numbers], ragged=[column.distinct.packed])
            elif isinstance(column, Lists) and is_absent(column.distinct.data):
                codes = [column.codes[slice(*column.offsets[n : n + 2])] for n in numbers.tolist()]
                fetch_rows(np.concatenate([*codes, []]), ragged=[column.distinct.packed])

    def of(self, number: int) -> dict[str, Value]:
        """Return a document's values by field, without those that are missing."""
        values = ((name, self.column(name).value(number)) for name in self._places)
        return {name: value for name, value in values if value is not None}

    def _open(self, name: str) -> Column:
        bundle, count = self._bundle, len(self)
        if name not in self._places:
            return _blank(name, self.types[name], count)
        folder, type_ = name_field_folder(self._places[name]), self.types[name]
        missing: NDArray[np.uint8] | None = None
        if bundle.has(folder + MISSING):
            missing = bundle.array(folder + MISSING, np.uint8, (count,))
        if type_ == LIST:
            offsets = bundle.offsets(folder + OFFSETS, count)
            codes = self._codes(folder, int(offsets[-1]))
            return Lists(name, offsets, codes, missing, bundle.strings(folder + DISTINCT, Strings))
        if type_ == STRING:
            codes = self._codes(folder, count)
            return Texts(name, codes, missing, bundle.strings(folder + DISTINCT, Strings))
        if type_ in (DATE, DATETIME):
            dtype = np.int32 if type_ == DATE else np.int64
            return Dates(name, bundle.array(folder + VALUES, dtype, (count,)), missing, type_)
        if type_ == NUMBER:
            numbers = bundle.array(folder + VALUES, np.int64, (count,), np.float64)
            return Numbers(name, numbers, missing, type_)
        return Numbers(name, bundle.array(folder + VALUES, np.uint8, (count,)), missing, FLAG)

    def _codes(self, folder: str, count: int) -> NDArray[Any]:
        return self._bundle.array(folder + CODES, np.uint8, (count,), np.uint16, np.uint32)


def _blank(name: str, type_: str, count: int) -> Column:
    """Return a column without any value."""
    zeros, missing = np.zeros(count, np.uint8), np.ones(count, np.uint8)
    if type_ == LIST:
        return Lists(name, np.zeros(count + 1, np.int64), zeros[:0], missing, Strings.pack([]))
    if type_ == STRING:
        return Texts(name, zeros, missing, Strings.pack([]))
    kind = Dates if type_ in (DATE, DATETIME) else Numbers
    return kind(name, zeros.astype(np.int64), missing, type_)


def read_date(text: str) -> date | datetime | None:
    """Return the day or the instant that a text is, or None if it is neither.

    >>> read_date("2024-05-01"), read_date("2024-05-01T10:00+02:00"), read_date("May 1")
    (datetime.date(2024, 5, 1), datetime.datetime(2024, 5, 1, 8, 0, tzinfo=datetime.timezone.utc), None)
    """  # noqa: E501
    try:
        if re.fullmatch(_DATE, text, re.ASCII):
            return date.fromisoformat(text)
        if re.fullmatch(_DATETIME, text, re.ASCII):
            return in_utc(datetime.fromisoformat(text))
    except (ValueError, OverflowError):  # February 30, or a year that UTC would put before 1
        pass
    return None


def in_utc(moment: datetime) -> datetime:
    """Return an instant in UTC; one without a time zone is taken to be in UTC.

    Raises:
        OverflowError: it would lie before year 1 or after year 9999.
    """
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def count_days(day: date) -> int:
    """Return the days from 1970-01-01 to a day.

    >>> count_days(date(1970, 1, 2))
    1
    """
    return day.toordinal() - _EPOCH.toordinal()


def count_span(operand: date, type_: str) -> Span:
    """Return the days or the microseconds, as the type says, that a day or an instant equals."""
    first = count_microseconds(operand)
    last = first if isinstance(operand, datetime) else first + MICROSECONDS - 1
    if type_ == DATETIME:
        return Span(first, last)
    # A day is compared by its beginning, so an instant within a day lies between two days.
    return Span(-(-first // MICROSECONDS), first // MICROSECONDS)


def count_microseconds(moment: date) -> int:
    """Return the microseconds from 1970 to an instant, or to the beginning of a day in UTC."""
    if isinstance(moment, datetime):
        return (in_utc(moment) - _EPOCH) // MICROSECOND
    return count_days(moment) * MICROSECONDS


def day_at(days: int) -> date:
    """Return the day that many days after 1970-01-01.

    Raises:
        ValueError, OverflowError: the year is not one from 1 to 9999.
    """
    return date.fromordinal(days + _EPOCH.toordinal())


def moment_at(microseconds: int) -> datetime:
    """Return the instant that many microseconds after 1970, in UTC.

    Raises:
        OverflowError: the year is not one from 1 to 9999.
    """
    return _EPOCH + microseconds * MICROSECOND
