import pytest

from ranklet.corpus.indexing.compressing import compressed, make_dictionary
from ranklet.runtime.storage.strings import MOST_DICTIONARY, Strings


def ids(count: int) -> list[str]:
    return [f"id{n}" for n in range(count)]


def texts(count: int) -> list[str]:
    return [f"The {n}th river is wide. Boats cross it, é. " * 9 for n in range(count)]


@pytest.mark.parametrize("count", [0, 1, 300])
def test_compressed_strings_read_back(count: int) -> None:
    """Also empty ones, and one that inflates to more than a reader allows of a hostile one."""
    for strings in (texts(count), ["", "x" * 10_000_000, *texts(count)]):
        packed = Strings.pack(strings)
        dictionary = make_dictionary(Strings.pack(ids(len(strings))), packed)
        found = compressed(packed, dictionary)
        assert list(found) == strings
        assert compressed(found, dictionary) is found
        assert list(compressed(found, b"another river")) == strings


def test_a_small_change_leaves_the_dictionary_of_a_large_collection() -> None:
    count = 9_000
    names, stored = ids(count), texts(count)
    before = make_dictionary(Strings.pack(names), Strings.pack(stored))
    assert 0.9 * MOST_DICTIONARY < len(before) <= MOST_DICTIONARY
    kept = 0
    for at in range(0, count, 900):  # another text, and a document less
        changed = [*stored[:at], "another text", *stored[at + 2 :]]
        fewer = [*names[: at + 1], *names[at + 2 :]]
        kept += make_dictionary(Strings.pack(fewer), Strings.pack(changed)) == before
    assert kept >= 8


def test_what_is_not_wanted_any_more_is_not_compressed() -> None:
    wanted = iter([True, True, False])
    found = compressed(Strings.pack(texts(9)), b"", wanted.__next__)
    assert list(found) == texts(2)
