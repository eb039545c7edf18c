"""Read mail: .eml and .mbox (RFC 5322, RFC 4155)."""

from collections.abc import Iterator
from datetime import datetime
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from email.policy import Compat32
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from ranklet.corpus.sources.documents.part import Part, Parts
from ranklet.corpus.sources.html import read_page
from ranklet.runtime.errors import CollectionError

_MOST = 3 << 24  # bytes of a message with all that is attached to it


class _Policy(Compat32):
    """Headers as they are, because the newer policy takes gigabytes for some."""

    def header_fetch_parse(self, name: str, value: str) -> str:  # noqa: ARG002 (it is inherited)
        return value


def read_message(path: Path) -> Parts:
    """Yield the message of an .eml file, whose attachments are only named."""
    with path.open("rb") as file:
        data = file.read(_MOST + 1)
    _check(len(data), path)
    yield _part(data)


def read_mailbox(path: Path) -> Parts:
    """Yield the messages of an .mbox file in their order."""
    for page, data in enumerate(_messages(path), 1):
        yield _part(data, page)


def _messages(path: Path) -> Iterator[bytes]:
    """Yield the messages, before each of which stands a line that begins with "From "."""
    lines, size, blank = list[bytes](), 0, True
    with path.open("rb") as file:
        while line := file.readline(_MOST):
            if blank and line.startswith(b"From "):
                if lines:
                    yield b"".join(lines)
                lines, size = [], 0
            else:
                lines.append(line)
                size += len(line)
                _check(size, path)
            blank = not line.strip()
    if lines:
        yield b"".join(lines)


def _check(size: int, path: Path) -> None:
    if size > _MOST:
        raise CollectionError(f"{path} has a message of more than {_MOST:,} bytes")


def _part(data: bytes, page: int = 0) -> Part:
    message = message_from_bytes(data, policy=_Policy())
    texts, names = list[str](), list[str]()
    for part in _leaves(message):
        if _is_attached(part):
            names.append(_decode(part.get_filename() or part.get_content_type()))
        elif part.get_content_maintype() == "text":
            texts.append(_text(part))
    fields = {"from": _decode(message["from"]), "date": _date(message), "attachments": names}
    return Part(
        _decode(message["subject"]),
        "\n\n".join(filter(None, texts)),
        page,
        {name: value for name, value in fields.items() if value},
    )


def _is_attached(part: Message) -> bool:
    return bool(part.get_filename()) or part.get_content_disposition() == "attachment"


def _leaves(message: Message) -> Iterator[Message]:
    """Yield the parts of a message that have none, of alternatives the plain one."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        inside: Any = part.get_payload() if part.is_multipart() else []
        if not inside or _is_attached(part):
            yield part
        elif part.get_content_type() == "multipart/alternative":
            plain = [each for each in inside if each.get_content_type() == "text/plain"]
            waiting.append(next((each for each in plain if _text(each)), inside[-1]))
        else:
            waiting.extend(reversed(inside))


def _text(part: Message) -> str:
    data: Any = part.get_payload(decode=True) or b""
    try:
        text = data.decode(part.get_content_charset("utf-8"), "replace")
    except LookupError:  # an encoding that Python does not know
        text = data.decode("utf-8", "replace")
    if part.get_content_subtype() == "html":
        return read_page(text).text
    return str(text).replace("\r\n", "\n").strip()


def _date(message: Message) -> datetime | None:
    try:
        return parsedate_to_datetime(str(message["date"]))
    except (ValueError, TypeError, OverflowError):
        return None


def _decode(value: str | None) -> str:
    """Return the words of a header, which may be encoded, or in UTF-8 as it is."""
    raw = (value or "").encode("ascii", "surrogateescape").decode("utf-8", "replace")
    try:
        text = str(make_header(decode_header(raw)))
    except (LookupError, ValueError, HeaderParseError):
        text = raw
    return " ".join(text.split())
