"""Count the values that fields of the metadata have in some documents."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.manifest import DATE, DATETIME, NUMBER, PLURALS
from ranklet.runtime.call.topk import top_k
from ranklet.runtime.ground.errors import InputError, damaged
from ranklet.runtime.ground.options import check_whole
from ranklet.runtime.hits import Count
from ranklet.runtime.metadata.columns import Column, Lists, Ordered
from ranklet.runtime.metadata.where import Operand, read_operand, unknown_field

TOP = 10  # values of a field, unless a request says how many
_OPTIONS = ("top", "ranges", "range", "missing")

Range = tuple[Operand | None, Operand | None]


@dataclass(frozen=True)
class Facet:
    """How the values of a field are counted.

    Attributes:
        field: the field.
        top: how many values are counted at most, the most frequent ones.
        ranges: what is counted instead: values from the first one to before the second one.
        range: whether only the least and the most value are counted instead.
        missing: whether documents without a value are counted, too.
    """

    field: str
    top: int = TOP
    ranges: tuple[Range, ...] = ()
    range: bool = False
    missing: bool = False


def read_facets(
    facets: object, types: Mapping[str, str], remarks: Mapping[str, str] = MappingProxyType({})
) -> tuple[Facet, ...]:
    """Return what is counted.

    Args:
        facets: a list of fields, or an object of options by field; see `Bundle.rank`.
        types: the type of each field.
        remarks: see `read_where`.

    Raises:
        InputError: a field or an option is unknown, or has a value that cannot be used.
    """
    if isinstance(facets, Sequence) and not isinstance(facets, str | bytes):
        facets = dict.fromkeys(map(_name, facets))
    if not isinstance(facets, Mapping):
        raise InputError(
            'facets must be a list of fields, or an object such as {"year": {"top": 20}}, not '
            f"{facets!r:.60}"
        )
    return tuple(_facet(name, options, types, remarks) for name, options in facets.items())


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise InputError(f"facets: a field is named by a string, not {name!r:.60}")
    return name


def _facet(
    name: object, options: object, types: Mapping[str, str], remarks: Mapping[str, str]
) -> Facet:
    if not isinstance(name, str) or name not in types:
        raise InputError(f"facets: {unknown_field(name, types)}")
    given = {} if options is None else options
    if not isinstance(given, Mapping) or not given.keys() <= {*_OPTIONS}:
        raise InputError(
            f"facets: {name[:80]!r} takes an object with {', '.join(_OPTIONS)}, not {given!r:.60}"
        )
    top, ranges, ends, missing = map(given.get, _OPTIONS)
    if top is not None:
        check_whole(f"facets: {name[:80]!r}: top", top, 1)
    for option, flag in (("range", ends), ("missing", missing)):
        if not isinstance(flag, bool | None):
            raise InputError(f"facets: {name[:80]!r}: {option} is true or false, not {flag!r:.60}")
    if (top is not None) + (ranges is not None) + bool(ends) > 1:
        raise InputError(f"facets: {name[:80]!r}: only one of top, ranges and range can be counted")
    if (ends or ranges is not None) and types[name] not in (NUMBER, DATE, DATETIME):
        raise InputError(
            f"facets: {name[:80]!r} holds {PLURALS[types[name]]}; ranges are of numbers and dates"
        )
    pairs = () if ranges is None else _ranges(ranges, name, types[name], remarks)
    return Facet(name, TOP if top is None else int(top), pairs, bool(ends), bool(missing))


def _ranges(ranges: object, name: str, type_: str, remarks: Mapping[str, str]) -> tuple[Range, ...]:
    pairs = ranges if isinstance(ranges, Sequence) and not isinstance(ranges, str) else ()
    if not any(isinstance(each, list | tuple) for each in pairs):
        pairs = list(pairwise(pairs))  # of borders
    if not pairs or not all(isinstance(each, list | tuple) and len(each) == 2 for each in pairs):
        raise InputError(
            f"facets: {name[:80]!r}: ranges is a list of borders, such as [2000, 2010, null], or "
            "of pairs, the first value and the one before which it ends, such as [[2000, 2010]], "
            f"not {ranges!r:.60}"
        )

    def end(value: object) -> Operand | None:
        return None if value is None else read_operand(value, name, type_, remarks, "facets")

    return tuple((end(begin), end(after)) for begin, after in pairs)


def counted(facet: Facet, column: Column, numbers: NDArray[np.integer]) -> tuple[Count, ...]:
    """Return how often each value, or each range, is in some documents.

    Args:
        facet: what is counted.
        column: the field's.
        numbers: the documents' numbers, without repetitions, (documents,).

    Raises:
        BundleError: the column is damaged.
    """
    try:
        amounts = _amounts(column, numbers)
        if facet.ranges and isinstance(column, Ordered):
            found = _in_ranges(facet.ranges, column, amounts)
        elif facet.range:
            places = np.flatnonzero(amounts).tolist()
            found = _counts(column, amounts, sorted({*places[:1], *places[-1:]}))
        else:
            found = _most_frequent(facet.top, column, amounts)
    except (IndexError, ValueError) as error:
        raise damaged(f"metadata: {facet.field!r:.80} cannot be counted: {error}") from error
    absent = 0 if column.missing is None else int(np.count_nonzero(column.missing[numbers]))
    if facet.missing and absent:
        found.append(Count(None, absent))
    return tuple(found)


def _amounts(column: Column, numbers: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return in how many of some documents each different value is, (values,)."""
    count = len(column.ordinals.distinct)
    if isinstance(column, Lists):
        wanted = np.zeros(len(column), np.bool_)
        wanted[numbers] = True
        owners, codes = column.once
        return np.bincount(codes[wanted[owners]], minlength=count)
    if column.missing is not None:
        numbers = numbers[~column.missing[numbers]]
    return np.bincount(column.ordinals.codes[numbers], minlength=count)


def _most_frequent(top: int, column: Column, amounts: NDArray[np.intp]) -> list[Count]:
    best = top_k(amounts.astype(np.float64), top)  # values ascend, so that ties are in their order
    best = best[amounts[best] > 0]
    column.fetch_shown(best)
    return _counts(column, amounts, best.tolist())


def _counts(column: Column, amounts: NDArray[np.intp], codes: Sequence[int]) -> list[Count]:
    return [Count(column.shown(code), int(amounts[code])) for code in codes]


def _in_ranges(ranges: Sequence[Range], column: Ordered, amounts: NDArray[np.intp]) -> list[Count]:
    values, before = column.ordinals.distinct, np.append(0, np.cumsum(amounts))

    def place(operand: Any) -> int:
        return bisect_left(
            values, column.span(operand).least
        )  # of Python, as whole numbers are large

    found = []
    for begin, end in ranges:
        first = 0 if begin is None else place(begin)
        after = len(values) if end is None else place(end)
        found.append(Count((begin, end), max(0, int(before[after] - before[first]))))
    return found
