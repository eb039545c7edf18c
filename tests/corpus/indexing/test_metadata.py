"""Collecting metadata and packing it into columns."""

import logging
from typing import Any

import numpy as np
import pytest

from ranklet.corpus.indexing.metadata import Field, MetadataCollector, join_documents
from ranklet.corpus.sources.cells import Cell, Fields
from ranklet.runtime.ground.errors import CollectionError


def collected(*rows: dict[str, Any], first: list[int] | None = None) -> dict[str, Field]:
    collector = MetadataCollector()
    for row in rows:
        collector.add(row)
    passages = None if first is None else np.array(first, np.uint32)
    return collector.fields(join_documents(passages, len(first or rows)))


def test_strings_are_codes_of_sorted_strings() -> None:
    field = collected({"a": "pear"}, {}, {"a": "ä"}, {"a": ""}, {"a": "pear"})["a"]
    assert field.type == "string"
    assert field.distinct is not None
    assert list(field.distinct) == ["", "pear", "ä"]
    assert field.arrays["codes.npy"].tolist() == [1, 0, 2, 0, 1]
    assert field.arrays["codes.npy"].dtype == np.uint8
    assert field.arrays["missing.npy"].tolist() == [0, 1, 0, 0, 0]


def test_numbers_are_whole_if_all_are() -> None:
    fields = collected({"a": 1, "b": Cell("1")}, {"a": 2.5, "b": Cell("-3")})
    assert fields["a"].arrays["values.npy"].dtype == np.float64
    assert fields["b"].arrays["values.npy"].dtype == np.int64
    assert fields["b"].arrays["values.npy"].tolist() == [1, -3]
    assert "missing.npy" not in fields["b"].arrays


def test_days_and_instants_are_counted_from_1970() -> None:
    fields = collected({"day": "1970-01-03", "at": "1970-01-01T00:00:01.5Z"}, {"at": "1969-12-31"})
    assert (fields["day"].type, fields["at"].type) == ("date", "datetime")
    assert fields["day"].arrays["values.npy"].tolist() == [2, 0]
    assert fields["day"].arrays["values.npy"].dtype == np.int32
    assert fields["at"].arrays["values.npy"].tolist() == [1_500_000, -86_400_000_000]


def test_one_line_says_what_was_changed_or_left_out(caplog: pytest.LogCaptureFixture) -> None:
    rows: list[dict[str, Any]] = [
        {"a": 1, "b": {"c": 1}, "": "x"},
        {"a": "one", "b": [1], "d": None},
    ]
    with caplog.at_level(logging.WARNING):
        fields = collected(*rows)
    assert list(fields) == ["a"]
    assert fields["a"].distinct is not None
    assert list(fields["a"].distinct) == ["1", "one"]
    (record,) = caplog.records
    assert record.getMessage() == (
        "metadata: 'a' is kept as strings, because 1 of 2 values is no number, such as 'one'; "
        "build with --types a=number; "
        "values of '' are not kept (1 a column without a name); "
        "values of 'b' are not kept (1 an object, 1 a list that does not only hold strings)"
    )


def test_a_remark_names_the_first_values_of_another_type_with_their_places() -> None:
    collector = MetadataCollector()
    for line, cell in enumerate(
        ["1", "N/A", "dear", "3", "4", "5", "", "?", "6", "x", "y"], start=2
    ):
        fields = Fields({"list price": Cell(cell)})
        fields.place = f"p.csv:{line}"
        collector.add(fields)
    remark = collector.fields(join_documents(None, 11))["list price"].remark
    assert remark == (
        "4 of 9 values are no numbers, such as p.csv:4 ('dear'), p.csv:9 ('?'), p.csv:11 ('x'); "
        "build with --types 'list price=number'"
    )


def test_signs_for_missing_values_are_missing_among_numbers_and_kept_among_strings() -> None:
    rows = [
        {"n": Cell("1"), "s": Cell("NA")},
        {"n": Cell(" N/A "), "s": Cell("DE")},
        {"n": Cell("-")},
    ]
    fields = collected(*rows)
    assert fields["n"].type == "number"
    assert fields["n"].arrays["missing.npy"].tolist() == [0, 1, 1]
    assert fields["s"].distinct is not None
    assert list(fields["s"].distinct) == ["DE", "NA"]
    assert fields["n"].remark == fields["s"].remark == ""


def test_names_that_are_data_are_refused() -> None:
    with pytest.raises(CollectionError, match=r"more than 256 fields.*--metadata none"):
        collected(*({f"key {number}": 1} for number in range(300)))
