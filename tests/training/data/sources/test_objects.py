"""Objects of Python are read once, unless they surely can be read twice."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ranklet.training.data.sources.objects import Objects
from ranklet.training.data.sources.records import Bad, Record


class Once:
    """An iterable that is empty when it is read again, and does not say so."""

    def __init__(self) -> None:
        self._rows = iter(["a", "b"])

    def __iter__(self) -> Iterator[str]:
        return self._rows


@pytest.mark.parametrize(
    "texts", [["a", "b"], ("a", "b"), np.array(["a", "b"]), pd.Series(["a", "b"])]
)
def test_sequences_are_read_twice(texts: Any) -> None:
    assert Objects(texts).twice
    assert Objects(texts).position().total == 2
    assert [each.fields["text"] for each in records(texts)] == ["a", "b"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "texts", [Once(), iter(["a"]), (each for each in "ab"), map(str, "ab"), {"a"}]
)
def test_others_are_read_once(texts: Any) -> None:
    assert not Objects(texts).twice


def test_texts_of_other_types_are_texts_and_missing_ones_are_faults() -> None:
    found = records([b"a", np.str_("b"), pd.NA, 7])
    assert [type(each) for each in found] == [Record, Record, Bad, Bad]


def records(texts: Any) -> list[Record | Bad]:
    given = Objects(texts)
    return list(given.records(given.position()))
