"""Evaluate filters by metadata on all documents at once, with a small cache.

All conditions on one field are evaluated in one pass, by the classes of values they tell apart.
The operands of the conditions cut the values of a column into classes: those that equal an operand,
and those between two operands. All values of a class fulfil the same conditions. So the conditions
are evaluated on the classes, and each document is looked up only once.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import reduce
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.ground.errors import BundleError, OutOfTimeError
from ranklet.runtime.metadata.columns import Lists, Metadata, Ordered, Texts
from ranklet.runtime.metadata.where import (
    CONTAINS,
    EQUAL,
    HAS_ALL,
    IN,
    MISSING,
    STARTS_WITH,
    Both,
    Condition,
    Either,
    Not,
    Operand,
    Test,
    list_tests,
)

CACHED = 8  # masks per bundle, of one byte per document
_FREE = 1 << 26  # values that are read before the deadline is looked at, in about 50 ms
_STRING = 1 << 9  # values that take as long as to look into a string

_LARGEST = np.iinfo(np.int64).max


class Masks:
    """The masks of the last filters of a bundle, shared by all threads."""

    def __init__(self, metadata: Metadata) -> None:
        self.metadata = metadata
        self._masks: OrderedDict[Condition, Mask] = OrderedDict()
        self._lock = Lock()

    def mask(self, condition: Condition, deadline: Deadline | None = None) -> Mask:
        """Return which documents a filter allows, (documents,) bool, read-only.

        Raises:
            BundleError: a column is damaged.
            OutOfTimeError: it takes long, and the time is up.
        """
        with self._lock:
            if condition in self._masks:
                self._masks.move_to_end(condition)
                return self._masks[condition]
        mask = evaluate(condition, self.metadata, deadline)
        mask.flags.writeable = False
        with self._lock:
            self._masks[condition] = mask
            while len(self._masks) > CACHED:
                self._masks.popitem(last=False)
        return mask


def evaluate(condition: Condition, metadata: Metadata, deadline: Deadline | None = None) -> Mask:
    """Return which documents a filter allows, (documents,) bool, a new array.

    Raises:
        BundleError: a column is damaged.
        OutOfTimeError: it takes long, and the time is up.
    """
    return _Evaluation(metadata, deadline or Deadline()).of(condition)


class _Evaluation:
    """The evaluation of one filter."""

    def __init__(self, metadata: Metadata, deadline: Deadline) -> None:
        self._metadata, self._deadline, self._read = metadata, deadline, 0

    def of(self, condition: Condition) -> Mask:
        """Return which documents a part of the filter allows."""
        if isinstance(condition, Test):
            self._begin_pass(_STRING if condition.operator == CONTAINS else 1)
            return _test(condition, self._metadata)
        if isinstance(condition, Not):
            return ~self.of(condition.inner)
        if (found := self._in_one_pass(condition)) is not None:
            return found
        masks = map(self.of, _by_field(condition))
        if isinstance(condition, Both):
            return reduce(np.logical_and, masks, np.ones(len(self._metadata), np.bool_))
        return reduce(np.logical_or, masks, np.zeros(len(self._metadata), np.bool_))

    def _in_one_pass(self, condition: Condition) -> Mask | None:
        """Return which documents several conditions on one field allow; None for others."""
        tests = list(list_tests(condition))
        if len(tests) < 2 or len({test.field for test in tests}) > 1:
            return None
        if any(test.operator in (STARTS_WITH, CONTAINS) for test in tests):
            return None
        column = self._metadata.column(tests[0].field)
        classes = ValueClasses(column, tests) if isinstance(column, Ordered) else None
        if classes is None or not classes.fits:
            return None
        self._begin_pass()
        return classes.mask(condition)

    def _begin_pass(self, cost: int = 1) -> None:
        """Look at the deadline before a pass over all documents, unless little was read so far."""
        self._read += cost * len(self._metadata)
        if self._read > _FREE and self._deadline.passed:
            raise OutOfTimeError(
                "the time was up before the filter was evaluated; simplify 'where', or give it "
                "more time"
            )


def _by_field(condition: Both | Either) -> Sequence[Condition]:
    """Return the inner conditions, where those that are on the same field are joined to one."""
    of_field: dict[str, list[Condition]] = {}
    others: list[Condition] = []
    for each in condition.inner:
        fields = {test.field for test in list_tests(each)}
        (of_field.setdefault(fields.pop(), []) if len(fields) == 1 else others).append(each)
    if len(of_field) == 1 and not others:
        return condition.inner
    joined = [
        each[0] if len(each) == 1 else type(condition)(tuple(each)) for each in of_field.values()
    ]
    return [*joined, *others]


def _test(test: Test, metadata: Metadata) -> Mask:
    column = metadata.column(test.field)
    missing = column.missing
    if test.operator == MISSING:
        return np.zeros(len(metadata), np.bool_) if missing is None else missing.copy()
    try:
        if isinstance(column, Lists):
            mask = _of_lists(column, test)
        elif isinstance(column, Ordered):
            mask = _of_ordered(column, test)
    except IndexError as error:
        raise BundleError(
            f"metadata: {test.field!r} is damaged ({error}); run `ranklet verify`"
        ) from error
    return mask if missing is None else mask & ~missing


def _of_lists(column: Lists, test: Test) -> Mask:
    operands = tuple(str(each) for each in test.operands)
    return column.holding_all(operands) if test.operator == HAS_ALL else column.holding(operands)


def _of_ordered(column: Ordered, test: Test) -> Mask:
    """Return which keys fulfil a condition; missing ones may be among them."""
    keys = column.keys
    if test.operator == IN:
        return _one_of(column, test.operands)
    if isinstance(column, Texts) and test.operator == CONTAINS:
        return column.containing(str(test.operands[0]))
    if isinstance(column, Texts) and test.operator == STARTS_WITH:
        span = column.starting_with(str(test.operands[0]))
    else:
        span = column.span(test.operands[0])
    mask: Mask
    if test.operator in (EQUAL, STARTS_WITH):
        mask = (keys >= span.least) & (keys <= span.largest)
    elif test.operator == ">=":
        mask = keys >= span.least
    elif test.operator == ">":
        mask = keys > span.largest
    elif test.operator == "<=":
        mask = keys <= span.largest
    else:
        mask = keys < span.least
    return mask


def _one_of(column: Ordered, operands: tuple[Operand, ...]) -> Mask:
    """Return which keys lie in one of some spans, in one search per document."""
    keys = column.keys
    spans = sorted(span for span in map(column.span, operands) if span.least <= span.largest)
    if keys.dtype.kind != "f":
        largest = np.iinfo(np.int64).max
        spans = [span for span in spans if -largest <= span.largest and span.least <= largest]
        spans = [span._replace(largest=min(span.largest, largest)) for span in spans]
        spans = [span._replace(least=max(span.least, -largest - 1)) for span in spans]
    if not spans:
        return np.zeros(len(keys), np.bool_)
    dtype = np.float64 if keys.dtype.kind == "f" else np.int64
    least, most = (np.array(each, dtype) for each in zip(*spans, strict=True))
    most = np.maximum.accumulate(most)  # a day may contain other instants of the list
    place: NDArray[np.intp] = np.searchsorted(least, keys, side="right") - 1
    found: Mask = (place >= 0) & (keys <= most[place])
    return found


class ValueClasses:
    """The classes of the values of a column.

    With n borders there are 2n + 1 classes, the odd ones of values that equal a border, and one of
    documents without a value.

    Args:
        column: the column.
        tests: all conditions; the borders are what their operands equal.

    Attributes:
        fits: whether the column can hold all operands.
    """

    def __init__(self, column: Ordered, tests: Iterable[Test]) -> None:
        operands = dict.fromkeys(operand for test in tests for operand in test.operands)
        self._column, self._spans = column, {each: column.span(each) for each in operands}
        borders = sorted({each for span in self._spans.values() for each in span})
        whole = column.keys.dtype.kind != "f"
        self.fits = not (whole and borders) or -_LARGEST <= borders[0] <= borders[-1] <= _LARGEST
        dtype = np.int64 if whole else np.float64
        self._borders: NDArray[Any] = np.array(borders if self.fits else [], dtype)
        self._place = {border: place for place, border in enumerate(borders)}
        self._count = 2 * len(borders) + 2

    def mask(self, condition: Condition) -> Mask:
        """Return which documents fulfil a condition of these tests, (documents,) bool."""
        keys, borders = self._column.keys, self._borders
        classes = 2 * np.searchsorted(borders, keys, side="left")
        if len(borders):
            classes += borders.take(classes // 2, mode="clip") == keys
        if self._column.missing is not None:
            classes[self._column.missing] = self._count - 1
        found: Mask = self._find_fulfilling(condition)[classes]
        return found

    def _find_fulfilling(self, condition: Condition) -> NDArray[np.bool_]:
        """Return which classes fulfil a condition, (classes,) bool."""
        if isinstance(condition, Test):
            return self._test(condition)
        if isinstance(condition, Not):
            return ~self._find_fulfilling(condition.inner)
        both = isinstance(condition, Both)
        join = np.logical_and if both else np.logical_or
        begin = np.full(self._count, both)
        return reduce(join, map(self._find_fulfilling, condition.inner), begin)

    def _test(self, test: Test) -> NDArray[np.bool_]:
        fulfilled = np.zeros(self._count, np.bool_)
        if test.operator == MISSING:
            fulfilled[-1] = True
            return fulfilled
        for operand in test.operands:
            least, largest = (2 * self._place[each] + 1 for each in self._spans[operand])
            if test.operator in (EQUAL, IN):
                fulfilled[least : largest + 1] = True
            elif test.operator in (">=", ">"):
                fulfilled[least if test.operator == ">=" else largest + 1 : -1] = True
            else:
                fulfilled[: largest + 1 if test.operator == "<=" else least] = True
        return fulfilled
