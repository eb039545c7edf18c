"""Decode texts by the labels that pages, books and mail give, as browsers take them.

The labels and what they mean are those of https://encoding.spec.whatwg.org. It reads most of them
as the wider encodings of Windows, because that is what programs have written under these names.
"""

import codecs
import re
from functools import lru_cache

# Names that Python has not, behind the encoding's own one.
_LABELS = {
    label: name
    for name, *labels in map(
        str.split,
        (
            "utf-8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8",
            "utf-16 csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff",
            "utf-16-be unicodefffe",
            "iso8859-7 sun_eu_greek",
            "iso8859-8 logical visual",
            "iso8859-15 csisolatin9",
            "koi8-r koi koi8",
            "koi8-u koi8-ru",
            "mac-roman csmacintosh mac",
            "mac-cyrillic mac-ukrainian",
            "gb18030 csgb2312 gb_2312 gb_2312-80",
            "big5hkscs cn-big5 x-big5",
            "euc_jp cseucpkdfmtjapanese",
            "cp932 windows-31j",
            "cp949 cseuckr csksc56011987 iso-ir-149 ks_c_5601-1989 ksc_5601",
        ),
    )
    for label in labels
}
_WIDER = {  # by Python's names
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874",
    "tis-620": "cp874", "gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs",
    "shift_jis": "cp932", "euc_kr": "cp949",
}  # fmt: skip
_LABEL = re.compile(r"[\w.:-]{1,40}", re.ASCII)
_ISO = re.compile(r"(?:cs)?iso[-_]?8859[-_]?(\d+)(?:[-_]?[ei]|:\d+)?")
_PAGE = re.compile(r"(?:windows|dos|(?:cs)?ibm)-?(\d+)")  # a code page
# Python has codecs that are no encodings of texts, and some of them take quadratic time.
_ENCODINGS = re.compile(r"ascii|utf|iso|cp\d|koi8|mac|gb|big5|euc|shift|johab|hz|tis|kz|ptcp|hp")

_DECLARED = re.compile(
    r"""<(?:meta\s[^>]{0,500}?charset|\?xml\s[^>]{0,100}?encoding)\s{0,9}=\s{0,9}["']?\s{0,9}([\w:.-]{1,40})""",
    re.IGNORECASE,
)
_HEAD = 1 << 12  # characters in which a page says its encoding
_MARKS = (  # that begin a text, or XML without a byte order mark
    (codecs.BOM_UTF8, "utf-8-sig"), (b"\xff\xfe", "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
    (b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"),
)  # fmt: skip

_ESCAPE = re.compile(rb"\x1b(\$[@B]|\([BIJ])")
_HIGH = bytes(code | 0x80 if 0x20 < code < 0x7F else code for code in range(256))
_EUC = re.compile(rb"\x8e([\xa1-\xdf])|([\xa1-\xfe])([\xa1-\xfe])")


def find_codec(label: str | None) -> str | None:
    """Return Python's name of the encoding that a label means, or None for an unknown one.

    >>> [find_codec(each) for each in ("Latin1", "gb2312", "x-sjis", "iso-8859-8-i", "zlib")]
    ['cp1252', 'gb18030', 'cp932', 'iso8859-8', None]
    """
    found = _look_up(label)
    return _WIDER.get(found, found) if found else None


@lru_cache(maxsize=64)
def _look_up(label: str | None) -> str | None:
    """Return Python's name of just the encoding that a label says."""
    name = (label or "").strip().lower().removeprefix("x-")
    if not _LABEL.fullmatch(name):
        return None
    name = _LABELS.get(name) or _PAGE.sub(r"cp\1", _ISO.sub(r"iso8859-\1", name))
    try:
        found = codecs.lookup(name).name
    except LookupError:
        return None
    return found if _ENCODINGS.match(found) else None


def decode(data: bytes, label: str | None = None, otherwise: str | None = None) -> str:
    r"""Return a text as its byte order mark, its label or else its bytes say.

    Without a label, or with that of ASCII, it is UTF-8 or else `otherwise`. What cannot be decoded
    becomes U+FFFD.

    >>> decode(b"\x80 5", "iso-8859-1"), decode(b"caf\xc3\xa9"), decode(b"caf\xe9", "us-ascii")
    ('€ 5', 'café', 'café')
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data.decode(name, "replace")
    codec = find_codec(label)
    if codec is None or _look_up(label) == "ascii":
        try:
            return data.decode()
        except UnicodeDecodeError:
            codec = find_codec(otherwise)
            codec = "cp1252" if codec in (None, "utf-8") else codec
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        if codec in ("euc_jp", "iso2022_jp"):
            data, codec = _as_shift_jis(data), "cp932"
        return data.decode("cp950" if codec == "big5hkscs" else codec, "replace")


def decode_page(data: bytes, label: str | None = None) -> str:
    """Return a page of HTML as its label says, or else its bytes or its own declaration."""
    if find_codec(label) is None:
        head = data[:_HEAD].decode("latin-1")
        try:
            data.decode()
            label = _declared(head) if "\x1b" in head else "utf-8"
        except UnicodeDecodeError:
            label = _declared(head)
    return decode(data, label)


def find_declared_encoding(text: str, encoding: str) -> str:
    """Return a page as its own declaration says, if it is not in the encoding that was tried.

    Args:
        text: the page, in which bytes that could not be decoded are lone surrogates.
        encoding: the one that was tried.
    """
    try:
        text.encode()
        if "\x1b" not in text:  # of ISO-2022-JP, whose bytes are ASCII
            return text
    except UnicodeEncodeError:
        pass
    name = _declared(text)
    if name is None:
        return text
    try:
        return text.encode(encoding, "surrogateescape").decode(name, "surrogateescape")
    except ValueError:
        return text


def _declared(text: str) -> str | None:
    """Return the encoding that a page declares; it cannot be UTF-16, because it could be read."""
    found = _DECLARED.search(text, 0, _HEAD)
    name = find_codec(found[1]) if found else None
    return None if name is None or name.startswith("utf-16") else name


def _as_shift_jis(data: bytes) -> bytes:
    """Return EUC-JP or ISO-2022-JP in the wider encoding of Windows, which has a codec.

    Both write a character of JIS X 0208 by its row and cell, and so does Shift_JIS, with two rows
    for each first byte. Windows has added rows to it, which Python's stricter codecs refuse.
    """
    pieces = _ESCAPE.split(data)  # texts and, in between, what switches to another set
    for at in range(1, len(pieces), 2):
        if pieces[at] in (b"$@", b"$B", b"(I"):
            pieces[at + 1] = pieces[at + 1].translate(_HIGH)
        if pieces[at] == b"(I":
            pieces[at + 1] = re.sub(rb"([\xa1-\xdf])", b"\x8e\\1", pieces[at + 1])
    return _EUC.sub(_pair, b"".join(pieces[::2]))


def _pair(found: re.Match[bytes]) -> bytes:
    if found[1]:
        return found[1]  # half of a width
    row, cell = found[2][0] - 0xA1, found[3][0] - 0xA1
    first = row // 2 + (0x81 if row < 62 else 0xC1)
    second = cell + (0x9F if row % 2 else 0x40 + (cell >= 63))
    return bytes((first, second))
