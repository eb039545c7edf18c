"""Values of declared types, as people write them in tables."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ranklet.corpus.sources.cells import Cell
from ranklet.corpus.sources.column_types import check_types, parse_value, read_types
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Source
from ranklet.runtime.ground.errors import InputError

DAY = date(2024, 12, 31)
SIGNS = ["", " ", "N/A", "NA", "n/a", "NULL", "null", "nan", "NaN", "None", "-", "#N/A", "<NA>"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5), ("-5", -5), ("−5", -5), ("+5", 5), (" 5.50 ", 5.5), (".5", 0.5), ("1e3", 1000.0),
        ("1,000", 1000), ("1,234,567.5", 1234567.5), ("1 000", 1000), ("1\u202f000", 1000),
        ("1'000'000", 1000000), ("€ 5", 5), ("5 €", 5), ("$1,000", 1000), ("5 USD", 5), ("5%", 5),
        ("02134", 2134), (5, 5), (2.5, 2.5), (Decimal("2.5"), 2.5),
    ],
)  # fmt: skip
def test_numbers_may_have_groups_and_units(text: Any, number: float) -> None:
    found = parse_value(text, "number")
    assert (found, type(found)) == (number, type(number))


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        ("1,5", "number"), ("1.000,50", "number"), ("1,00", "number"), ("$", "number"),
        ("five", "number"), ("5 km", "number"), ("inf", "number"), ("9" * 30, "number"),
        (1 << 63, "number"), (True, "number"), ([1], "number"), ("5-6", "number"),
        ("2019-13-40", "date"), ("31/12/2024", "date"), ("12.2024", "date"), (5, "date"),
        ("31/12/2024", "mdy"), ("12/31/2024", "dmy"), ("soon", "datetime"),
        ("maybe", "flag"), (2, "flag"), ({"a": 1}, "list"), ([["a"]], "list"),
        ("['a' 'b']", "list"), ("[a]", "list"), ({"a": 1}, "string"),
    ],
)  # fmt: skip
def test_other_values_are_none_of_the_type(value: Any, type_: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_value(value, type_)


@pytest.mark.parametrize(
    ("value", "type_", "found"),
    [
        ("2024-12-31", "date", DAY), ("2024/12/31", "date", DAY), ("20241231", "date", DAY),
        ("2024-12-31T10:00Z", "date", DAY), ("31/12/2024", "dmy", DAY), ("31.12.2024", "dmy", DAY),
        ("12/31/2024", "mdy", DAY), ("2024-12-31", "dmy", DAY),
        ("2024-12-31", "datetime", datetime(2024, 12, 31, tzinfo=UTC)),
        ("yes", "flag", True), ("0", "flag", False), (1, "flag", True), ("FALSE", "flag", False),
        ("a, b,,c", "list", ["a", "b", "c"]), ("a, b; c", "list", ["a, b", "c"]),
        ('["a", 1]', "list", ["a", "1"]), ("['a', 'b']", "list", ["a", "b"]), ("x", "list", ["x"]),
        ("[]", "list", None), (["a", None], "list", ["a"]), (7, "list", ["7"]),
        ("None", "string", "None"), (True, "string", "true"), (DAY, "string", "2024-12-31"),
    ],
)  # fmt: skip
def test_values_of_every_type(value: Any, type_: str, found: Any) -> None:
    assert parse_value(value, type_) == found


@pytest.mark.parametrize("type_", ["number", "date", "datetime", "flag", "list", "dmy", "mdy"])
def test_signs_for_missing_values_are_missing(type_: str) -> None:
    assert [parse_value(Cell(sign), type_) for sign in SIGNS] == [None] * len(SIGNS)


def test_types_are_typed_with_commas_and_checked() -> None:
    assert read_types("a=b=number, price, net=date") == {"a=b": "number", "price, net": "date"}
    for wrong in ("", "price", "price=number,date"):
        with pytest.raises(InputError, match="give NAME=TYPE, such as price=number"):
            read_types(wrong)
    with pytest.raises(InputError, match="'integer'; it must be one of string, number"):
        read_types("price=integer")
    with pytest.raises(InputError, match="must be a dictionary such as"):
        check_types("price=number")
    with pytest.raises(InputError, match="--metadata year leaves that column out"):
        SourceOptions(metadata="year", types={"price": "number"})


def test_what_is_not_of_the_type_is_counted_with_its_places(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "p.csv"
    cells = ["1", "N/A", "two", "", "3", "a", "b", "c"]
    path.write_text("id,text,price,day\n" + "".join(
        f"{number},None,{cell},31/12/2024\n" for number, cell in enumerate(cells)
    ), "utf-8")  # fmt: skip
    source = Source(path, SourceOptions(types={"price": "number", "day": "date"}))
    documents = list(source.documents())
    assert [each.metadata for each in documents][:3] == [{"price": 1}, {}, {}]
    assert documents[0].text == "None"  # texts stay as they are
    price, day = sorted(record.getMessage() for record in caplog.records)[::-1]
    assert price == (
        f"'price': 4 of 6 values are no numbers (taken as missing): {path}:4 ('two'), {path}:7 "
        f"('a'), {path}:8 ('b'), …"
    )
    assert day.endswith("; for dates such as 31/12/2024 declare dmy, for 12/31/2024 mdy")


def test_a_declared_column_must_exist(tmp_path: Path) -> None:
    rows = [{"id": "1", "text": "a", "price": 1}]
    with pytest.raises(InputError, match=r"no column 'prise' \(--types\).*; it has 'price'"):
        list(Source(rows, SourceOptions(types={"prise": "number"})).documents())
