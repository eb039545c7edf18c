"""Find what the form of the search page asks for, by POST /rank."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from ranklet.handlers.api.answers import Answer, rank
from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.playground.controls import SIZES
from ranklet.handlers.playground.form import IS, Form
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles import manifest
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.hits import Timing

EXPLAINED = {"explain": True, "highlight": True}
VALUES = {"top": 8}  # of a field, most frequent first
COUNTED = (manifest.STRING, manifest.LIST, manifest.FLAG)


class Found(NamedTuple):
    """What a form has found.

    Attributes:
        form: what was asked.
        request: the same for POST /rank.
        hits: those of the page.
        first: the number of the first hit, from 1.
        is_last: whether no hits follow.
        answer: the other fields of the answer.
        timings: milliseconds per stage.
        unfiltered: how many documents match without filters, if none does with them.
        allows_typos: whether typos may be allowed and are not.
    """

    form: Form
    request: Mapping[str, Any]
    hits: Sequence[Mapping[str, Any]]
    first: int
    is_last: bool
    answer: Mapping[str, Any]
    timings: tuple[Timing, ...]
    unfiltered: int = 0
    allows_typos: bool = False

    @property
    def is_own(self) -> bool:
        """Whether own texts were ranked."""
        return bool(self.form["texts"])


def find(bundle: Bundle, form: Form, limits: Limits, budget_ms: float) -> Found:
    """Rank for a form, and explain only the hit that is open; of own texts, all.

    Raises:
        RankletError: as POST /rank.
    """
    asking = _Asking(bundle, limits, Deadline(budget_ms))
    request = {"k": min(SIZES[0], limits.k), "marks": True, **form.request(bundle.metadata)}
    page, size = form.number("page", 1), request["k"]
    offset = (page - 1) * size if isinstance(size, int) else 0
    own = "documents" in request
    counted = [] if own or not bundle.countable else _counted(bundle.metadata, limits)
    asked = {**request, "offset": offset}
    if own:
        asked |= EXPLAINED
    elif isinstance(size, int) and 0 < size < limits.k - offset:
        asked["k"] = size + 1  # one more says that there is a next page
    if bundle.countable and not own:
        asked = {"facets": dict.fromkeys(counted, VALUES), **asked}
    answer = asking.rank(asked)
    body = cast(dict[str, Any], answer.body)
    hits, is_last = body["hits"][:size], len(body["hits"]) <= size
    number = form.number("why" if form["why"] else "text", limits.k + 1)
    if 0 <= (at := number - 1 - offset) < len(hits) and "explanation" not in hits[at]:
        hits[at] = asking.opened(request, number - 1, hits[at]["id"])
    for name in counted:
        if form.all(IS + name):
            body["facets"][name] = asking.others(form.with_(**{IS + name: ""}), name)
    missing = not hits and bundle.countable and form.is_filtered
    others = asking.total(form.unfiltered()) if missing else 0
    typos = not (hits or own or form["typos"] or bundle.restriction)
    return Found(form, asked, hits, offset + 1, is_last, body, answer.timings, others, typos)


class _Asking(NamedTuple):
    """Asks POST /rank while there is time."""

    bundle: Bundle
    limits: Limits
    deadline: Deadline

    def rank(self, request: Mapping[str, Any]) -> Answer:
        return rank(self.bundle, request, self.limits, self.deadline.left_ms())

    def body(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return cast(dict[str, Any], self.rank(request).body)

    def opened(self, request: Mapping[str, Any], offset: int, identity: str) -> Mapping[str, Any]:
        """Return a hit with its explanation, as a ranking of this one alone.

        Raises:
            RequestError: 503: it is another document.
        """
        for hit in self.body({**request, "k": 1, "offset": offset, **EXPLAINED})["hits"]:
            if hit["id"] == identity:
                return cast(Mapping[str, Any], hit)
        raise RequestError(503, "the documents have changed meanwhile; search again")

    def others(self, form: Form, name: str) -> list[Any]:
        """Return the counts of a field's values as if none of them were chosen."""
        request = {**form.request(self.bundle.metadata), "k": 0, "facets": {name: VALUES}}
        return cast(list[Any], self.body(request)["facets"][name])

    def total(self, form: Form) -> int:
        """Return how many documents match."""
        request = {**form.request(self.bundle.metadata), "k": 0, "facets": []}
        return int(self.body(request)["total"])


def _counted(types: Mapping[str, str], limits: Limits) -> list[str]:
    """Return the fields whose values are counted."""
    return [name for name, type_ in types.items() if type_ in COUNTED][: limits.facets]
