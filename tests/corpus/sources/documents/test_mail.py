"""Messages have the text that people wrote; what is attached is only named."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from textwrap import dedent

import pytest
from tests.corpus.sources.reading import read, refused, write

MESSAGE = dedent("""\
    From: =?utf-8?q?Ren=C3=A9?= <rene@example.com>
    Subject: =?utf-8?q?Caf=C3=A9?=
     menu
    Date: Fri, 31 May 2024 12:00:00 +0200
    Content-Type: multipart/mixed; boundary=x

    --x
    Content-Type: multipart/alternative; boundary=y

    --y
    Content-Type: text/plain; charset=iso-8859-1
    Content-Transfer-Encoding: quoted-printable

    Cr=E8me of the day.
    --y
    Content-Type: text/html

    <p>no
    --y--
    --x
    Content-Type: text/html; charset=nonsense

    <p>Signed <b>R</b>ené
    --x
    Content-Type: application/pdf
    Content-Disposition: attachment; filename="menu.pdf"

    AAAA
    --x--
""")


def test_a_message_is_a_document(tmp_path: Path) -> None:
    write(tmp_path / "a.eml", MESSAGE)
    (document,) = read(tmp_path, metadata="from,date,attachments")
    assert (document.id, document.title) == ("a.eml", "Café menu")
    assert document.text == "Crème of the day.\n\nSigned René"
    assert document.metadata == {
        "from": "René <rene@example.com>",
        "date": datetime(2024, 5, 31, 12, tzinfo=timezone(timedelta(hours=2))),
        "attachments": ["menu.pdf"],
    }


def test_a_mailbox_has_messages_with_numbers(tmp_path: Path) -> None:
    box = f"From a\n{MESSAGE}\nFrom b\nSubject: Größe\nDate: never\n\nHe wrote:\nFrom here.\n"
    write(tmp_path / "a.mbox", box)
    first, second = read(tmp_path, metadata="page")
    assert (first.id, first.title, first.metadata) == ("a.mbox#page=1", "Café menu", {"page": 1})
    assert (second.title, second.text) == ("Größe", "He wrote:\nFrom here.")


def test_an_html_alternative_is_read_if_the_plain_one_is_empty(tmp_path: Path) -> None:
    write(tmp_path / "a.eml", MESSAGE.replace("Cr=E8me of the day.", ""))
    assert [each.text for each in read(tmp_path)] == ["no\n\nSigned René"]


@pytest.mark.parametrize("header", ["=?utf-8?q?a?= " * 3_000, "(" * 30_000, "a@b," * 20_000])
def test_long_headers_are_read(tmp_path: Path, header: str) -> None:
    write(tmp_path / "a.eml", f"Subject: {header}\nFrom: {header}\n\nText")
    assert [each.text for each in read(tmp_path)] == ["Text"]


def test_parts_of_too_many_parts_end_in_one_line(tmp_path: Path) -> None:
    nested = "".join(
        f"Content-Type: multipart/mixed; boundary=b{i}\n\n--b{i}\n" for i in range(999)
    )
    write(tmp_path / "a.eml", nested)
    assert "a.eml (is nested too deeply; divide it)" in refused(tmp_path)
