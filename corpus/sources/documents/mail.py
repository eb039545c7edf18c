"""Read mail: .eml and .mbox (RFC 5322, MIME by RFC 2045 to 2049, RFC 4155)."""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from email.message import Message
from email.parser import BytesFeedParser
from email.utils import parsedate, parsedate_to_datetime
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from ranklet.corpus.collections.bounds import LONGEST
from ranklet.corpus.sources.charsets import decode, decode_page
from ranklet.corpus.sources.documents.mail_headers import HeaderPolicy, read_header, read_parameter
from ranklet.corpus.sources.documents.part import Part, Parts
from ranklet.corpus.sources.html import read_page
from ranklet.runtime.ground.errors import CollectionError

# Bytes and ends of lines of a message with all that is attached to it.
_MOST, _MOST_LINES = 3 << 24, 2_000_000
_DEEPEST = 50  # parts inside of each other, because each line is compared with all their marks
_BATCH = 1 << 16  # bytes that are read at once
_SEPARATOR = re.compile(rb"From (?:\S+ at \S+|\S+) +(.*)")  # mailing lists hide the "@"
_PLAIN, _HTML = "text/plain", ("text/html", "text/enriched", "text/richtext")
_READ = (_PLAIN, *_HTML, "text/calendar", "message/rfc822")  # though they have a name
_EVENT = re.compile(  # a line of iCalendar (RFC 5545) that people read
    r"""^(?:SUMMARY|LOCATION|DESCRIPTION)(?:;(?:[^":\n]|"[^"\n]*")*)?:(.*)""", re.MULTILINE
)


class _Message(Message):
    """A message or a part of one, which knows how many are around it."""

    depth = 0

    def attach(self, payload: Any) -> None:
        payload.depth = self.depth + 1
        if payload.depth > _DEEPEST:
            raise CollectionError(f"has more than {_DEEPEST} parts inside of each other")
        super().attach(payload)


def read_message(path: Path) -> Parts:
    """Yield the message of an .eml file, whose attachments are only named."""
    with path.open("rb") as file:
        try:
            part = _part(_lines(file))
        except CollectionError as error:
            raise CollectionError(f"{path} {error}") from None
        yield part


def read_mailbox(path: Path) -> Parts:
    """Yield the messages of an .mbox file in their order; one that fails does not end it."""
    with path.open("rb") as file:
        for page, lines in groupby(_number(file), itemgetter(0)):
            try:
                part = _part((line for _, line in lines), page)
            except (OSError, MemoryError):
                raise
            except CollectionError as error:
                part = Part("", "", page, fault=str(error))
            except Exception as error:
                part = Part("", "", page, fault=f"is damaged ({type(error).__name__}: {error})")
            yield part


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    return iter(partial(file.readline, LONGEST + 1), b"")


def _number(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a mailbox with the number of their message.

    The line before a message stands behind an empty one and has an address and a date, because many
    programs leave a paragraph that begins with "From " as it is. It has no date only if the first
    one of the file has none.
    """
    page, inside, blank, dated = 1, False, True, None
    for line in _lines(file):
        line = line.removeprefix(BOM_UTF8) if dated is None else line
        if blank and line.startswith(b"From ") and (not dated or _is_dated(line)):
            page, inside = page + inside, False
            dated = _is_dated(line) if dated is None else dated
        elif inside or line.strip():
            inside = True
            yield page, line
        blank = not line.strip()


def _is_dated(line: bytes) -> bool:
    found = _SEPARATOR.match(line[:1_000])
    return found is not None and parsedate(found[1].decode("latin-1")) is not None


def _part(lines: Iterable[bytes], page: int = 0) -> Part:
    parser = BytesFeedParser(_Message, policy=HeaderPolicy())
    size = count = 0
    batch = bytearray()
    for line in lines:
        # Some programs write a byte order mark or an empty line before the first header.
        line = line if size else line.removeprefix(BOM_UTF8).lstrip(b"\r\n")
        if not size and line.startswith((BOM_UTF16_BE, BOM_UTF16_LE)):
            raise CollectionError("is in UTF-16; save it as it was sent")
        size += len(line)
        count += 1 + line.count(b"\r")
        if size > _MOST or count > _MOST_LINES or len(line) > LONGEST:
            raise CollectionError(f"has more than {_MOST:,} bytes or {_MOST_LINES:,} lines")
        batch += line
        if len(batch) > _BATCH:
            parser.feed(batch)
            batch.clear()
    parser.feed(batch)
    message = parser.close()
    text = "\n\n".join(filter(None, _texts(message)))
    if len(text) > LONGEST:
        raise CollectionError(f"has more than {LONGEST:,} characters in one message")
    charset = next(filter(None, (read_parameter(each, "charset") for each in message.walk())), None)
    fields: Mapping[str, Any] = {
        "from": read_header(message["from"], charset),
        "date": _date(message),
        "attachments": list(_attachments(message)),
    }
    title = read_header(message["subject"], charset)
    return Part(title, text, page, {name: value for name, value in fields.items() if value})


def _texts(part: Message) -> list[str]:
    """Return the texts that readers see in a part; of alternatives the plain or the best one."""
    kind, inside = part.get_content_type(), _inside(part)
    if _is_attached(part):
        return []
    if kind == "multipart/alternative" and inside:
        best = sorted(inside, key=_preference)
        return next((texts for texts in map(_texts, best) if any(texts)), [])
    if kind == "message/rfc822":  # its subject is shown where it is forwarded
        return [text for each in inside for text in (read_header(each["subject"]), *_texts(each))]
    return [text for each in inside for text in _texts(each)] if inside else [_text(part)]


def _preference(part: Message) -> int:
    kind = part.get_content_type()
    return 0 if kind == _PLAIN else 1 if kind in _HTML or part.is_multipart() else 2


def _inside(part: Message) -> list[Message]:
    payload: Any = part.get_payload() if part.is_multipart() else []
    return list(payload)


def _is_attached(part: Message) -> bool:
    """Return whether a part is only named: what is no text, or is to be stored as a file."""
    if part.get_content_disposition() == "attachment":
        return True
    group = part.get_content_maintype()
    if part.get_content_type() in _READ or group == "multipart":
        return False
    return bool(_file_name(part)) or group not in ("text", "message")


def _attachments(part: Message, around: str = "") -> Iterator[str]:
    """Yield the names of what is attached, but not of the pictures that a page shows."""
    kind = part.get_content_type()
    attached = _is_attached(part)
    shown = around == "multipart/related" and part.get_content_maintype() == "image"
    if attached and (not shown or part.get_content_disposition() == "attachment"):
        subject = read_header(_inside(part)[0]["subject"]) if part.is_multipart() else ""
        yield _file_name(part) or subject or read_header(kind)
    elif not attached:
        yield from filter(None, [_file_name(part)])
        for each in _inside(part):
            yield from _attachments(each, kind)


def _text(part: Message) -> str:
    data: Any = part.get_payload(decode=True) or b""
    if len(data) > LONGEST:
        raise CollectionError(f"has more than {LONGEST:,} bytes in one text")
    kind, label = part.get_content_type(), read_parameter(part, "charset")
    if kind in _HTML:
        return read_page(decode_page(data, label)).text
    text = decode(data, label).replace("\r\n", "\n")
    if kind == "text/calendar":
        events = _EVENT.findall(re.sub(r"\n[ \t]", "", text))
        text = re.sub(r"\\([nN,;\\])", _unescape, "\n".join(events))
    if read_parameter(part, "delsp").lower() == "yes":
        text = _join_lines(text)
    return text.strip()


def _unescape(found: re.Match[str]) -> str:
    return "\n" if found[1] in "nN" else found[1]


def _join_lines(text: str) -> str:
    """Join lines that were divided inside of words (format=flowed; DelSp=yes, RFC 3676)."""
    pieces, before = list[str](), None
    for line in text.split("\n"):
        quote = len(line) - len(line.lstrip(">"))
        words = line[quote:].removeprefix(" ")  # one is stuffed
        divided = words.endswith(" ") and words != "-- "  # which is of a signature
        begin = "" if quote == before else f"\n{line[:quote]}{' ' * bool(quote)}"
        pieces.append(begin + words[: -1 if divided else None])
        before = quote if divided else None
    return "".join(pieces)


def _date(message: Message) -> datetime | None:
    try:
        return parsedate_to_datetime(str(message["date"]))
    except (ValueError, TypeError, OverflowError):
        return None


def _file_name(part: Message) -> str:
    return read_parameter(part, "filename", "content-disposition") or read_parameter(part, "name")
