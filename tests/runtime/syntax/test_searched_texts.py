"""What a query with syntax finds in fields, beside plain Python."""

import random
from pathlib import Path
from typing import Any

import pytest

from ranklet.runtime import Query, load
from ranklet.runtime.bundle import Bundle
from ranklet.workflows.build import build

WORDS = ("dorm", "bulk", "fink", "gulp")


def texts(row: dict[str, Any], fields: tuple[str, ...]) -> list[list[str]]:
    """Return the words of each text of a row that is searched."""
    given = [row[each] for each in ("author", "tags") if each in row]
    if "title" in fields:
        given += [row["title"], row["text"]]
    else:
        given.append(f"{row['title']} {row['text']}")
    flat = [each if isinstance(each, list) else [each] for each in given]
    return [str(text).split() for each in flat for text in each]


def has(row: dict[str, Any], words: list[str], fields: tuple[str, ...]) -> bool:
    """Return whether words are next to each other in one text of a row."""
    return any(
        words == text[at : at + len(words)]
        for text in texts(row, fields)
        for at in range(len(text) - len(words) + 1)
    )


@pytest.mark.slow
@pytest.mark.parametrize("fields", [("author", "tags"), ("author", "tags", "title")])
def test_clauses_are_found_in_each_searched_text(tmp_path: Path, fields: tuple[str, ...]) -> None:
    draw = random.Random(3)

    def said() -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(1, 3)))

    rows: list[dict[str, Any]] = [
        {"id": str(at), "title": said(), "text": f"{said()} all", "tags": [said(), said()]}
        | ({"author": said()} if at % 3 else {})
        for at in range(24)
    ]
    weights = dict.fromkeys(fields, 1.0)
    bundle = load(build(rows, tmp_path / "b.ranklet", fields=weights))
    for _ in range(15):
        one, two = said().split(), said().split()
        for typed, wanted in (
            ('"{}"', has_one := {str(r["id"]) for r in rows if has(r, one, fields)}),
            ('+"{}"', has_one),
            ('all -"{}"', {str(r["id"]) for r in rows} - has_one),
            ('"{}" OR "{}"', has_one | {str(r["id"]) for r in rows if has(r, two, fields)}),
        ):
            query = typed.format(" ".join(one), " ".join(two))
            assert found(bundle, query) == wanted, query


def found(bundle: Bundle, typed: str) -> set[str]:
    return {hit.id for hit in bundle.rank(Query.parse(typed), k=100)}


def test_a_word_in_the_very_form_is_found_in_a_field(tmp_path: Path) -> None:
    rows = [
        {"id": "form", "text": "nothing at home", "author": "Running Bear"},
        {"id": "other", "text": "it runs home", "author": "Run Lola"},
    ]
    bundle = load(build(rows, tmp_path / "b.ranklet", fields={"author": 1}))
    assert found(bundle, '"running"') == found(bundle, 'author:"running"') == {"form"}
    assert found(bundle, 'home -"running"') == {"other"}
    assert found(bundle, "running") == {"form", "other"}
