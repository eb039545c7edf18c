"""The page of the API has all that OpenAPI describes."""

from html.parser import HTMLParser

import pytest

from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.openapi import describe
from ranklet.handlers.server.reference import UNSUPPORTED, fields, kind, reference

DOCUMENT = describe(Limits(), keyed=True)
SCHEMAS = DOCUMENT["components"]["schemas"]


class Words(HTMLParser):
    """The text of a page, and the targets of its links."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.links, self.ids = "", list[str](), set[str]()
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a":
            self.links.append(given["href"] or "")
        if "id" in given:
            self.ids.add(given["id"] or "")


@pytest.fixture(scope="module")
def page() -> Words:
    return Words(reference(DOCUMENT))


def test_every_route_and_every_field_is_on_the_page(page: Words) -> None:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            assert f"{method.upper()} {path}\n" in page.text
            assert operation["summary"] in page.text
    for schema in SCHEMAS.values():
        for form in schema.get("anyOf", [schema]):
            for name, own in form.get("properties", {}).items():
                unsupported = own.get("description", "").startswith(UNSUPPORTED)
                assert unsupported or f"\n{name}\n" in page.text


def test_links_within_the_page_lead_somewhere(page: Words) -> None:
    assert {link[1:] for link in page.links if link.startswith("#")} <= page.ids


def test_limits_and_defaults_are_named() -> None:
    rows = {row[0]: row for row in fields(SCHEMAS["RankRequest"], SCHEMAS)}
    assert rows["query"][1:3] == [
        f"text, at most {Limits().query_characters:,} characters",
        "required",
    ]
    assert rows["k"][1] == (
        f"whole number from 0 to {Limits().explained:,} or whole number from 0 to {Limits().k:,}"
    )
    assert rows["k"][2] == "10"
    assert rows["return_documents"][2] == "true"
    assert rows["explain"][1] == "true or false"
    assert rows["min_score"][1] == "number"
    assert "filter" not in rows


def test_text_of_a_description_is_escaped() -> None:
    made = {**DOCUMENT, "paths": {"/x": {"get": {"summary": "<script>", "responses": {}}}}}
    assert "<script>" not in reference(made)


def test_any_value_has_a_description() -> None:
    assert kind({}) == ""
    assert kind({"anyOf": [{"type": "null"}, {"type": "string"}]}) == "text"
