"""Labels mean what browsers take them for, and every text is decoded somehow."""

import pytest

from ranklet.corpus.sources.charsets import decode, decode_page, find_codec


@pytest.mark.parametrize(
    ("label", "data", "text"),
    [("ISO-8859-1", b"Don\x92t \x80", "Don’t €"), (" latin1 ", b"\x93", "“"),
     ("us-ascii", b"caf\xe9", "café"), ("ansi_x3.4-1968", "café".encode(), "café"),
     ("gb2312", "镕喆".encode("gbk"), "镕喆"), ("gb_2312-80", "镕".encode("gbk"), "镕"),
     ("ks_c_5601-1987", "똠방".encode("cp949"), "똠방"), ("windows-949", b"\x8cc", "똠"),
     ("shift_jis", "髙①".encode("cp932"), "髙①"), ("x-sjis", "①".encode("cp932"), "①"),
     ("iso-2022-jp", b"\x1b$B-!F|K\\\x1b(I1\x1b(B a\n", "①日本ｱ a\n"),
     ("x-euc-jp", b"\xad\xa1\x8e\xb1", "①ｱ"), ("iso88599", b"\xdd\x80", "İ€"),
     ("iso-8859-8-i", b"\xf9", "ש"), ("tis-620", b"\xa1\x85", "ก…"), ("unicode", b"a\0", "a"),
     ("big5", "裏€".encode("cp950"), "裏€"), ("x-mac-cyrillic", b"\x80", "А"),
     ("utf-8", b"a\xff", "a\ufffd"), ("windows-1252", b"\x81", "\ufffd"),
     (None, b"\xff\xfea\0", "a"),
     ("nonsense", b"caf\xe9", "café"), ("\0", "é".encode(), "é"), ("punycode", b"a-b", "a-b")],
)  # fmt: skip
def test_a_text_is_decoded_by_its_label(label: str | None, data: bytes, text: str) -> None:
    assert decode(data, label) == text


def test_a_text_in_none_of_these_takes_the_other_encoding() -> None:
    assert decode(b"\xd0\xd2", None, "koi8-r") == "пр"
    assert decode("é".encode(), None, "koi8-r") == "é"
    assert decode(b"\xe9", None, "utf-8") == "é"


@pytest.mark.parametrize("label", ["zlib", "rot13", "idna", "unicode_escape", "a" * 99, "é", ""])
def test_what_is_no_encoding_of_texts_is_unknown(label: str) -> None:
    assert find_codec(label) is None


@pytest.mark.parametrize(
    ("page", "encoding"),
    [("é", "utf-8-sig"), ("<p>é", "utf-16"), ("<p>é", "utf-16-be"), ("é", "cp1252"),
     ('<?xml version="1.0" encoding="windows-1251"?><p>П', "cp1251"),
     ("<meta charset=koi8-r><p>П", "koi8-r"), ("<meta charset=utf-16><p>é", "utf-8"),
     ("<meta charset=cp1251><p>é", "utf-8"), ("<meta charset=iso-2022-jp>日", "iso-2022-jp")],
)  # fmt: skip
def test_a_page_is_decoded_by_what_it_says(page: str, encoding: str) -> None:
    assert decode_page(page.encode(encoding)) == page


def test_a_label_is_above_what_a_page_says() -> None:
    assert decode_page(b"<meta charset=koi8-r>\xe9", "latin1").endswith("é")
