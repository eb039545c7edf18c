"""A score taken apart: a tree of amounts, the query's pieces, and pairs of pieces."""

from typing import NamedTuple

from ranklet.handlers.page.html import Markup, element
from ranklet.handlers.page.marked_text import heat
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.explanation import Explanation
from ranklet.runtime.highlight import nodes
from ranklet.runtime.hits import Hit
from ranklet.runtime.text.analysis import FIELDS

OPEN = 2  # levels of a tree that are open at first
COLUMNS = 8  # document pieces in a table; the others are added up


class Group(NamedTuple):
    """A ranker's part of an explanation (or a chunk's): what it adds by the query's tokens.

    Attributes:
        label: of the part.
        asked: its branches, in the order of the query, and their numbers, as in `Node`.
    """

    label: str
    asked: list[tuple[int, Explanation]]


def groups(bundle: Bundle, query: str, hit: Hit) -> list[Group]:
    """Return the parts of a hit's explanation that are by the query's tokens."""
    if hit.explanation is None:
        return []
    found: dict[int, Group] = {}
    for node in nodes(hit.explanation):
        if node.branch.query_token is not None and node.query_token is not None:
            group = found.setdefault(id(node.parent), Group(node.parent.label, []))
            group.asked.append((node.query_token, node.branch))
    for group in found.values():
        field = group.asked[0][1].query_token[0]  # type: ignore[index]
        placed = bundle.analysis(field).placed(query, field if field in FIELDS else "wordpieces")
        places: dict[str, int] = {}
        for begin, _, spelling in placed:
            places.setdefault(spelling, begin)
        group.asked.sort(
            key=lambda each: places.get((each[1].query_token or ("", ""))[1], len(query))
        )
    return list(found.values())


def branch(part: Explanation, whole: float, depth: int = 0) -> Markup:
    """Return a branch of a tree: its own amount, and what it is made of."""
    row = (
        element("span", part.label, class_="label"),
        meter(part.value, abs(whole)),
        amount(part.value),
    )
    if not part.parts:
        return element("li", element("div", *row, class_="row"))
    below = element("ul", *(branch(each, whole, depth + 1) for each in part.parts))
    summary = element("summary", *row, class_="row")
    return element("li", element("details", summary, below, open=depth < OPEN))


def chips(group: Group) -> Markup:
    """Return the query's pieces as buttons: choosing one shows what carried it."""
    buttons = [
        element(
            "button", _asked(own), amount(own.value), type="button", data_asked=str(asked),
            aria_pressed="false",
        )
        for asked, own in group.asked
    ]  # fmt: skip
    row = element("div", *buttons, class_="asked", role="group", aria_label=group.label)
    return element("div", element("h3", group.label), row, class_="part")


def table(group: Group) -> Markup:
    """Return what each piece of the query gets from each piece of the document; rows add up."""
    cells: dict[int, dict[str, float]] = {}
    totals: dict[str, float] = {}
    for asked, own in group.asked:
        row = cells.setdefault(asked, {})
        for part in own.parts:
            if part.source is not None:
                spelling = part.source[1]
                row[spelling] = row.get(spelling, 0.0) + part.value
                totals[spelling] = totals.get(spelling, 0.0) + abs(part.value)
    columns = sorted(totals, key=lambda spelling: -totals[spelling])[:COLUMNS]
    # Beside one another what carried one piece of the query: in the order of the rows.
    rows = list(cells)
    columns.sort(key=lambda each: rows.index(max(rows, key=lambda row: cells[row].get(each, 0.0))))
    largest = max((row.get(each, 0.0) for row in cells.values() for each in columns), default=0.0)
    lines = []
    for asked, own in group.asked:
        values = [cells[asked].get(each) for each in columns]
        rest = own.value - sum(each for each in values if each is not None)
        shown = [element("td", amount(own.value), class_="sum")]
        shown += [_cell(each, largest) for each in values]
        shown.append(element("td", amount(rest)))
        head = element("th", _asked(own), scope="row")
        lines.append(element("tr", head, *shown, data_asked=str(asked)))
    heads = ["", "sum", *columns, "the rest"]
    note = (
        "A row for each piece of the query, a column for each of the document; a row adds up to "
        "its sum. The rest: pieces that are not shown, and what a piece of the query has whatever "
        "the document."
    )
    drawn = element(
        "table",
        element("caption", group.label, class_="hidden"),
        element("thead", element("tr", *(element("th", each, scope="col") for each in heads))),
        element("tbody", *lines),
    )
    return element(
        "details",
        element("summary", f"By pairs of pieces: {group.label}"),
        element("p", note),
        element("div", drawn, class_="scroll", tabindex="0", role="region", aria_label=group.label),
        class_="part pairs",
        open=True,
    )


def amount(value: float, class_: str = "amount") -> Markup:
    """Return a number for people, and the same in full for programs."""
    return element("data", f"{value:.4f}", value=repr(float(value)), class_=class_)


def meter(value: float, whole: float) -> Markup:
    """Return a bar as long as a value's share of the whole; of another look where it is a loss."""
    fill = element("span", style=f"width: {100 * heat(abs(value), whole):.0f}%")
    kind = "meter" if value >= 0 else "meter loss"
    return element("div", fill, class_=kind, aria_hidden="true")


def _asked(own: Explanation) -> str:
    return own.label if own.query_token is None else own.query_token[1]


def _cell(value: float | None, largest: float) -> Markup:
    if value is None:
        return element("td", "·", class_="none")
    style = f"--heat: {heat(value, largest):.3f}"
    return element("td", amount(value), class_="heat", style=style)
