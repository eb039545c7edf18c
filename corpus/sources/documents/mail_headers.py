"""Read headers of mail: words and parameters in any encoding (RFC 2047, RFC 2231)."""

import binascii
import re
from email.message import Message
from email.policy import Compat32
from typing import Any

from ranklet.corpus.sources.charsets import decode

_LONGEST, _MOST_PARAMETERS = 1 << 16, 1_000  # because reading them takes quadratic time
_WORD = re.compile(r"=\?([^?\s]{1,80})\?([bBqQ])\?")  # begins an encoded word


class HeaderPolicy(Compat32):
    """Headers as they are, but not longer than any honest one."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        """Return a header's name and value as they are in the message, cut."""
        name, value = super().header_source_parse(sourcelines)
        if name.lower().startswith("content-"):
            value = ";".join(value.split(";", _MOST_PARAMETERS)[:_MOST_PARAMETERS])
        return name, value[:_LONGEST]

    def header_fetch_parse(self, name: str, value: str) -> str:  # noqa: ARG002 (it is inherited)
        """Return the value as it is, because `read_header` decodes it."""
        return value


def read_parameter(part: Message, name: str, header: str = "content-type") -> str:
    """Return a parameter of a header, which may be encoded in two ways; "" for none."""
    try:
        given: list[tuple[str, Any]] = part.get_params([], header)
    except (TypeError, ValueError):  # for parameters in an order that nobody can tell
        given = []
    values = [value for each, value in given if each.lower() == name]
    # A program that writes both forms has the second one for letters that the first one has not.
    for value in values:
        if isinstance(value, tuple):  # RFC 2231: encoding, language and bytes
            label, _, text = value
            return " ".join(decode(text.encode("latin-1", "surrogateescape"), label).split())
    return read_header(values[0]) if values else ""


def read_header(value: str | None, charset: str | None = None) -> str:
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
