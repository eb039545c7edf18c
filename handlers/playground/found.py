"""Find what the form of the search page asks for, by POST /rank."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from ranklet.handlers.api.answers import Answer, rank
from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.playground.controls import SIZES
from ranklet.handlers.playground.form import Form
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.hits import Timing

EXPLAINED = {"explain": True, "highlight": True}


class Found(NamedTuple):
    """What a form has found.

    Attributes:
        form: what was asked.
        hits: those of the page.
        first: the number of the first hit, from 1.
        is_last: whether no hits follow.
        answer: the other fields of the answer.
        timings: milliseconds per stage.
    """

    form: Form
    hits: Sequence[Mapping[str, Any]]
    first: int
    is_last: bool
    answer: Mapping[str, Any]
    timings: tuple[Timing, ...]

    @property
    def is_own(self) -> bool:
        """Whether own texts were ranked."""
        return bool(self.form["texts"])


def find(bundle: Bundle, form: Form, limits: Limits, budget_ms: float) -> Found:
    """Rank for a form, and explain only the hit that is open; of own texts, all.

    Raises:
        RankletError: as POST /rank.
    """
    deadline = Deadline(budget_ms)
    request = {"k": min(SIZES[0], limits.k), "marks": True, **form.request(bundle.metadata)}
    page, size = form.number("page", 1), request["k"]
    offset = (page - 1) * size if isinstance(size, int) else 0
    if "documents" in request:
        answer = rank(bundle, {**request, **EXPLAINED}, limits, budget_ms)
    else:
        if isinstance(size, int) and 0 < size < limits.k - offset:
            request["k"] = size + 1  # one more says that there is a next page
        answer = rank(bundle, {**request, "offset": offset}, limits, budget_ms)
    body = _object(answer)
    hits, is_last = body["hits"][:size], len(body["hits"]) <= size
    number = form.number("why" if form["why"] else "text", limits.k + 1)
    if 0 <= (at := number - 1 - offset) < len(hits) and "explanation" not in hits[at]:
        alone = {**request, "k": 1, "offset": number - 1, **EXPLAINED}
        hits[at] = _same(_object(rank(bundle, alone, limits, deadline.left_ms())), hits[at]["id"])
    return Found(form, hits, offset + 1, is_last, body, answer.timings)


def _same(body: Mapping[str, Any], identity: str) -> Mapping[str, Any]:
    """Return the only hit of an answer.

    Raises:
        RequestError: 503: it is another document.
    """
    for hit in body["hits"]:
        if hit["id"] == identity:
            return cast(Mapping[str, Any], hit)
    raise RequestError(503, "the documents have changed meanwhile; search again")


def _object(answer: Answer) -> dict[str, Any]:
    return cast(dict[str, Any], answer.body)
