"""Evaluate filters by metadata on all documents at once, with a small cache."""

from collections import OrderedDict
from functools import reduce
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError
from ranklet.runtime.metadata.columns import Lists, Metadata, Ordered
from ranklet.runtime.metadata.where import (
    EQUAL,
    HAS_ALL,
    IN,
    MISSING,
    Both,
    Condition,
    Not,
    Operand,
    Test,
)
from ranklet.runtime.pipeline.mask import Mask

CACHED = 8  # masks per bundle, of one byte per document


class Masks:
    """The masks of the last filters of a bundle, shared by all threads."""

    def __init__(self, metadata: Metadata) -> None:
        self.metadata = metadata
        self._masks: OrderedDict[Condition, Mask] = OrderedDict()
        self._lock = Lock()

    def mask(self, condition: Condition) -> Mask:
        """Return which documents a filter allows, (documents,) bool, read-only.

        Raises:
            BundleError: a column is damaged.
        """
        with self._lock:
            if condition in self._masks:
                self._masks.move_to_end(condition)
                return self._masks[condition]
        mask = evaluate(condition, self.metadata)
        mask.flags.writeable = False
        with self._lock:
            self._masks[condition] = mask
            while len(self._masks) > CACHED:
                self._masks.popitem(last=False)
        return mask


def evaluate(condition: Condition, metadata: Metadata) -> Mask:
    """Return which documents a filter allows, (documents,) bool, a new array.

    Raises:
        BundleError: a column is damaged.
    """
    if isinstance(condition, Test):
        return _test(condition, metadata)
    if isinstance(condition, Not):
        return ~evaluate(condition.inner, metadata)
    masks = (evaluate(each, metadata) for each in condition.inner)
    if isinstance(condition, Both):
        return reduce(np.logical_and, masks, np.ones(len(metadata), np.bool_))
    return reduce(np.logical_or, masks, np.zeros(len(metadata), np.bool_))


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
    if test.operator != HAS_ALL:
        return column.holding(operands)
    masks = (column.holding((each,)) for each in dict.fromkeys(operands))
    return reduce(np.logical_and, masks, np.ones(len(column.offsets) - 1, np.bool_))


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
