"""Count the values that fields of the metadata have in some documents."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
_OPTIONS = ("top", "ranges", "missing")

Range = tuple[Operand | None, Operand | None]


@dataclass(frozen=True)
class Facet:
    """How the values of a field are counted.

    Attributes:
        field: the field.
        top: how many values are counted at most, the most frequent ones.
        ranges: what is counted instead: values from the first one to before the second one.
        missing: whether documents without a value are counted, too.
    """

    field: str
    top: int = TOP
    ranges: tuple[Range, ...] = ()
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
    top, missing, ranges = given.get("top"), given.get("missing"), given.get("ranges")
    if top is not None:
        check_whole(f"facets: {name[:80]!r}: top", top, 1)
    if not isinstance(missing, bool | None):
        raise InputError(f"facets: {name[:80]!r}: missing is true or false, not {missing!r:.60}")
    if ranges is None:
        return Facet(name, TOP if top is None else int(top), (), bool(missing))
    if top is not None:
        raise InputError(f"facets: {name[:80]!r}: all ranges are counted, so leave top out")
    return Facet(name, TOP, _ranges(ranges, name, types[name], remarks), bool(missing))


def _ranges(ranges: object, name: str, type_: str, remarks: Mapping[str, str]) -> tuple[Range, ...]:
    if type_ not in (NUMBER, DATE, DATETIME):
        raise InputError(
            f"facets: {name[:80]!r} holds {PLURALS[type_]}; ranges are of numbers and dates"
        )
    pairs = ranges if isinstance(ranges, Sequence) and not isinstance(ranges, str) else ()
    if not pairs or not all(isinstance(each, list | tuple) and len(each) == 2 for each in pairs):
        raise InputError(
            f"facets: {name[:80]!r}: ranges is a list of pairs, the first value and the one before "
            f"which it ends, such as [[2000, 2010], [2010, null]], not {ranges!r:.60}"
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
    return [Count(column.shown(code), int(amounts[code])) for code in best.tolist()]


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
