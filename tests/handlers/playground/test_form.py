"""Every field of a form becomes one of the request, or is refused in a sentence."""

from typing import Any

import pytest

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.playground.form import MOST, Form

TYPES = {"year": "number", "kind": "string", "tags": "list", "due": "date", "open": "flag"}


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        ("q=a+b&page=2&why=3&text=1", {}),
        ("q=a+b&k=25&typos=on&syntax=0", {"k": 25, "typos": True, "syntax": False}),
        ("q=a+b&min_score=.5&group_by=kind", {"min_score": 0.5, "group_by": "kind"}),
        ("q=a+b&pipeline=&where=", {}),
        ("q=a+b&is.kind=x&is.kind=y+z", {"where": {"kind": {"in": ["x", "y z"]}}}),
        ("q=a+b&is.tags=x&is.tags=y", {"where": {"tags": {"has any": ["x", "y"]}}}),
        ("q=a+b&from.year=2019&to.year=2020.5", {"where": {"year": {">=": 2019, "<=": 2020.5}}}),
        ("q=a+b&is.open=true&to.due=2024-05-31",
         {"where": {"and": [{"open": {"in": [True]}}, {"due": {"<=": "2024-05-31"}}]}}),
        ('q=a+b&where={"year":1}&is.kind=x',
         {"where": {"and": [{"year": 1}, {"kind": {"in": ["x"]}}]}}),
        ("q=a+b&texts=one%0A+%0Atwo", {"documents": ["one", "two"]}),
        ("q=a+b&k=many&nonsense=1&where=%7B", {"k": "many", "nonsense": "1", "where": "{"}),
    ],
)  # fmt: skip
def test_a_form_is_a_request(sent: str, wanted: dict[str, Any]) -> None:
    assert Form.read(sent).request(TYPES) == {"query": "a b", **wanted}


def test_a_form_keeps_what_a_link_does_not_change() -> None:
    form = Form.read("q=a&is.kind=x&is.kind=y&to.year=3&where={}&typos=on&page=4&why=2")
    assert form.is_filtered
    assert form.all("is.kind") == ["x", "y"]
    assert form.unfiltered().with_().address == "./?q=a&typos=on"
    assert not form.unfiltered().is_filtered
    assert form.with_(typos="", page="5").address == (
        "./?q=a&is.kind=x&is.kind=y&to.year=3&where=%7B%7D&page=5"
    )
    assert Form.read(form.address.partition("?")[2]).pairs == form.pairs


@pytest.mark.parametrize("page", ["0", "-1", "1.5", "one", "9" * 10, "٣"])
def test_only_whole_numbers_are_pages(page: str) -> None:
    with pytest.raises(RequestError, match="whole number from 1"):
        Form([("page", page)]).number("page", 1)


def test_unknown_fields_and_too_many_are_refused() -> None:
    with pytest.raises(RequestError, match="no field 'nothing'"):
        Form.read("q=a&is.nothing=1").request(TYPES)
    with pytest.raises(RequestError, match="more than 1,000 fields"):
        Form.read("a=1&" * (MOST + 1))
