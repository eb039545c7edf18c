"""Draw a score's parts: a tree of amounts, one button per query token, a table of token pairs."""

from typing import NamedTuple

from ranklet.handlers.page.marked_text import heat
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.explanation import Explanation
from ranklet.runtime.highlight import nodes
from ranklet.runtime.hits import Hit
from ranklet.runtime.html import Markup, element
from ranklet.runtime.text.analysis import FIELDS

OPEN = 3  # levels of a tree that are open at first
COLUMNS = 8  # document tokens in a table; all others share the last column


class Group(NamedTuple):
    """A part of an explanation, such as a ranker's, that has one branch per query token.

    Attributes:
        label: the label of the part.
        query_tokens: the number of each query token, as in `Node`, and its branch, in the order of
            the query.
    """

    label: str
    query_tokens: list[tuple[int, Explanation]]


def groups(bundle: Bundle, query: str, hit: Hit) -> list[Group]:
    """Return the parts of a hit's explanation that have one branch per query token."""
    if hit.explanation is None:
        return []
    by_part: dict[int, Group] = {}
    for node in list(nodes(hit.explanation)):  # a list, because the keys are valid while all exist
        if node.branch.query_token is not None and node.query_token is not None:
            group = by_part.setdefault(id(node.parent), Group(node.parent.label, []))
            group.query_tokens.append((node.query_token, node.branch))
    for group in by_part.values():
        field = group.query_tokens[0][1].query_token[0]  # type: ignore[index]
        placed = bundle.analysis(field).placed(query, field if field in FIELDS else "wordpieces")
        places: dict[str, int] = {}
        for begin, _, spelling in placed:
            places.setdefault(spelling, begin)
        for _, part in group.query_tokens:  # words that were joined of several pieces
            at = query.lower().find(_spelling(part))
            places.setdefault(_spelling(part), at if at >= 0 else len(query))
        group.query_tokens.sort(key=lambda token: places[_spelling(token[1])])
    return list(by_part.values())


def branch(part: Explanation, whole: float, depth: int = 0) -> Markup:
    """Return a branch of a tree: its amount, and below it its parts and its reasons."""
    row = (
        element("span", part.label, class_="label"),
        meter(part.value, abs(whole)),
        amount(part.value),
    )
    below = []
    if part.parts:
        below.append(element("ul", *(branch(each, whole, depth + 1) for each in part.parts)))
    if part.reasons is not None:  # in a unit of its own
        tree = element("ul", branch(part.reasons, part.reasons.value, depth + 1))
        below.append(element("div", tree, class_="reasons"))
    if not below:
        return element("li", element("div", *row, class_="row"))
    summary = element("summary", *row, class_="row")
    return element("li", element("details", summary, *below, open=depth < OPEN))


def buttons(group: Group) -> Markup:
    """Return one button per query token, which shows where in the text its amount comes from."""
    row = [
        element(
            "button", _spelling(part), amount(part.value), type="button",
            data_query_token=str(number), aria_pressed="false",
        )
        for number, part in group.query_tokens
    ]  # fmt: skip
    labelled = element("div", *row, class_="query-tokens", role="group", aria_label=group.label)
    return element("div", element("h3", group.label), labelled, class_="part")


def table(group: Group) -> Markup:
    """Return the amounts by query token (rows) and document token (columns). Rows add up."""
    cells: dict[int, dict[str, float]] = {}
    totals: dict[str, float] = {}
    for number, part in group.query_tokens:
        row = cells.setdefault(number, {})
        for pair in part.parts:
            if pair.source is not None:
                spelling = pair.source[1]
                row[spelling] = row.get(spelling, 0.0) + pair.value
                totals[spelling] = totals.get(spelling, 0.0) + abs(pair.value)
    columns = sorted(totals, key=lambda spelling: -totals[spelling])[:COLUMNS]
    # Columns follow the rows that they add most to, so that the large amounts lie on the diagonal.
    rows = list(cells)
    columns.sort(key=lambda each: rows.index(max(rows, key=lambda row: cells[row].get(each, 0.0))))
    largest = max((row.get(each, 0.0) for row in cells.values() for each in columns), default=0.0)
    lines = []
    for number, part in group.query_tokens:
        values = [cells[number].get(column) for column in columns]
        others = part.value - sum(value for value in values if value is not None)
        row_cells = [element("td", amount(part.value), class_="sum")]
        row_cells += [_cell(value, largest) for value in values]
        row_cells.append(element("td", amount(others)))
        head = element("th", _spelling(part), scope="row")
        lines.append(element("tr", head, *row_cells, data_query_token=str(number)))
    heads = ["", "sum", *columns, "others"]
    note = (
        "One row per query token, one column per document token; each row adds up to its sum. The "
        "column “others” holds the document tokens that are not shown, and amounts that do not "
        "depend on the document."
    )
    drawn = element(
        "table",
        element("caption", group.label, class_="hidden"),
        element("thead", element("tr", *(element("th", each, scope="col") for each in heads))),
        element("tbody", *lines),
    )
    return element(
        "details",
        element("summary", f"By pairs of tokens: {group.label}"),
        element("p", note),
        element("div", drawn, class_="scroll", tabindex="0", role="region", aria_label=group.label),
        class_="part pairs",
        open=True,
    )


def amount(value: float, class_: str = "amount") -> Markup:
    """Return a number rounded for people, and in full for programs."""
    rounded = round(value, 4) + 0.0  # which is never −0
    return element("data", f"{rounded:.4f}", value=repr(float(value)), class_=class_)


def meter(value: float, whole: float) -> Markup:
    """Return a bar as long as a value's share of the whole, in another colour for a loss."""
    fill = element("span", style=f"width: {100 * heat(abs(value), whole):.0f}%")
    kind = "meter" if value >= 0 else "meter loss"
    return element("div", fill, class_=kind, aria_hidden="true")


def _spelling(part: Explanation) -> str:
    return part.label if part.query_token is None else part.query_token[1]


def _cell(value: float | None, largest: float) -> Markup:
    if value is None:
        return element("td", "·", class_="none")
    style = f"--heat: {heat(value, largest):.3f}"
    return element("td", amount(value), class_="heat", style=style)
