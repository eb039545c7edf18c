import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.growth import grows_linearly

from ranklet.runtime.text import scripts
from ranklet.runtime.text.words import fold, placed_words, words

INVISIBLE = [
    *"\u00ad\u034f\u061c\u180b\u180e\u200c\u200d\u200e\u200f\u202a\u202e\u2060\u2066\u2069",
    *"\u3164\ufe0e\ufe0f\ufeff\U000e0041\U000e0100",
]
APOSTROPHES = "'’‘‛ʼʻʹʽʾʿ`´′‵＇ꞌ՚ߴ"
SIGNS = "aAbBzZ01é_.:/\\+#~,`'-@&( \n*"


@pytest.mark.parametrize("sign", INVISIBLE, ids=ascii)
def test_an_invisible_character_does_not_divide_a_word(sign: str) -> None:
    text = f"a coop{sign}eration"
    assert words(text) == scripts.split(text) == ["a", "cooperation"]
    assert list(placed_words(text))[1] == (2, len(text), "cooperation")


def test_a_zero_width_space_divides_words() -> None:
    assert words("one\u200btwo") == scripts.split("one\u200btwo") == ["one", "two"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Windows™ Ping℠ Acme® ©2024", ["windows", "ping", "acme", "2024"]),
        ("5㎒ 20℃ ½", ["5", "mhz", "20", "c", "1", "2", "1/2"]),
        ("1½ cups", ["1", "1", "2", "1/2", "cups"]),
        ("①first ❶second Ⓐ", ["1", "first", "1", "second", "a"]),
        ("H₂O x² m² 10⁻³ nº", ["h2o", "x2", "m2", "10", "3", "10-3", "no"]),
        ("℡555", ["tel", "555"]),
        ("٣ apples", ["3", "apples"]),
    ],
)
def test_a_symbol_is_no_part_of_the_word_next_to_it(text: str, expected: list[str]) -> None:
    assert words(text) == scripts.split(text) == expected


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        ("Łódź", "lodz"), ("Øresund", "oresund"), ("Đorđe", "dorde"), ("Ħal", "hal"),
        ("ŧ", "t"), ("ISPARTAı", "ispartai"), ("Œuvre", "oeuvre"), ("ÆON", "aeon"),
        ("Þór", "thor"), ("ðe", "de"), ("ŋ", "n"), ("ƒ", "f"), ("Ɓala", "bala"), ("ɗan", "dan"),
        ("Straße", "strasse"), ("STRAẞE", "strasse"), ("Əli", "eli"), ("ɛɔ", "eo"),
        ("ȷ", "j"), ("ᵹ", "g"), ("ɡ", "g"), ("ﬁǆ", "fidz"),
    ],
)  # fmt: skip
def test_letters_of_latin_script_are_spelled_as_people_type_them(written: str, typed: str) -> None:
    assert words(written) == scripts.split(written) == [typed]


@pytest.mark.parametrize("sign", APOSTROPHES)
def test_every_apostrophe_is_the_same(sign: str) -> None:
    assert words(f"o{sign}neill python{sign}s dogs{sign}") == ["o'neill", "python", "dogs"]
    assert scripts.split(f"l{sign}homme é") == ["homme", "e"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C++", ["c", "c++"]),
        ("C#, F#.", ["c", "c#", "f", "f#"]),
        ("C++17", ["c", "c++", "17", "c++17"]),
        ("g++/C#", ["g", "g++", "c", "c#", "g++/c#"]),
        ("(.NET)", ["net", ".net"]),
        ("2.13.0", ["2", "13", "0", "2.13.0"]),
        ("2024-05-01 12:30", ["2024", "05", "01", "2024-05-01", "12", "30", "12:30"]),
        ("COVID-19 COVID‑19", ["covid", "19", "covid-19"] * 2),
        ("user@example.com", ["user", "example", "com", "user@example.com"]),
        ("AT&T's", ["at", "t", "at&t"]),
        ("I/O x-ray", ["i", "o", "i/o", "x", "ray"]),
        ("v1.2 v2-3", ["v1", "2", "1.2", "v2", "3", "2-3"]),
        ("std::vector", ["std", "vector", "std::vector"]),
        ("fe80::1", ["fe80", "1", "fe80::1"]),
        ("https://a.org/b", ["https", "a", "org", "b", "https://a.org/b"]),
        ("C:\\Users", ["c", "users", "c:\\users"]),
        ("/etc/passwd", ["etc", "passwd", "/etc/passwd"]),
        ("1.2~rc1-3+b1", ["1", "2", "rc1", "3", "b1", "1.2~rc1-3+b1"]),
        ("1,000 a,b", ["1", "000", "1,000", "a", "b"]),
        ("well-known and/or TCP/IP", ["well", "known", "and", "or", "tcp", "ip"]),
        ("The end. So... it-is--over!", ["the", "end", "so", "it", "is", "over"]),
        ("x." * 40 + "x", ["x"] * 41),
        ("Ｃ＋＋", ["c", "c++"]),
    ],
)
def test_a_word_with_signs_follows_its_parts(text: str, expected: list[str]) -> None:
    assert [word.lower() for word in words(text)] == scripts.split(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserName", ["get", "user", "name", "getusername"]),
        ("HTMLParser", ["html", "parser", "htmlparser"]),
        ("parseUTF8String", ["parse", "utf8", "string", "parseutf8string"]),
        ("iPhone mRNA", ["phone", "iphone", "rna", "mrna"]),
        ("PCs MHz H2O B2B", ["pcs", "mhz", "h2o", "b2b"]),
        ("Łódź ŒUVRE Þór STRAßE", ["lodz", "oeuvre", "thor", "strasse"]),
        ("XRay java\u00adScript", ["ray", "xray", "java", "script", "javascript"]),
    ],
)
def test_a_name_in_camel_case_follows_its_parts(text: str, expected: list[str]) -> None:
    assert words(text) == scripts.split(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pizza🍕🍕", ["pizza", "🍕", "🍕"]),
        ("👍🏽", ["👍", "👍🏽"]),
        ("👩🏽\u200d💻", ["👩", "💻", "👩🏽\u200d💻"]),
        ("❤\ufe0f ✅", ["❤", "✅"]),
        ("🇩🇪🇫🇷", ["🇩🇪", "🇫🇷"]),
        ("1\ufe0f\u20e3", ["1", "1\u20e3"]),
        ("→ € %", []),
    ],
)
def test_an_emoji_is_a_word(text: str, expected: list[str]) -> None:
    assert words(text) == scripts.split(text) == expected


def test_a_whole_has_the_place_of_its_run() -> None:
    text = "(C++) ﬁx os.pa\u00adth"
    found = [(text[begin:end], word) for begin, end, word in placed_words(text)]
    assert found == [
        ("C", "c"), ("C++", "c++"), ("ﬁx", "fix"), ("os", "os"), ("pa\u00adth", "path"),
        ("os.pa\u00adth", "os.path"),
    ]  # fmt: skip


@given(st.text(SIGNS))
def test_the_faster_way_of_ascii_gives_the_same_words(text: str) -> None:
    assert words(text) == [word for _, _, word in placed_words(text)]
    assert words(text + " é") == [*words(text), "e"]
    assert scripts.split(text) == [word for _, _, word in scripts.splitter().placed(text)]


@given(st.text(string.printable + "éﬁ½™🍕日"))
def test_a_word_never_has_a_space(text: str) -> None:
    assert all(word and not any(map(str.isspace, word)) for word in words(text))


def test_folding_changes_no_folded_character() -> None:
    for code in range(0x3000):
        assert fold(fold(chr(code))) == fold(chr(code)), unicodedata.name(chr(code), hex(code))


@pytest.mark.parametrize("text", ["a_" * 200, "a.+" * 200, "é+" * 200, "👍\u200d" * 200])
def test_the_time_grows_with_the_length_of_a_text_and_not_with_its_square(text: str) -> None:
    assert grows_linearly(words, text)
