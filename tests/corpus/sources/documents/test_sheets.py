"""Sheets are tables, and texts among other documents."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.corpus.sources.documents.writing import lines, relations, write_pdf, write_zip
from tests.corpus.sources.reading import read, refused, write

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.sources.cells import Record
from ranklet.corpus.sources.documents.sheets import read_rows

openpyxl = pytest.importorskip("openpyxl")


def write_sheets(path: Path, **sheets: list[list[Any]]) -> Path:
    book = openpyxl.Workbook(write_only=True)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


NAMES = 'xmlns="urn:sheets" xmlns:r="urn:x/relationships"'
OFFICE = "urn:oasis:names:tc:opendocument:xmlns:{}:1.0"


def write_xml(path: Path, *sheets: str, shared: str = "", styles: str = "", book: str = "") -> Path:
    """Write a file of sheets that are given as XML."""
    names = [f"s{at}" for at in range(len(sheets))]
    named = "".join(f'<sheet name="{each}" r:id="{each}"/>' for each in names)
    others = [("t", "sharedStrings", "t.xml"), ("f", "styles", "f.xml")]
    return write_zip(path, {
        "_rels/.rels": relations(("a", "officeDocument", "xl/b.xml")),
        "xl/b.xml": f"<workbook {NAMES}>{book}<sheets>{named}</sheets></workbook>",
        "xl/_rels/b.xml.rels": relations(
            *((each, "worksheet", f"{each}.xml") for each in names), *others
        ),
        "xl/t.xml": f"<sst {NAMES}>{shared}</sst>",
        "xl/f.xml": f"<styleSheet {NAMES}>{styles}</styleSheet>",
        **{
            f"xl/{name}.xml": f"<worksheet {NAMES}><sheetData>{each}</sheetData></worksheet>"
            for name, each in zip(names, sheets, strict=True)
        },
    })  # fmt: skip


def values(path: Path) -> list[Any]:
    """Return the values of the first row of a file, and why a sheet cannot be read."""
    found = next(read_rows(path, header=False))
    return [each for key, each in found.fields.items() if key != "page"]  # type: ignore[union-attr]


def write_ods(path: Path, rows: str) -> Path:
    spaces = " ".join(
        f'xmlns:{each}="{OFFICE.format(each)}"' for each in ("office", "table", "text")
    )
    return write_zip(path, {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": f'<a:manifest xmlns:a="{OFFICE.format("manifest")}"/>',
        "content.xml": f"<office:document-content {spaces}><office:body><office:spreadsheet>"
        f'<table:table table:name="Prices">{rows}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>",
    })  # fmt: skip


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


def test_numbers_are_what_their_formats_show(tmp_path: Path) -> None:
    codes = ("yyyy-mm-dd", "h:mm", "[h]:mm", "mm:ss", "Standard", "yyyy-mm-dd hh:mm")
    formats = "".join(
        f'<numFmt numFmtId="{at}" formatCode="{code}"/>' for at, code in enumerate(codes, 200)
    )
    used = "".join(f'<xf numFmtId="{at}"/>' for at in range(200, 200 + len(codes)))
    styles = f"<numFmts>{formats}</numFmts><cellXfs>{used}</cellXfs>"
    given = [
        (0, 1),
        (0, 60),
        (1, 0),
        (1, 0.3541666667),
        (2, 1.5),
        (3, 0.01),
        (4, 43_000.5),
        (5, 0.25),
    ]
    cells = "".join(f'<c s="{style}"><v>{number}</v></c>' for style, number in given)
    path = write_xml(tmp_path / "a.xlsx", f"<row>{cells}</row>", styles=styles)
    assert values(path) == [
        date(1900, 1, 1), date(1900, 2, 28), "00:00", "08:30", "36:00", "00:14:24", 43_000.5,
        "06:00",
    ]  # fmt: skip
    since = '<workbookPr date1904="1"/>'
    path = write_xml(tmp_path / "a.xlsx", f"<row>{cells}</row>", styles=styles, book=since)
    assert values(path)[:3] == [date(1904, 1, 2), date(1904, 3, 1), "00:00"]


def test_texts_are_what_their_readers_see(tmp_path: Path) -> None:
    shared = "<si><t>one_x000D_\ntwo</t><rPh><t>reading</t></rPh></si>"
    inline = '<c t="inlineStr"><is><t>write _x005F_x000D_</t></is></c>'
    cells = f'<row><c t="s"><v>0</v></c>{inline}<c t="s"/><c t="s"><v></v></c><c t="b"/></row>'
    path = write_xml(tmp_path / "a.xlsx", cells, shared=shared)
    assert values(path) == ["one\ntwo", "write _x000D_"]


def test_a_sheet_that_is_damaged_leaves_the_others(tmp_path: Path) -> None:
    row = "<row><c t='inlineStr'><is><t>{}</t></is></c></row>"
    good = "".join(map(row.format, ("text", "some words")))
    write_xml(tmp_path / "a.xlsx", good, "<row></c>", good.replace("some", "other"))
    write(tmp_path / "b.txt", "Text")
    for path, place in ((tmp_path, "a.xlsx#page=2"), (tmp_path / "a.xlsx", "a.xlsx, s1")):
        assert f"{place} (cannot be read, because its xl/s1.xml is no XML" in refused(path)
        assert len(read(path, skip_bad=True)) == (3 if path == tmp_path else 2)


def test_sheets_of_other_programs_are_read(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    cell = '<table:table-cell office:value-type="{}" office:{}="{}"/>'
    text = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    row = "<table:table-row>{}</table:table-row>"
    cells = cell.format("date", "date-value", "2024-05-31") + cell.format("float", "value", "7")
    cells += cell.format("time", "time-value", "PT08H30M00S")
    write_ods(tmp_path / "a.ods", row.format("".join(map(text.format, ("text", "day", "n", "at"))))
              + row.format(text.format("some words") + cells))  # fmt: skip
    xlwt = pytest.importorskip("xlwt")
    book = xlwt.Workbook()
    sheet = book.add_sheet("Prices")
    given = [("day", date(2024, 5, 31), "yyyy-mm-dd"), ("n", 7, "0"), ("at", 0.3541666667, "h:mm")]
    for column, (name, value, code) in enumerate([("text", "some words", "@"), *given]):
        sheet.write(0, column, name)
        sheet.write(1, column, value, xlwt.easyxf(num_format_str=code))
    book.save(tmp_path / "b.xls")
    for name in ("a.ods", "b.xls"):
        (found,) = read_rows(tmp_path / name, header=True)
        assert isinstance(found, Record)
        assert found.fields == {
            "text": "some words", "day": date(2024, 5, 31), "n": 7, "at": "08:30",
        }  # fmt: skip


def test_a_sheet_that_takes_too_much_memory_ends_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    cell = '<table:table-cell office:value-type="string"><text:p>word</text:p></table:table-cell>'
    many = f'<table:table-row table:number-rows-repeated="900000">{cell * 9}</table:table-row>'
    write_ods(tmp_path / "a.ods", many)
    write(tmp_path / "b.txt", "Text")
    assert "a.ods (takes more than 400 MB or 120 seconds to read; save it" in refused(tmp_path)
    assert [each.text for each in read(tmp_path, skip_bad=True)] == ["Text"]
