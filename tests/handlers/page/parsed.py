"""Pages, parsed strictly, and what their numbers must add up to."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import pytest

from ranklet.handlers.page.page import page
from ranklet.runtime.bundle import Bundle

VOID = {"meta"}


@dataclass
class Element:
    """An element of a parsed page."""

    tag: str
    attributes: dict[str, str]
    children: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(each if isinstance(each, str) else each.text for each in self.children)

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    def all(self, tag: str, name: str = "") -> "Iterator[Element]":
        """Yield the elements of a tag (and class) below this one, in order."""
        for each in self.children:
            if isinstance(each, Element):
                if each.tag == tag and (not name or name in each.classes):
                    yield each
                yield from each.all(tag, name)

    def one(self, tag: str, name: str = "") -> "Element":
        return next(self.all(tag, name))


class Reader(HTMLParser):
    """Parses strictly: every element is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("", {})]
        self.feed(text)
        self.close()
        assert len(self.open) == 1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(found)
        if tag not in VOID:
            self.open.append(found)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parsed(text: str) -> Element:
    return Reader(text).open[0]


def amount(row: Element) -> float:
    return float(row.one("data").attributes["value"])


def check_tree(item: Element) -> float:
    """Check that the parts of every branch add up to its amount; return the amount.

    The reasons of a rank have a unit of their own, in which they add up, too.
    """
    value = amount(item.one("div" if item.children[0].tag == "div" else "summary", "row"))  # type: ignore[union-attr]
    (first,) = item.children
    assert isinstance(first, Element)
    below = [each for each in first.children if isinstance(each, Element) and each.tag == "ul"]
    for each in below:
        parts = [check_tree(part) for part in each.children if isinstance(part, Element)]
        assert parts
        assert sum(parts) == pytest.approx(value, abs=1e-6)
    for child in first.children:
        if isinstance(child, Element) and child.classes == ["reasons"]:
            check_tree(child.one("ul").one("li"))
    return value


def check_tables(card: Element) -> None:
    for table in card.all("table"):
        columns = [each.text for each in table.one("thead").all("th")]
        rows = list(table.one("tbody").all("tr"))
        assert rows
        for row in rows:
            cells = list(row.all("td"))
            assert len(cells) + 1 == len(columns)
            assert (columns[1], columns[-1]) == ("sum", "others")
            given = [amount(cell) for cell in cells if cell.classes != ["none"]]
            assert sum(given[1:]) == pytest.approx(given[0], abs=1e-9)


def shown(bundle: Bundle, query: str, hits: Any, recipe: str = "recipe") -> Element:
    return parsed(page(bundle, query, list(hits), recipe))
