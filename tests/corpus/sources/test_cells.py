"""Cells are strings that remember where they come from, and plain values are all alike."""

import enum
import pathlib
import pickle
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ranklet.corpus.sources.cells import (
    Bad,
    Cell,
    as_id,
    as_text,
    is_decoded,
    is_missing,
    not_decoded,
    plain,
    texts_in,
)


class Colour(enum.Enum):
    RED = "red"


class Number(enum.IntEnum):
    FOUR = 4


def test_a_cell_is_its_text() -> None:
    cell = Cell("2020")
    assert cell == "2020"
    assert isinstance(pickle.loads(pickle.dumps(cell)), Cell)  # noqa: S301
    assert isinstance(plain(cell), Cell)
    assert texts_in([cell, 1]) == ["2020"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (np.str_("a"), "a"), (b"a", "a"), (bytearray(b"a"), "a"), (np.bytes_(b"a"), "a"),
        (memoryview(b"a"), "a"), (Colour.RED, "red"), (Number.FOUR, "4"), (pa.scalar("a"), "a"),
        (pathlib.PurePosixPath("a/b"), "a/b"), (np.array("a"), "a"), (pa.scalar(3), "3"),
        (np.int64(3), "3"), (np.uint8(3), "3"), (3, "3"), (Decimal(12), "12"),
        (pa.scalar(Decimal(12)), "12"), (Decimal("1E+2"), "100"),
        (date(2024, 5, 31), "2024-05-31"),
        (np.datetime64("2024-05-31"), "2024-05-31"),
        (pd.Timestamp("2024-05-31"), "2024-05-31T00:00:00"),
        (datetime(2024, 5, 31, 1), "2024-05-31T01:00:00"), (time(3), "03:00:00"),
        (np.datetime64("2024-05-31T01:00:00", "ns"), "2024-05-31T01:00:00"),
        (pa.array(["a"]).dictionary_encode()[0], "a"), (pd.Categorical(["a"])[0], "a"),
    ],
)  # fmt: skip
def test_an_id_and_a_text_of_any_type_are_the_obvious_string(value: Any, text: str) -> None:
    assert as_id(plain(value)) == as_text(plain(value)) == text


@pytest.mark.parametrize("value", [1.0, np.float32(1), Decimal("1.0"), Fraction(1)])
def test_a_whole_number_among_fractions_is_an_id(value: Any) -> None:
    assert as_id(plain(value)) == "1"


@pytest.mark.parametrize(
    "value",
    [True, np.True_, 1.5, Decimal("1.5"), float("inf"), Decimal("Infinity"),
     2.0**53, "", b"", [1],
     {"a": 1}, timedelta(1), object()],
)  # fmt: skip
def test_flags_fractions_and_rounded_numbers_are_no_ids(value: Any) -> None:
    assert as_id(plain(value)) is None


@pytest.mark.parametrize(
    "values",
    [
        ["a", None, "b"], ("a", "b"), np.array(["a", "b"]), np.array(["a", None, "b"], object),
        pa.array(["a", None, "b"]), pa.scalar(["a", None, "b"]), pd.Series(["a", pd.NA, "b"]),
        pd.Categorical(["a", "b"]), pd.array(["a", None, "b"]), [np.str_("a"), b"b"],
    ],
)  # fmt: skip
def test_a_list_of_texts_of_any_type_is_a_text(values: Any) -> None:
    assert as_text(plain(values)) == "a\nb"


@pytest.mark.parametrize("value", [{"a": 1}, [["a"]], [1, 2], {"a"}, timedelta(1), object()])
def test_other_values_are_no_texts(value: Any) -> None:
    assert as_text(plain(value)) is None


def test_bytes_that_are_no_text_remain_and_show_what_is_wrong() -> None:
    assert plain(b"\xff") == b"\xff"
    assert as_text(b"\xff") == "\udcff"


def test_what_is_empty_is_missing() -> None:
    assert all(map(is_missing, (None, "", " \n", [], {})))
    assert not any(map(is_missing, (0, False, "a", [None], float("inf"))))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("caf\udce9", "byte 0xe9 after 'caf'"),
        ("\udcff", "byte 0xff at its beginning"),
        ("a\ud83d", "half a character after 'a'"),
    ],
)
def test_a_text_that_is_not_decoded_is_described(text: str, found: str) -> None:
    assert not is_decoded(text)
    assert not_decoded("a.csv:2", text) == Bad("a.csv:2", "encoding", found)
    assert not_decoded("a.csv:2", text, "title").found == f"title: {found}"


def test_any_character_is_decoded() -> None:
    assert is_decoded("é\0\U0001f408")
