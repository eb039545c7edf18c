"""Check a caller's arguments before anything is done with them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from ranklet.runtime.errors import InputError

if TYPE_CHECKING:
    from ranklet.runtime.pipeline import PipelineLike

# A text, or an object with a "text" and optionally an "id" and a "title".
Document = str | Mapping[str, Any]

# A filter by metadata; docs/filtering.md describes it.
Where = Mapping[str, Any]

# What metadata add to scores, by field; docs/searching.md describes it.
BoostLike = Mapping[str, Mapping[str, Any]]

# Fields whose values are counted, or options for each; see `Bundle.rank`.
Facets = Sequence[str] | Mapping[str, Mapping[str, Any] | None]
MAX_BUDGET_MS = 86_400_000  # a day; a larger budget is probably a mistake in the unit


class _Asked(TypedDict, total=False):
    """The keywords of both `Bundle.rank` and `Bundle.context`."""

    where: Where | None
    pipeline: "PipelineLike"
    budget_ms: float | None
    min_score: float | None
    syntax: bool
    typos: bool
    synonyms: bool
    boost: BoostLike | None
    hide: Sequence[str] | None
    fields: Mapping[str, float] | None
    unique: bool
    diversity: float | None
    relevance: bool
    min_relevance: float | None
    passages: int | None
    context: str | None


class RankOptions(_Asked, total=False):
    """The keywords of `Bundle.rank`, which describes them."""

    k: int
    explain: bool
    offset: int
    group_by: str | None
    group_size: int
    pin: Sequence[str] | None
    facets: Facets | None
    sort: Sequence[str] | None


class ContextOptions(_Asked, total=False):
    """The keywords of `Bundle.context`, which describes them."""

    tokens: int


def as_list(values: Iterable[Any], name: str, hint: str) -> list[Any]:
    """Return the values of any iterable except a string, an object or a table as a list.

    Raises:
        InputError: `values` is not such an iterable; the message contains `name` and `hint`.
    """
    columns = getattr(values, "columns", None)
    if columns is not None and not callable(columns):  # a table, whose columns' names it would give
        hint = "give one of its columns, or its rows, such as table.to_dict('records') of pandas"
    elif not isinstance(values, str | bytes | Mapping) and isinstance(values, Iterable):
        to_python = getattr(values, "to_pylist", None)  # Arrow iterates over its own types
        return list(to_python() if callable(to_python) else values)
    raise InputError(f"{name} must be a list, not {type(values).__name__}; {hint}")


def check_query(query: object, name: str = "query") -> None:
    """Raise InputError unless `query` is a non-empty string; `name` is for the message."""
    if not isinstance(query, str):
        raise InputError(f"{name} must be a string, not {type(query).__name__}")
    if not query.strip():
        raise InputError(f"{name} is empty; give at least one word")


def check_whole(name: str, value: object, least: int) -> None:
    """Raise InputError unless `value` is a whole number, `least` or more."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} must be a whole number, {least} or more, not {value!r:.60}")


def within(value: object, least: float, most: float) -> bool:
    """Return whether a value is a number of Python or numpy within bounds, which NaN is not.

    Bounds are compared with Python's own numbers, because those of numpy overflow.
    """
    if isinstance(value, np.integer | np.floating):
        value = float(value)
    return isinstance(value, int | float) and type(value) is not bool and least <= value <= most


def check_synonyms(synonyms: object) -> None:
    """Raise InputError unless `synonyms` is a flag."""
    if type(synonyms) is not bool:
        raise InputError(f"synonyms is {synonyms!r:.60}; it must be True or False")


def check_budget(budget_ms: object) -> None:
    """Raise InputError unless `budget_ms` is None or from 0 to `MAX_BUDGET_MS` milliseconds."""
    if budget_ms is not None and not within(budget_ms, 0, MAX_BUDGET_MS):
        raise InputError(
            f"budget_ms must be a number of milliseconds from 0 to {MAX_BUDGET_MS:,}, or None for "
            f"no limit, not {budget_ms!r:.60}"
        )


def own_documents(
    documents: Sequence[Document], name: str = "documents"
) -> list[tuple[str, str, str]]:
    """Return (id, title, text) of each of the caller's own documents.

    A value of None counts as absent. Without an id a document has its index, without a title "".

    Raises:
        InputError: one of them is not a text; the message contains `name` and its index.
    """
    records = []
    for index, document in enumerate(as_list(documents, name, "put the one in a list")):
        fields: object = {"text": document} if isinstance(document, str) else document
        known = fields if isinstance(fields, Mapping) else {}
        text, title, identity = (known.get(key) for key in ("text", "title", "id"))
        whole = isinstance(identity, int | np.integer) and not isinstance(identity, bool)
        if (
            not isinstance(text, str)
            or not isinstance(title, str | None)
            or not (whole or isinstance(identity, str | None))
        ):
            raise InputError(
                f"{name}[{index}] must be a string, or an object with a string 'text' (and "
                "optionally a string 'title' and an 'id', a string or a whole number), not "
                f"{document!r:.60}"
            )
        records.append((str(index if identity is None else identity), title or "", text))
    return records
