"""Rows of bundles and new ones are joined in any order."""

from typing import Any

import numpy as np
import pytest

from ranklet.corpus.indexing.origins import Origins, Rows, Run, join_strings, joined_rows
from ranklet.runtime.storage.strings import Strings

BUNDLES: Any = ("first", "second")


def origins() -> Origins:
    part = np.array([0, 0, 1, 2, 0, 2, 1, 1])
    return Origins.of(BUNDLES, part, np.array([3, 4, 0, 9, 0, 9, 1, 0]))


def test_new_documents_are_counted_from_0() -> None:
    made = origins()
    assert made.new.tolist() == [3, 5]
    assert made.number.tolist() == [3, 4, 0, 0, 0, 1, 1, 0]
    assert Origins.all_new(3).new.tolist() == [0, 1, 2]


def test_runs_are_as_long_as_possible() -> None:
    runs = [Run(0, 3, 5), Run(1, 0, 1), Run(2, 0, 1), Run(0, 0, 1), Run(2, 1, 2)]
    assert list(origins().runs()) == [*runs, Run(1, 1, 2), Run(1, 0, 1)]
    assert list(Origins.all_new(9).runs()) == [Run(0, 0, 9)]
    assert list(Origins.all_new(0).runs()) == []


@pytest.mark.parametrize(
    ("usable", "bundles", "part", "number"),
    [
        ((True, True), BUNDLES, [0, 0, 1, 2, 0, 2, 1, 1], [3, 4, 0, 0, 0, 1, 1, 0]),
        ((False, True), BUNDLES[1:], [1, 1, 0, 1, 1, 1, 0, 0], [0, 1, 0, 2, 3, 4, 1, 0]),
        ((True, False), BUNDLES[:1], [0, 0, 1, 1, 0, 1, 1, 1], [3, 4, 0, 1, 0, 2, 3, 4]),
        ((False, False), (), [0] * 8, list(range(8))),
    ],
)
def test_documents_of_bundles_that_are_not_usable_are_new(
    usable: tuple[bool, bool], bundles: Any, part: list[int], number: list[int]
) -> None:
    made = origins().only(usable)
    assert made.bundles == bundles
    assert made.part.tolist() == part
    assert made.number.tolist() == number


def test_strings_and_rows_are_joined() -> None:
    parts = [["a", "", "cc", "ddd", "e"], ["ä", "F"], ["new", "newer"]]
    joined = join_strings(origins(), [Strings.pack(part) for part in parts])
    assert list(joined) == ["ddd", "e", "ä", "new", "a", "newer", "F", "ä"]
    offsets = np.array([0, 2, 2, 3])
    pairs = Rows(offsets, (np.arange(6, dtype=np.int8).reshape(3, 2), np.array([7.0, 8.0, 9.0])))
    only = Origins.of((), np.zeros(3, np.int64), np.zeros(3, np.int64))
    reverse = Origins((), only.part, np.array([2, 1, 0]))
    made = joined_rows(reverse, [pairs])
    assert made.offsets.tolist() == [0, 1, 1, 3]
    assert made.columns[0].tolist() == [[4, 5], [0, 1], [2, 3]]
    assert made.columns[0].dtype == np.int8
    assert made.columns[1].tolist() == [9.0, 7.0, 8.0]
    empty = joined_rows(Origins.all_new(0), [Rows(np.zeros(1, np.int64), (np.empty((0, 4)),))])
    assert empty.columns[0].shape == (0, 4)
