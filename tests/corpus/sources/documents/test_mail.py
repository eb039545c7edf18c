"""Messages have the text that people wrote; what is attached is only named."""

from datetime import datetime, timedelta, timezone
from email.message import Message
from pathlib import Path
from textwrap import dedent

import pytest
from tests.corpus.sources.reading import read, refused, write

from ranklet.corpus.sources.documents import mail

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


HEAD = "From: a@example.org\nMIME-Version: 1.0\n"


def test_an_attachment_may_have_any_name(tmp_path: Path) -> None:
    names = {
        "filename*=UTF-8''B%C3%BCcher.pdf": "Bücher.pdf",
        "filename*0*=UTF-8''%E6%97%A5; filename*1*=%E6%9C%AC.pdf": "日本.pdf",
        "filename*=gb2312''%E9F.pdf": "镕.pdf",
        "filename*=\0''x.pdf": "x.pdf",
        'filename="=?iso-8859-1?q?caf=E9?="': "café",
        'filename="müde.pdf"': "müde.pdf",
        "filename=Bu.pdf; filename*=UTF-8''B%C3%BC.pdf": "Bü.pdf",
        "filename*0=a; filename*=b": "application/pdf",
        "": "application/pdf",
    }
    parts = "".join(
        f"--x\nContent-Type: application/pdf\nContent-Disposition: attachment; {name}\n\nA\n"
        for name in names
    )
    write(tmp_path / "a.eml", f"{HEAD}Content-Type: multipart/mixed; boundary=x\n\n{parts}--x--")
    (document,) = read(tmp_path, metadata="attachments")
    assert document.metadata["attachments"] == list(names.values())


@pytest.mark.parametrize(
    ("raw", "title"),
    [(b"=?gb2312?B?1uzp?= =?gb2312?B?Rrv5?= x", "朱镕基 x"), (b"=?ks_c_5601-1987?B?jGM=?=", "똠"),
     (b"a =?utf-8*de?q?=C3=BC_b?= =?latin1?Q?=80=FC?= c", "a ü b€ü c"), (b"gr\xc3\xbcn", "grün"),
     (b"=?utf-8?Q?Is it so??=", "Is it so?"), (b"=?\0?q?a?= =?utf-8?b?YWJ?=", "aab"),
     (b"\xc4\xc1", "да"), (b"=?utf-8?b?YWI", "=?utf-8?b?YWI"),
     (b"=?iso-2022-jp?b?GyRCLSEbKEI=?=", "①")],
)  # fmt: skip
def test_a_subject_is_decoded(tmp_path: Path, raw: bytes, title: str) -> None:
    body = b"\nContent-Type: text/plain; charset=koi8-r\n\n\xc4\xc1"
    write(tmp_path / "a.eml", b"Subject: " + raw + body)
    assert [(each.title, each.text) for each in read(tmp_path)] == [(title, "да")]


PDF = "Content-Type: application/pdf; name=a.pdf\nContent-Disposition: inline\n\nA\n"
PAGE, WORDS = "Content-Type: text/html\n\n<p>Page\n", "\nWords\n"
CALENDAR = (
    "Content-Type: text/calendar; name=a.ics\n\nBEGIN:VEVENT\nSUMMARY;LANGUAGE=en:Plan\n"
    ' ning\\, all\nDESCRIPTION;ALTREP="cid:a":One\\nTwo\nEND:VEVENT\n'
)
ATTACHED = "Content-Disposition: attachment\n"
FORWARDED = "Content-Type: message/rfc822\n{}\nSubject: =?utf-8?q?The_offer?=\n\nInside\n"
FLOWED = "Content-Type: text/plain; format=flowed; delsp=yes\n\n日 \n本\n> a \n> b\n-- \nme\n"
PICTURE = "Content-Type: image/png; name=a.png\nContent-ID: <a>\n\nA\n"


def several(kind: str, *parts: str) -> str:
    mark = f"b{len(''.join(parts))}"
    inside = "".join(f"--{mark}\n{part}" for part in parts)
    return f"Content-Type: multipart/{kind}; boundary={mark}\n\n{inside}--{mark}--\n"


@pytest.mark.parametrize(
    ("parts", "text", "attachments"),
    [(several("alternative", WORDS, several("mixed", PAGE, PDF, PAGE)), "Words", ["a.pdf"]),
     (several("alternative", "\n\n", several("mixed", PAGE, PDF, PAGE)), "Page\n\nPage", ["a.pdf"]),
     (several("alternative", "\n\n", PAGE, CALENDAR), "Page", ["a.ics"]),
     (several("alternative", "Content-Type: text/x-amp-html\n\n<p>no\n", PAGE), "Page", None),
     (several("alternative", WORDS, several("related", PAGE, PICTURE)), "Words", None),
     (several("signed", WORDS, PDF), "Words", ["a.pdf"]),
     (several("mixed", WORDS, FORWARDED.format("")), "Words\n\nThe offer\n\nInside", None),
     (several("mixed", WORDS, FORWARDED.format(ATTACHED)), "Words", ["The offer"]),
     (CALENDAR, "Planning, all\nOne\nTwo", ["a.ics"]), (FLOWED, "日本\n> ab\n-- \nme", None),
     ("Content-Type: text/plain; name=a.txt\n\nWords", "Words", ["a.txt"]), (PDF, "", ["a.pdf"]),
     ("Content-Type: multipart/mixed\n\nWords", "Words", None),
     ("Content-Type: multipart/mixed; boundary=x\n\nWords", "Words", None)],
)  # fmt: skip
def test_the_best_text_is_read_and_attachments_are_named(
    tmp_path: Path, parts: str, text: str, attachments: list[str] | None
) -> None:
    write(tmp_path / "a.eml", f"{HEAD}Subject: s\n{parts}")
    (document,) = read(tmp_path, metadata="all")
    assert (document.text, document.metadata.get("attachments")) == (text, attachments)


@pytest.mark.parametrize("before", ["\ufeff", "\r\n", "\n\n", "\ufeff\r\n"])
def test_what_stands_before_the_headers_is_left_out(tmp_path: Path, before: str) -> None:
    write(tmp_path / "a.eml", f"{before}Subject: One\r\n\r\nText")
    write(tmp_path / "b.mbox", f"{before}From a@b Mon Jan 1 10:00:00 2024\n\nSubject: One\n\nText")
    assert [(each.title, each.text) for each in read(tmp_path)] == [("One", "Text")] * 2


@pytest.mark.parametrize(
    "line",
    ["a@b.org Mon Jan  1 10:00:00 2024", "- Mon Jan 01 10:00:00 2024",
     "a at b.org  Mon Jan  1 10:00:00 2024",
     "1@xxx Mon Jan 01 10:00:00 +0000 2024", "a@b.org Mon, 1 Jan 2024 10:00:00 +0100"],
)  # fmt: skip
def test_lines_with_an_address_and_a_date_divide_a_mailbox(tmp_path: Path, line: str) -> None:
    second = "Subject: two\n\nDear all,\n\nFrom the beginning on 5 May\n"
    write(tmp_path / "a.mbox", f"From {line}\nSubject: one\n\nalpha\n\nFrom {line}\n{second}")
    texts = [each.text for each in read(tmp_path)]
    assert texts == ["alpha", "Dear all,\n\nFrom the beginning on 5 May"]


NESTED = "".join(f"Content-Type: multipart/mixed; boundary=b{i}\n\n--b{i}\n" for i in range(99))


def test_a_message_that_fails_does_not_end_its_mailbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_for_some(message: Message) -> None:
        if message["subject"] == "unforeseen":
            raise LookupError("no such thing")

    monkeypatch.setattr(mail, "_date", fail_for_some)
    monkeypatch.setattr(mail, "_MOST_LINES", 5_000)
    bad = [NESTED, "Subject: unforeseen", "\nlines" * 5_000]
    messages = ["Subject: a\n\none", *bad, "Subject: b\n\nlast"]
    line = "From a@b Mon Jan 1 10:00:00 2024\n"
    write(tmp_path / "a.mbox", "".join(f"{line}{each}\n\n" for each in messages))
    assert [each.id for each in read(tmp_path, skip_bad=True)] == ["a.mbox#page=1", "a.mbox#page=5"]
    message = refused(tmp_path)
    assert "3 of 5 documents" in message
    assert "#page=4 (has more than 50,331,648 bytes or 5,000 lines)" in message
    write(tmp_path / "a.mbox", "From a\nSubject: a\n\n\xfe")
    assert [each.text for each in read(tmp_path)] == ["þ"]


@pytest.mark.parametrize("header", ["=?utf-8?q?a?= " * 9_000, "(" * 90_000, "=?a?q?" * 20_000])
def test_long_headers_are_cut(tmp_path: Path, header: str) -> None:
    parameters = "".join(f"; a*{number}=x" for number in range(9_000))
    kind = f"Content-Type: text/plain; charset=latin1{parameters}; name=late"
    write(tmp_path / "a.eml", f"Subject: {header}\nFrom: {header}\n{kind}\n\nText")
    (document,) = read(tmp_path, metadata="all")
    assert document.text == "Text"
    assert len(document.title) <= 1 << 16
    assert "attachments" not in document.metadata


def test_parts_of_too_many_parts_end_in_one_line(tmp_path: Path) -> None:
    write(tmp_path / "a.eml", NESTED)
    assert "a.eml (has more than 50 parts inside of each other)" in refused(tmp_path)
    write(tmp_path / "a.eml", "Subject: a\n\ntext", "utf-16")
    assert "a.eml (is in UTF-16; save it as it was sent)" in refused(tmp_path)
