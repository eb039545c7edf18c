"""Sheets are tables, and texts among other documents."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.corpus.sources.documents.writing import lines, write_pdf
from tests.corpus.sources.reading import read, refused, write

from ranklet.corpus.collections.collection import Document

openpyxl = pytest.importorskip("openpyxl")


def write_sheets(path: Path, **sheets: list[list[Any]]) -> Path:
    book = openpyxl.Workbook(write_only=True)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return write_sheets(
        tmp_path / "a.xlsx",
        Prices=[
            ["id", "title", "text", "price", "since", "at", "ok"],
            ["w", "Widget", "It turns & squeaks.", 5, date(2024, 5, 31),
             datetime(2024, 5, 31, 12, 30), True],
            [],
            ["007", "Gadget", None, 2.5],
        ],
        Stock=[["id", "text"], ["s", "Seven"]],
    )  # fmt: skip


def test_rows_are_documents_with_typed_columns(book: Path) -> None:
    first, second, third = read(book, metadata="all")
    assert first == Document("w", "Widget", "It turns & squeaks.", {
        "page": 1, "price": 5, "since": date(2024, 5, 31), "at": datetime(2024, 5, 31, 12, 30),
        "ok": True,
    })  # fmt: skip
    assert (second.id, second.title, second.metadata["price"]) == ("007", "Gadget", 2.5)
    assert third == Document("s", "", "Seven", {"page": 2})


def test_sheets_are_texts_among_other_documents(book: Path) -> None:
    write(book.parent / "b.txt", "Text")
    first, second, other = read(book.parent, metadata="page")
    assert (first.id, first.title, first.metadata) == ("a.xlsx#page=1", "a: Prices", {"page": 1})
    assert first.text.endswith("2024-05-31T12:30:00 | True\n\n007 | Gadget | 2.5")
    assert (second.id, second.text) == ("a.xlsx#page=2", "id | text\n\ns | Seven")
    assert other.id == "b.txt"
    assert [each.id for each in read(book.parent, format="xlsx")] == ["w", "007", "s"]


def test_columns_without_names_have_numbers(tmp_path: Path) -> None:
    path = write_sheets(tmp_path / "a.xlsx", A=[[None, "some words of a text"]])
    assert [each.text for each in read(path, header=False)] == ["some words of a text"]
    write_sheets(tmp_path / "a.xlsx", A=[["a", "a"], ["b", "c"]])
    assert "a.xlsx, A, row 1: the column 'a' occurs twice" in refused(path)


def test_days_count_from_1904_if_a_book_says_so(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    book.active.append(["text", "day"])
    book.active.append(["some words", date(2024, 5, 31)])
    book.save(tmp_path / "a.xlsx")
    assert read(tmp_path / "a.xlsx", metadata="day")[0].metadata == {"day": date(2024, 5, 31)}


def test_a_pdf_that_is_called_a_book_is_refused(tmp_path: Path) -> None:
    write_pdf(tmp_path / "a.xlsx", [lines("x")])
    assert refused(tmp_path / "a.xlsx").endswith(
        "a.xlsx is damaged (File is not a zip file); fetch the file again"
    )
