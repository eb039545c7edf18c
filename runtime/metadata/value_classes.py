"""Evaluate all conditions on one field in one pass, by the classes of values they tell apart.

The operands of the conditions cut the values of a column into classes: those that equal an operand,
and those between two operands. All values of a class fulfil the same conditions. So the conditions
are evaluated on the classes, and each document is looked up only once.
"""

from collections.abc import Iterable
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.mask import Mask
from ranklet.runtime.metadata.columns import Ordered, Span
from ranklet.runtime.metadata.where import EQUAL, IN, MISSING, Both, Condition, Not, Operand, Test

_LARGEST = np.iinfo(np.int64).max


def classes_of(tests: Iterable[Test], column: Ordered) -> "ValueClasses | None":
    """Return the classes of some conditions; None if a column cannot hold one of the operands."""
    operands = dict.fromkeys(operand for test in tests for operand in test.operands)
    spans = {operand: column.span(operand) for operand in operands}
    borders = sorted({each for span in spans.values() for each in span})
    whole = column.keys.dtype.kind != "f"
    if whole and borders and not -_LARGEST <= borders[0] <= borders[-1] <= _LARGEST:
        return None
    return ValueClasses(column, spans, np.array(borders, np.int64 if whole else np.float64))


class ValueClasses:
    """The classes of the values of a column.

    With n borders there are 2n + 1 classes, the odd ones of values that equal a border, and one of
    documents without a value.

    Args:
        column: the column.
        spans: the spans of each operand; their ends are among the borders.
        borders: ascending.
    """

    def __init__(
        self, column: Ordered, spans: dict[Operand, Span], borders: NDArray[np.generic]
    ) -> None:
        self._column, self._spans, self._borders = column, spans, borders
        self._place = {border: place for place, border in enumerate(borders.tolist())}
        self._count = 2 * len(borders) + 2

    def mask(self, condition: Condition) -> Mask:
        """Return which documents fulfil a condition of these tests, (documents,) bool."""
        keys, borders = self._column.keys, self._borders
        classes = 2 * np.searchsorted(borders, keys, side="left")
        if len(borders):
            classes += borders.take(classes // 2, mode="clip") == keys
        if self._column.missing is not None:
            classes[self._column.missing] = self._count - 1
        found: Mask = self._fulfilled(condition)[classes]
        return found

    def _fulfilled(self, condition: Condition) -> NDArray[np.bool_]:
        """Return which classes fulfil a condition, (classes,) bool."""
        if isinstance(condition, Test):
            return self._test(condition)
        if isinstance(condition, Not):
            return ~self._fulfilled(condition.inner)
        both = isinstance(condition, Both)
        join = np.logical_and if both else np.logical_or
        begin = np.full(self._count, both)
        return reduce(join, map(self._fulfilled, condition.inner), begin)

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
