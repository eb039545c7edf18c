"""The type of a field, found out from all of its values."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from ranklet.corpus.indexing.field_types import BITS, Unusable, choose_type, nearest, typed
from ranklet.corpus.sources.cells import Cell


class NAType:
    """As pandas.NA is called, which cannot be compared."""

    def __ne__(self, other: object) -> bool:
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = None  # type: ignore[assignment]


def seen(*values: Any) -> Counter[int]:
    return Counter(found[0] for value in values if (found := typed(value)) is not None)


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([1, 2.5, Decimal("3.1"), np.int64(4), np.float32(5)], "number"),
        ([Cell("1"), Cell("-2.5"), Cell(""), Cell("3e4")], "number"),
        ([Cell("01"), Cell("2")], "string"),  # a leading zero means something
        ([Cell("12345678901234567890"), Cell("2")], "string"),  # it would be rounded
        (["1", "2"], "string"),
        ([True, False, np.True_], "flag"),
        ([Cell("true"), Cell("FALSE")], "flag"),
        (["true"], "string"),
        (["2024-05-31", date(2024, 5, 30)], "date"),
        (["2024-05-31", "2024-05-31T10:00"], "datetime"),
        (
            [datetime(2024, 5, 31, tzinfo=UTC), np.datetime64("2024-05-31T10:00:00", "s")],
            "datetime",
        ),
        (["2024-05-31", "soon"], "string"),
        ([["a"], [], ("b", "c"), np.array(["d"])], "list"),
        ([b"bytes", "text"], "string"),
        ([1, "one"], "string"),
        ([True, 1], "string"),
        ([["a"], "b"], "string"),
    ],
)
def test_the_type_fits_all_values(values: list[Any], type_: str) -> None:
    assert choose_type(seen(*values)) == type_


@pytest.mark.parametrize("value", [None, float("nan"), Cell(""), Cell("  "), np.nan, NAType(),
                                   np.datetime64("NaT")])  # fmt: skip
def test_missing_values_are_none(value: Any) -> None:
    assert typed(value) is None


def test_an_empty_string_and_an_empty_list_are_not_missing() -> None:
    assert typed("") == (BITS["string"], "")
    assert typed([]) == (BITS["list"], [])


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({"a": 1}, "an object"),
        ([1, 2], "a list that does not only hold strings"),
        (["a", None], "a list that does not only hold strings"),
        (float("inf"), "a number that is not finite"),
        (1 << 63, "a whole number of more than 63 bits"),
        (b"\xff", "bytes"),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))), "a date out of range"),
        (object(), "of type object"),
    ],
)
def test_values_of_no_type_are_named(value: Any, what: str) -> None:
    with pytest.raises(Unusable, match=f"^{what}$"):
        typed(value)


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([1, "one"], "number"),
        ([1, True, ["a"]], "number"),
        ([Cell("1"), Cell("2"), Cell("many")], "number"),
        ([Cell("1"), Cell("many"), Cell("few")], ""),  # strings, one of which looks like a number
        (["2024-05-31", "2024-06-01", "soon"], "date"),
        (["2024-05-31T10:00", "2024-06-01", "soon"], "datetime"),
        ([["a"], "b"], "list"),
        (["a", "b"], ""),
        ([1, 2], ""),
        ([Cell("N/A")], ""),
        ([Cell("N/A"), Cell("N/A"), Cell("many")], ""),
    ],
)
def test_a_field_of_strings_may_be_nearly_of_another_type(values: list[Any], type_: str) -> None:
    assert nearest(seen(*values)) == type_


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (["1", "N/A", "-"], "number"),
        (["NULL", "2024-05-31"], "date"),
        (["nan", "true"], "flag"),
        (["NA", "DE", "FR"], "string"),  # a country
        (["None", "NA"], "string"),
    ],
)
def test_signs_for_missing_values_fit_every_type(values: list[str], type_: str) -> None:
    assert choose_type(seen(*map(Cell, values))) == type_
