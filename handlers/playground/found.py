"""Find what the form of the search page asks for, by POST /rank."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from ranklet.handlers.api.answers import Answer, rank
from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.playground.controls import SIZES
from ranklet.handlers.playground.form import FROM, IS, TO, Form
from ranklet.handlers.playground.look import Look
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles import manifest
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.hits import Timing

EXPLAINED = {"explain": True, "highlight": True}
SHOWN = 8  # values of a field at first
VALUES = {"top": 50}  # that more can be, most frequent first
ENDS = {"range": True}  # the least and the most
ORDERED = (manifest.NUMBER, manifest.DATE, manifest.DATETIME)


# Words whose last one may go on; signs of the syntax would be read as such.
_BEGUN = re.compile(r"(?:[^\W_]+ +)*[^\W_]{2,}")


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
    """

    form: Form
    request: Mapping[str, Any]
    hits: Sequence[Mapping[str, Any]]
    first: int
    is_last: bool
    answer: Mapping[str, Any]
    timings: tuple[Timing, ...]
    unfiltered: int = 0

    @property
    def is_own(self) -> bool:
        """Whether own texts were ranked."""
        return bool(self.form["texts"])


def find(bundle: Bundle, form: Form, limits: Limits, budget_ms: float, look: Look) -> Found:
    """Rank for a form, and explain only the hit that is open; of own texts, all.

    Raises:
        RankletError: as POST /rank.
    """
    request = {"k": min(SIZES[0], limits.k), "marks": True, **form.request(bundle.metadata)}
    page, size = form.number("page", 1), request["k"]
    offset = (page - 1) * size if isinstance(size, int) else 0
    own = "documents" in request
    countable = bundle.countable and not own
    counted = _counted(bundle.metadata, look, limits) if countable else {}
    asked = {**request, "offset": offset}
    if own:
        asked |= EXPLAINED
    elif isinstance(size, int) and 0 < size < limits.k - offset:
        asked["k"] = size + 1  # one more says that there is a next page
    if countable:
        asked = {"facets": counted, **asked}
    looked_up = countable and bool(form["q"])
    typos = looked_up and bundle.restriction is None and not form["typos"]
    also = {"typos": True} if typos else {}
    begun = looked_up and form["live"] and not form["syntax"] and _BEGUN.fullmatch(form["q"])
    live = {**also, "query": f"{form['q']}*", "syntax": True} if begun else also
    asking = _Asking(bundle, limits, Deadline(budget_ms), live)
    answer = asking.rank(asked)
    if begun and not cast(dict[str, Any], answer.body)["hits"]:
        asking = asking._replace(also=also)
        answer = asking.rank(asked)
    body = cast(dict[str, Any], answer.body)
    hits, is_last = body["hits"][:size], len(body["hits"]) <= size
    number = form.number("why" if form["why"] else "text", limits.k + 1)
    if 0 <= (at := number - 1 - offset) < len(hits) and "explanation" not in hits[at]:
        hits[at] = asking.opened(request, number - 1, hits[at]["id"])
    for name, options in counted.items():
        if any(form[prefix + name] for prefix in (IS, FROM, TO)):
            body["facets"][name] = asking.others(form, name, options)
    missing = not hits and countable and form.is_filtered
    others = asking.total(form.unfiltered()) if missing else 0
    sent = {**asked, **asking.also}
    return Found(form, sent, hits, offset + 1, is_last, body, answer.timings, others)


class _Asking(NamedTuple):
    """Asks POST /rank while there is time, `also` for what the form does not have."""

    bundle: Bundle
    limits: Limits
    deadline: Deadline
    also: Mapping[str, Any]

    def rank(self, request: Mapping[str, Any]) -> Answer:
        return rank(self.bundle, {**request, **self.also}, self.limits, self.deadline.left_ms())

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

    def others(self, form: Form, name: str, options: Mapping[str, Any]) -> list[Any]:
        """Return the counts of a field's values as if it were not filtered by."""
        open_ended = form.with_(**dict.fromkeys((IS + name, FROM + name, TO + name), ""))
        request = {**open_ended.request(self.bundle.metadata), "k": 0, "facets": {name: options}}
        return cast(list[Any], self.body(request)["facets"][name])

    def total(self, form: Form) -> int:
        """Return how many documents match."""
        request = {**form.request(self.bundle.metadata), "k": 0, "facets": []}
        return int(self.body(request)["total"])


def _counted(types: Mapping[str, str], look: Look, limits: Limits) -> dict[str, Mapping[str, Any]]:
    """Return the fields whose values are counted, and how."""
    names = look.fields(types)[: limits.facets]
    return {name: ENDS if types[name] in ORDERED else VALUES for name in names}
