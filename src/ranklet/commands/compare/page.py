"""Draw what differs between two searches as a page, the most changed queries first."""

from collections.abc import Mapping, Sequence
from importlib.resources import files

from ranklet.corpus.evaluation.agreement import Agreement
from ranklet.runtime.answers.html import GENERATOR, Markup, element

HEAD = ("A", "B", "id", "title")


def page(
    sides: Sequence[str],
    summary: Sequence[str],
    found: Sequence[Agreement],
    titles: Mapping[str, str],
) -> str:
    """Return an HTML page that loads nothing else.

    Args:
        sides: what A and B are.
        summary: facts about all queries.
        found: the queries, in the order of the page.
        titles: titles of documents by id.
    """
    about = [f"A is {sides[0]}.", f"B is {sides[1]}.", *(f"{each}." for each in summary)]
    same = [each.query for each in found if not each.changed]
    return _document(
        "Two searches compared",
        _section("Summary", *(element("p", each) for each in about)),
        *(_query(each, titles) for each in found if each.changed),
        _section("Queries with the same hits", element("p", " · ".join(same))) if same else "",
    )


def _query(each: Agreement, titles: Mapping[str, str]) -> Markup:
    about = f"overlap {each.overlap:.0%}, rank-biased overlap {each.rbo:.2f}"
    rows = [
        element(
            "tr",
            element("td", str(before or "–"), class_="value"),
            element("td", element("span", str(after or "–")), class_="value"),
            element("td", name, class_="name"),
            element("td", titles.get(name, ""), dir="auto"),
            class_="changed" if before != after else False,
        )
        for name, (before, after) in each.places.items()
    ]
    head = element("tr", *(element("th", name, scope="col") for name in HEAD))
    return _section(each.query, element("p", about), element("table", head, *rows))


def _document(title: str, *content: str) -> str:
    """Return a page of some content, HTML that loads nothing else."""
    head = element(
        "head",
        Markup('<meta charset="utf-8">'),
        GENERATOR,
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", title),
        element("style", Markup((files(__package__) / "style.css").read_text("utf-8"))),
    )
    brand = element("p", "ranklet", class_="brand")
    main = element("main", brand, element("h1", title), *content)
    return f"<!doctype html>\n{element('html', head, element('body', main), lang='en')}\n"


def _section(title: str, *children: str) -> Markup:
    """Return a part of a page with a heading of its own."""
    return element("section", element("h2", title), *children)
