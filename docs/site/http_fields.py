"""Write docs/http-fields.md, the fields of each route, from what makes OpenAPI and the tools.

``make options`` runs it, and a test compares the page with what it would write.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ranklet.handlers.api.field import ABSENT, ANYTHING, Route
from ranklet.handlers.api.fields import list_fields
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.openapi import describe
from ranklet.handlers.playground.api_page import list_rows, value_in_words

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "http-fields.md"
TOOLS = {
    "search": Route.SEARCH, "fetch": Route.FETCH, "explain": Route.EXPLAIN,
    "remember": Route.REMEMBER, "forget": Route.FORGET,
}  # fmt: skip
_HEAD = """# Fields of requests

What each [route](serving.md#routes) takes in its JSON body, with the limits of a server without
[variables](serving.md#variables). [Options](options.md) has examples of what a search is asked.
"""
Row = tuple[str, ...]


def page() -> str:
    """Return the page; a field that an earlier route has just so is only named again."""
    first: dict[Row, str] = {}
    return _HEAD + "".join(
        section(title, rows, first) for title, rows in [*routes(), *tools()]
    ) + "\n`make options` writes this page.\n"  # fmt: skip


def routes() -> Iterator[tuple[str, tuple[Row, ...]]]:
    """Yield the routes that take the same fields, and these."""
    described = describe(Limits(), keyed=False)
    named: dict[tuple[Row, ...], list[str]] = {}
    for path, methods in described["paths"].items():
        if "requestBody" in (operation := methods.get("post", {})):
            rows = tuple(list_rows(operation, described))
            if len({name for name, *_ in rows}) == len(rows) and rows:
                named.setdefault(rows, []).append(f"`{path}`")
    for rows, paths in sorted(named.items(), key=lambda each: "`/rank`" not in each[1]):
        yield f"POST {', '.join(paths)}", rows


def tools() -> Iterator[tuple[str, tuple[Row, ...]]]:
    """Yield the tools of assistants, and what they take."""
    for name, route in TOOLS.items():
        yield f"The tool `{name}` of assistants", tuple(
            (each.name, value_in_words(each.schema(Limits())),
             "needed" if each.needed else str(each.schema(Limits()).get("default", "")),
             each.sentence)
            for each in list_fields(route).values() if each.type not in (ABSENT, ANYTHING)
        )  # fmt: skip


def section(title: str, rows: Iterable[Row], first: dict[Row, str]) -> str:
    """Return the part of a route, and remember where its fields stand."""
    rows = [(name, value, default.lower(), about) for name, value, default, about in rows]
    again: dict[str, list[str]] = {}
    for row in rows:
        if row in first:
            again.setdefault(first[row], []).append(f"`{row[0]}`")
    lines = [line(row) for row in rows if row not in first]
    text = f"\n## {title}\n"
    for where, names in again.items():
        text += f"\nAs for {where}: {', '.join(names)}.\n"
    if lines:
        text += (
            "\n| field | value | default | meaning |\n|---|---|---|---|\n" + "\n".join(lines) + "\n"
        )
    for row in rows:
        first.setdefault(row, title.removeprefix("POST ").partition(",")[0].replace("The", "the"))
    return text


def line(row: Row) -> str:
    """Return a line of a table."""
    name, *cells = (
        re.sub(r" ?\((?:docs/([\w-]+)\.md|a server: (.*?))\)", _pointed, cell.replace("|", "\\|"))
        for cell in row
    )
    return f"| {' | '.join((f'`{name}`', *(cell.rstrip('.') for cell in cells)))} |"


def _pointed(found: re.Match[str]) -> str:
    return f" ([{found[1]}]({found[1]}.md))" if found[1] else f", {found[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
