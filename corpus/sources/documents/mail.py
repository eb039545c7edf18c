"""Read mail: .eml and .mbox (RFC 5322, MIME by RFC 2045 to 2049, RFC 4155)."""

import binascii
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from email.message import Message
from email.parser import BytesFeedParser
from email.policy import Compat32
from email.utils import parsedate, parsedate_to_datetime
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from ranklet.corpus.collections.opening import LONGEST
from ranklet.corpus.sources.charsets import decode, decode_page
from ranklet.corpus.sources.documents.part import Part, Parts
from ranklet.corpus.sources.html import read_page
from ranklet.runtime.errors import CollectionError

# Bytes and ends of lines of a message with all that is attached to it.
_MOST, _MOST_LINES = 2 * LONGEST, 2_000_000
# Reading a header takes quadratic time, and each line is compared with all marks around it.
_LONGEST_HEADER, _MOST_PARAMETERS, _DEEPEST = 1 << 16, 1_000, 50
_BATCH = 1 << 16  # bytes that are read at once
_SEPARATOR = re.compile(rb"From (?:\S+ at \S+|\S+) +(.*)")  # mailing lists hide the "@"
_WORD = re.compile(r"=\?([^?\s]{1,80})\?([bBqQ])\?")  # begins an encoded word (RFC 2047)
_PLAIN, _HTML = "text/plain", ("text/html", "text/enriched", "text/richtext")
_READ = (_PLAIN, *_HTML, "text/calendar", "message/rfc822")  # though they have a name
_EVENT = re.compile(  # a line of iCalendar (RFC 5545) that people read
    r"""^(?:SUMMARY|LOCATION|DESCRIPTION)(?:;(?:[^":\n]|"[^"\n]*")*)?:(.*)""", re.MULTILINE
)


class _Policy(Compat32):
    """Headers as they are, but not longer than any honest one."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        if name.lower().startswith("content-"):
            value = ";".join(value.split(";", _MOST_PARAMETERS)[:_MOST_PARAMETERS])
        return name, value[:_LONGEST_HEADER]

    def header_fetch_parse(self, name: str, value: str) -> str:  # noqa: ARG002 (it is inherited)
        return value


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
    parser = BytesFeedParser(_Message, policy=_Policy())
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
    charset = next(filter(None, (_parameter(each, "charset") for each in message.walk())), None)
    fields: Mapping[str, Any] = {
        "from": _header(message["from"], charset),
        "date": _date(message),
        "attachments": list(_attachments(message)),
    }
    title = _header(message["subject"], charset)
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
        return [text for each in inside for text in (_header(each["subject"]), *_texts(each))]
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
    if part.get_content_type() in _READ:
        return False
    group = part.get_content_maintype()
    return bool(_file_name(part)) or group not in ("text", "multipart", "message")


def _attachments(part: Message, around: str = "") -> Iterator[str]:
    """Yield the names of what is attached, but not of the pictures that a page shows."""
    kind = part.get_content_type()
    attached = _is_attached(part)
    shown = around == "multipart/related" and part.get_content_maintype() == "image"
    if attached and (not shown or part.get_content_disposition() == "attachment"):
        subject = _header(_inside(part)[0]["subject"]) if part.is_multipart() else ""
        yield _file_name(part) or subject or _header(kind)
    elif not attached:
        yield from filter(None, [_file_name(part)])
        for each in _inside(part):
            yield from _attachments(each, kind)


def _text(part: Message) -> str:
    data: Any = part.get_payload(decode=True) or b""
    kind, label = part.get_content_type(), _parameter(part, "charset")
    if kind in _HTML:
        return read_page(decode_page(data, label)).text
    text = decode(data, label).replace("\r\n", "\n")
    if kind == "text/calendar":
        events = _EVENT.findall(re.sub(r"\n[ \t]", "", text))
        text = re.sub(r"\\([nN,;\\])", _unescape, "\n".join(events))
    if _parameter(part, "delsp").lower() == "yes":
        text = _join_lines(text)
    return text.strip()


def _unescape(found: re.Match[str]) -> str:
    return "\n" if found[1] in "nN" else found[1]


def _join_lines(text: str) -> str:
    """Join lines that were divided inside of words (format=flowed; DelSp=yes, RFC 3676)."""
    lines, before = list[str](), None
    for line in text.split("\n"):
        quote = len(line) - len(line.lstrip(">"))
        words = line[quote:].removeprefix(" ")  # one is stuffed
        if quote == before:
            lines[-1] += words  # whose space was left out
        else:
            lines.append(line[:quote] + " " * bool(quote) + words)
        before = None
        if words.endswith(" ") and words != "-- ":  # of a signature
            lines[-1], before = lines[-1][:-1], quote
    return "\n".join(lines)


def _date(message: Message) -> datetime | None:
    try:
        return parsedate_to_datetime(str(message["date"]))
    except (ValueError, TypeError, OverflowError):
        return None


def _file_name(part: Message) -> str:
    return _parameter(part, "filename", "content-disposition") or _parameter(part, "name")


def _parameter(part: Message, name: str, header: str = "content-type") -> str:
    """Return a parameter of a header, which may be encoded in two ways; "" for none."""
    value: Any = part.get_param(name, header=header)
    if isinstance(value, tuple):  # RFC 2231: encoding, language and bytes
        label, _, text = value
        value = decode(text.encode("latin-1", "surrogateescape"), label)
        return " ".join(value.split())
    return _header(value)


def _header(value: str | None, charset: str | None = None) -> str:
    """Return the words of a header, which may be encoded (RFC 2047), or bytes as they are.

    Args:
        value: the header, in which bytes that are no ASCII are lone surrogates.
        charset: the encoding of such bytes, if they are not in UTF-8.
    """
    value = value or ""
    if value.isascii() and "=?" not in value:
        return " ".join(value.split())
    text = decode(value.encode("ascii", "surrogateescape"), None, charset)
    # Neighbours in one encoding are joined before they are decoded, because programs divide
    # characters between them.
    runs, at = [("utf-8", b"")], 0
    while (begin := _WORD.search(text, at)) and (end := text.find("?=", begin.end())) >= 0:
        between = text[at : begin.start()]
        label = begin[1].partition("*")[0].lower()  # before the language
        pieces = [(label, _bytes(begin[2], text[begin.end() : end]))]
        if between.strip() or not at:
            pieces.insert(0, ("utf-8", between.encode()))
        for name, data in pieces:
            if name == runs[-1][0]:
                data = runs.pop()[1] + data
            runs.append((name, data))
        at = end + 2
    words = "".join(decode(data, label) for label, data in runs)
    return " ".join(f"{words}{text[at:]}".split())


def _bytes(encoding: str, word: str) -> bytes:
    """Return what an encoded word stands for, as far as it is one."""
    data = word.encode()
    if encoding in "qQ":
        return binascii.a2b_qp(data, header=True)
    data = re.sub(rb"[^A-Za-z0-9+/]", b"", data)
    data = data[:-1] if len(data) % 4 == 1 else data
    return binascii.a2b_base64(data + b"=" * (-len(data) % 4))
