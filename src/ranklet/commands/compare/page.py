"""Draw what differs between two searches as a page, the most changed queries first."""

from collections.abc import Mapping, Sequence

from ranklet.corpus.evaluation.agreement import Agreement
from ranklet.runtime.html import Markup, element
from ranklet.training.report.page import document, section

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
    return document(
        "Two searches compared",
        section("Summary", *(element("p", each) for each in about)),
        *(_query(each, titles) for each in found if each.changed),
        section("Queries with the same hits", element("p", " · ".join(same))) if same else "",
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
    return section(each.query, element("p", about), element("table", head, *rows))
