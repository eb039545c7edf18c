from typing import Any

import pytest

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.syntax.query_syntax import Clause, Query, read_typed_query

PREFIX = "prefixes"


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
        ("a +b", Query("a b", required=((Clause("b"),),))),
        (
            '+"a b" +wo*',
            Query("a b wo", ("a b",), ("wo",), required=((Clause("wo", "", PREFIX),),)),
        ),
        ("x:b", Query("x:b", required=((Clause("b", "x"),),))),
        ('x:"b c" a', Query("x:b c a", required=((Clause("b c", "x", "phrases"),),))),
        ("a -x:b -x:wo*", Query("a", forbidden=(Clause("b", "x"), Clause("wo", "x", PREFIX)))),
        (
            "a OR b OR x:c",
            Query("a b x:c", required=((Clause("a"), Clause("b"), Clause("c", "x")),)),
        ),
        (
            "std::cout http://x 10:30 C++ x: +49",
            Query("std::cout http://x 10:30 C++ x: 49", required=((Clause("49"),),)),
        ),
    ],
)
def test_a_typed_query_has_parts(typed: str, query: Query) -> None:
    assert Query.parse(typed) == query


@pytest.mark.parametrize(
    ("typed", "text", "signs"),
    [
        ("OR a", "a", ("OR",)), ("a OR", "a", ("OR",)), ("a OR -b", "a", ("OR",)),
        ("a OR OR b", "a b", ("OR",)), ("a + b", "a b", ("+",)), ("a OR b", "a b", ()),
    ],
)  # fmt: skip
def test_signs_without_a_meaning_are_known(typed: str, text: str, signs: tuple[str, ...]) -> None:
    query = Query.parse(typed)
    assert (query.text, query.signs) == (text, signs)


def test_a_field_that_is_not_there_makes_words() -> None:
    query = Query.parse('Author:"b c" y:d a OR y:e').among(["author"])
    assert query.text == "b c y:d a y:e"
    assert query.required == ((Clause("b c", "author", "phrases"),),)
    assert query.signs == ("y:", "OR")
    with pytest.raises(InputError, match="the fields of this bundle are author"):
        Query.parse("a -y:b").among(["author"])


@pytest.mark.parametrize(
    ("typed", "message"),
    [
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
    assert read_typed_query('bread -art "rise') == 'bread -art "rise'
    assert read_typed_query("bread -art", syntax=True) == Query("bread", excluded=("art",))
    assert read_typed_query("bread -art", typos=True) == Query("bread -art", typos=True)
    assert read_typed_query("bread -art", syntax=True, typos=True) == Query(
        "bread", excluded=("art",), typos=True
    )
    for given, options in [(Query("a"), {"typos": True}), ("a", {"syntax": "yes"})]:
        with pytest.raises(InputError, match=r"says that itself|must be True or False"):
            read_typed_query(given, **options)  # type: ignore[arg-type]
    assert read_typed_query(" ", typos=True) == " "  # which `Bundle.rank` refuses as any empty text


def test_parts_are_counted_once() -> None:
    assert Query.parse('bread "a b" -c -"d e" kne* -zo* -c').parts == 5
    assert Query("bread").parts == 0
