"""Reading filters: what they mean, and what is refused."""

from datetime import UTC, date, datetime
from enum import IntEnum
from typing import Any

import numpy as np
import pytest

from ranklet.runtime import InputError
from ranklet.runtime.metadata.where import (
    MAX_CONDITIONS,
    MAX_VALUES,
    Both,
    Either,
    Not,
    Test,
    is_condition,
    list_fields,
    read_where,
)


class Year(IntEnum):
    SEVEN = 7


TYPES = {
    "day": "date", "name": "string", "ok": "flag", "seen": "datetime", "tags": "list",
    "year": "number",
}  # fmt: skip


TYPED = {
    "year >= 2020": {"year": {">=": 2020}},
    "Year=2020": {"year": 2020},
    "year=2020,2021": {"year": [2020, 2021]},
    "year!=2020, 2021.5": {"year": {"not in": [2020, 2021.5]}},
    "year in 3,4": {"year": [3, 4]},
    "price in EUR<1": {"price in EUR": {"<": 1}},
    "price<1": {"price": {"<": 1}},
    "name=1": {"name": "1"},
    "name==": {"name": ""},
    'name="a, b",c': {"name": ["a, b", "c"]},
    "name contains a, b": {"name": {"contains": "a, b"}},
    "name starts with a": {"name": {"starts with": "a"}},
    "ok=Ja": {"ok": True},
    "ok!=false": {"ok": {"!=": False}},
    "year missing": {"year": {"missing": True}},
    "year missing no": {"year": {"missing": False}},
    "tags=x,y": {"tags": {"has any": ["x", "y"]}},
    "tags has x": {"tags": {"has": "x"}},
    "tags has all x,y": {"tags": {"has all": ["x", "y"]}},
    "day>2024-05-31": {"day": {">": "2024-05-31"}},
}


@pytest.mark.parametrize("typed", TYPED)
def test_a_condition_may_be_typed(typed: str) -> None:
    types = {**TYPES, "price": "number", "price in EUR": "number"}
    condition = read_where(TYPED[typed], types)
    assert read_where(typed, types) == condition
    assert read_where([typed, "ok=0"], types) == Both((condition, Test("ok", "==", (False,))))
    assert read_where({"not": typed}, types) == Not(condition)
    assert is_condition(typed)


def nested(depth: int) -> dict[str, Any]:
    return {"not": nested(depth - 1)} if depth else {"ok": True}


@pytest.mark.parametrize(
    ("where", "condition"),
    [
        ({}, Both(())),
        ({"year": 2020}, Test("year", "==", (2020,))),
        ({"year": np.int64(2020)}, Test("year", "==", (2020,))),
        ({"year": [1, 2.5]}, Test("year", "in", (1, 2.5))),
        *[
            ({"year": values}, Test("year", "in", (1, 2)))
            for values in (np.array([1, 2]), {1, 2}, range(1, 3), {1: "a", 2: "b"}.keys())
        ],
        ({"year": Year.SEVEN}, Test("year", "==", (7,))),
        ({"day": np.datetime64("2024-05-31")}, Test("day", "==", (date(2024, 5, 31),))),
        *[
            ({"seen": value}, Test("seen", operator, (datetime(2024, 5, 31, tzinfo=UTC),)))
            for value, operator in (
                (np.datetime64("2024-05-31", "ns"), "=="),
                (np.array(["2024-05-31"], "datetime64[ns]"), "in"),
            )
        ],
        ({"year": {"!=": 1}}, Not(Test("year", "==", (1,)))),
        ({"name": {"not in": ("a", "b")}}, Not(Test("name", "in", ("a", "b")))),
        ({"ok": {"missing": False}}, Not(Test("ok", "missing", ()))),
        (
            {"year": {">": 1, "<=": 3}, "ok": True},
            Both(
                (
                    Both((Test("year", ">", (1,)), Test("year", "<=", (3,)))),
                    Test("ok", "==", (True,)),
                )
            ),
        ),
        ({"or": [{"ok": True}, {}]}, Either((Test("ok", "==", (True,)), Both(())))),
        ({"not": {"tags": {"has": "x"}}}, Not(Test("tags", "has", ("x",)))),
        ({"tags": {"has any": {"x"}}}, Test("tags", "has any", ("x",))),
        ({"day": "2024-05-31"}, Test("day", "==", (date(2024, 5, 31),))),
        (
            {"seen": {">=": "2024-05-31T12:00+02:00"}},
            Test("seen", ">=", (datetime(2024, 5, 31, 10, tzinfo=UTC),)),
        ),
        ({"name": {"starts with": "W"}}, Test("name", "starts with", ("W",))),
        ({"day": datetime(2024, 1, 1)}, Test("day", "==", (datetime(2024, 1, 1, tzinfo=UTC),))),  # noqa: DTZ001, RUF100
    ],
)
def test_a_filter_becomes_conditions(where: dict[str, Any], condition: object) -> None:
    assert read_where(where, TYPES) == condition
    assert hash(read_where(where, TYPES)) == hash(condition)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (5, "where must be an object such as .* not the number 5"),
        ([], "where must be an object such as .* not a list"),
        ({"yaer": 1}, r"unknown field 'yaer' \(did you mean 'year'\?\); the fields are 'day', "),
        ({3: 1}, "unknown field '3'; the fields are"),
        ({"year": "2020"}, "'year' holds numbers.*the string '2020'; give a number"),
        ({"year": True}, "'year' holds numbers.*with true; give a number"),
        ({"year": None}, "'year' holds numbers.*with null; give a number"),
        ({"year": float("nan")}, "'year' holds numbers.*the number nan"),
        ({"year": {">": [1]}}, "'year' holds numbers.*with a list"),
        ({"year": [[1]]}, "'year' holds numbers.*with a list"),
        ({"year": {"=>": 1}}, "by '=>'; its operators are ==, !=, in, not in, >=, >, <=, <, miss"),
        ({"year": {}, "name": {"has": "a"}}, "'name' holds strings.*by 'has'; its operators are"),
        ({"name": 1}, "'name' holds strings.*the number 1; give a string"),
        ({"ok": {">": True}}, "'ok' holds flags.*by '>'; its operators are ==, !=, in, not in, mi"),
        ({"ok": 1}, "'ok' holds flags.*the number 1; give true or false"),
        ({"tags": "x"}, "lists of strings.*by '=='.*write {\"has\": …}"),
        ({"tags": {"has": 1}}, "'tags' holds lists of strings.*the number 1; give a string"),
        ({"tags": {"has any": "x"}}, "'has any' takes a list, not the string 'x'"),
        ({"name": {"in": "abc"}}, "'in' takes a list, not the string 'abc'"),
        ({"day": "31 May"}, "the string '31 May'; give a date such as \"2024-05-31\""),
        ({"day": "2024-02-30"}, "give a date such as"),
        ({"day": 2024}, "'day' holds dates.*the number 2024"),
        ({"seen": "0001-01-01T00:00+05:00"}, "give a date such as"),
        ({"ok": {"missing": 1}}, "'missing' takes true or false, not the number 1"),
        ({"and": {"ok": True}}, "'and' takes a list of filters, not an object"),
        ({"or": "ok"}, "'or' takes a list of filters"),
        ({"or": ["ok"]}, "'ok' is no condition; give a field, an operator and a value, such as"),
        ("yaer=1", r"unknown field 'yaer' \(did you mean 'year'"),
        ("year=x", "'year' holds numbers.*the string 'x'; give a number such as"),
        ("year<4,5", "'year' holds numbers.*the string '4,5'"),
        ("year=4,5", "'4,5' may be one number or two; write '4.5', or 'in' before two"),
        ("ok=perhaps", "'ok' holds flags.*the string 'perhaps'; give true or false"),
        ("day=31.5.2024", "give a date such as"),
        ({"year": {"contains": "2"}}, "'year' holds numbers.*by 'contains'"),
        ({"name": {"starts with": 2}}, "the number 2; give a string"),
        ({"not": [{"ok": True}]}, "where must be an object.*not a list"),
        (nested(40), "nested more than 32 deep"),
        ({"or": [{"ok": True}] * (MAX_CONDITIONS + 1)}, "more than 1,000 conditions"),
        ({"or": [{}] * (MAX_CONDITIONS + 1)}, "more than 1,000 conditions"),
        ({"or": [{"not": {"and": []}}] * (MAX_CONDITIONS + 1)}, "more than 1,000 conditions"),
        ({"year": list(range(MAX_VALUES + 1))}, "more than 10,000 values"),
    ],
)
def test_a_filter_that_cannot_be_used_is_refused(where: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        read_where(where, TYPES)
    assert len(str(raised.value)) < 400


def test_columns_and_missing_dates_of_other_libraries() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for column in (pandas.Series([1, 2]), polars.Series([1, 2])):
        assert read_where({"year": {"in": column}}, TYPES) == Test("year", "in", (1, 2))
    with pytest.raises(InputError, match="cannot be compared with a value of type NaTType"):
        read_where({"day": {">=": pandas.NaT}}, TYPES)


def test_without_metadata_a_filter_says_so() -> None:
    with pytest.raises(InputError, match="'year'; the documents of this bundle have no metadata"):
        read_where({"year": 1}, {})
    many = {f"field{number:03}": "string" for number in range(200)}
    with pytest.raises(InputError, match=r"'field019' and 180 more$"):
        read_where({"x": 1}, many)


def test_the_fields_of_a_filter_are_named() -> None:
    where = {"or": [{"ok": True}, {"not": {"year": 1}}], "name": "a"}
    assert sorted(list_fields(read_where(where, TYPES))) == ["name", "ok", "year"]
