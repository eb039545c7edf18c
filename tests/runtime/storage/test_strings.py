import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.storage.strings import CompressedStrings, SortedStrings, Strings

UTF8 = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(UTF8))
def test_packed_strings_read_back(strings: list[str]) -> None:
    packed = Strings.pack(strings)
    assert len(packed) == len(strings)
    assert list(packed) == strings
    assert [packed.raw(at) for at in range(len(packed))] == [each.encode() for each in strings]


@given(st.sets(UTF8), UTF8)
def test_sorted_strings_are_found_and_no_others(strings: set[str], other: str) -> None:
    ordered = sorted(strings, key=str.encode)
    packed = SortedStrings.pack(ordered)
    for _ in range(2):  # the second time from the cache
        assert [packed.find(each) for each in ordered] == list(range(len(ordered)))
        assert packed.find(other) == (ordered.index(other) if other in strings else -1)


def test_order_is_that_of_bytes_not_of_utf16() -> None:
    packed = SortedStrings.pack(["a", "é", "\uffff", "\U00010000"])
    assert [packed.find(each) for each in ("\uffff", "\U00010000", "é", "ê")] == [2, 3, 1, -1]


def test_a_lone_surrogate_is_packed_as_a_question_mark_and_never_found() -> None:
    packed = SortedStrings.pack(["a\ud800"])
    assert packed[0] == "a?"
    assert packed.find("a\ud800") == -1


def compressed(string: bytes, dictionary: bytes = b"") -> bytes:
    stream = zlib.compressobj(wbits=-15, zdict=dictionary)
    return stream.compress(string) + stream.flush()


def of_streams(*streams: bytes, dictionary: bytes = b"") -> CompressedStrings:
    offsets = np.cumsum([0, *map(len, streams)])
    return CompressedStrings(np.frombuffer(b"".join(streams), np.uint8), offsets, dictionary)


HELLO = compressed(b"hello, hello, hello")


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (b"", "cut short"),
        (HELLO[:-2], "cut short"),
        (HELLO + b"x", "more follows"),
        (HELLO + HELLO, "more follows"),
        (b"\xff" * 9, "cannot be inflated"),
        (compressed(b"hello", b"hello"), "cannot be inflated"),  # with another dictionary
        (compressed(b"x" * 10_000_000), "too long"),
    ],
)
def test_a_damaged_stream_is_damage(stream: bytes, message: str) -> None:
    found = of_streams(HELLO, stream)
    assert found[0] == "hello, hello, hello"
    for read in (lambda: found[1], found.every_raw):
        with pytest.raises(BundleError, match=f"string 1 .*{message}"):
            read()


def test_bytes_that_are_not_utf8_are_damage() -> None:
    broken = Strings(np.array([0xFF], np.uint8), np.array([0, 1]))
    with pytest.raises(BundleError, match=r"string 0 .* not UTF-8"):
        broken[0]
