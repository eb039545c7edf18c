from typing import Any

import pytest

from ranklet.runtime.errors import InputError
from ranklet.runtime.syntax.query_syntax import Query, typed_query


@pytest.mark.parametrize(
    ("typed", "query"),
    [
        ("plain words", Query("plain words")),
        ("well-known x86-64", Query("well-known x86-64")),
        ('a "b c" d', Query("a b c d", phrases=("b c",))),
        ("„a b“ “c d”", Query("a b c d", phrases=("a b", "c d"))),
        ("a -b", Query("a", excluded=("b",))),
        ('a -"b c"', Query("a", excluded_phrases=("b c",))),
        ("kne* a", Query("kne a", prefixes=("kne",))),
        ("a -kne*", Query("a", excluded_prefixes=("kne",))),
        ('"a" "a"', Query("a a", phrases=("a",))),
        ("a -b -b", Query("a", excluded=("b",))),
        ("« a b » ＂c d＂", Query("a b c d", phrases=("a b", "c d"))),
        ("a −b –“c d”", Query("a", excluded=("b",), excluded_phrases=("c d",))),
        ("a – b", Query("a – b")),
        ('"שלום" צה"ל', Query("שלום צה\u2060ל", phrases=("שלום",))),
    ],
)
def test_a_typed_query_has_parts(typed: str, query: Query) -> None:
    assert Query.parse(typed) == query


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("", "no word to rank by"),
        ("-a", "no word to rank by"),
        ('"a b', "not closed"),
        ('a"b"', "no space before it"),
        ('""', "empty phrase"),
        ("a - b", "a minus stands alone"),
        ("*", "is no prefix"),
        ("a*", "two letters or more"),
        ("*ing", "is no prefix"),
        ("kn*ad", "is no prefix"),
    ],
)
def test_what_cannot_be_read_is_refused(typed: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Query.parse(typed)


@pytest.mark.parametrize("given", [None, 3, ["a"]])
def test_a_query_is_a_text(given: str) -> None:
    with pytest.raises(InputError, match="must be a string"):
        Query.parse(given)
    with pytest.raises(InputError, match="must be a string"):
        Query(given)


@pytest.mark.parametrize("given", [None, "knead it", ["a", 1], 3])
def test_parts_are_lists_of_texts(given: Any) -> None:
    for name in ("phrases", "prefixes", "excluded", "excluded_phrases", "excluded_prefixes"):
        with pytest.raises(InputError, match=f"{name} must be"):
            Query("dough", **{name: given})
    assert Query("dough", excluded=["milk"]) == Query("dough", excluded=("milk",))  # type: ignore[arg-type]


def test_typos_are_on_or_off() -> None:
    assert Query.parse("a", typos=True) == Query("a", typos=True)
    with pytest.raises(InputError, match="True or False"):
        Query("a", typos="yes")  # type: ignore[arg-type]


def test_only_phrases_and_exclusions_restrict() -> None:
    assert not Query.parse("a bc*", typos=True).restricts
    assert all(Query.parse(each).restricts for each in ('"a"', "a -b", 'a -"b"', "a -bc*"))


def test_what_is_typed_is_read_as_its_reader_chooses() -> None:
    assert typed_query('bread -art "rise') == 'bread -art "rise'
    assert typed_query("bread -art", syntax=True) == Query("bread", excluded=("art",))
    assert typed_query("bread -art", typos=True) == Query("bread -art", typos=True)
    assert typed_query("bread -art", syntax=True, typos=True) == Query(
        "bread", excluded=("art",), typos=True
    )
    for given, options in [(Query("a"), {"typos": True}), ("a", {"syntax": "yes"})]:
        with pytest.raises(InputError, match=r"says that itself|must be True or False"):
            typed_query(given, **options)  # type: ignore[arg-type]
    assert typed_query(" ", typos=True) == " "  # which `Bundle.rank` refuses as any empty text


def test_parts_are_counted_once() -> None:
    assert Query.parse('bread "a b" -c -"d e" kne* -zo* -c').parts == 5
    assert Query("bread").parts == 0
