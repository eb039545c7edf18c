"""Evaluate filters by metadata on all documents at once, with a small cache."""

from collections import OrderedDict
from collections.abc import Sequence
from functools import reduce
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.errors import BundleError, OutOfTimeError
from ranklet.runtime.metadata.columns import Lists, Metadata, Ordered
from ranklet.runtime.metadata.value_classes import classes_of
from ranklet.runtime.metadata.where import (
    EQUAL,
    HAS_ALL,
    IN,
    MISSING,
    Both,
    Condition,
    Either,
    Not,
    Operand,
    Test,
    tests_of,
)

CACHED = 8  # masks per bundle, of one byte per document
_FREE = 1 << 26  # values that are read before the deadline is looked at, in about 50 ms


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
            self._begin_pass()
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
        tests = list(tests_of(condition))
        if len(tests) < 2 or len({test.field for test in tests}) > 1:
            return None
        column = self._metadata.column(tests[0].field)
        classes = classes_of(tests, column) if isinstance(column, Ordered) else None
        if classes is None:
            return None
        self._begin_pass()
        return classes.mask(condition)

    def _begin_pass(self) -> None:
        """Look at the deadline before a pass over all documents, unless little was read so far."""
        self._read += len(self._metadata)
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
        fields = {test.field for test in tests_of(each)}
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
    span = column.span(test.operands[0])
    mask: Mask
    if test.operator == EQUAL:
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
