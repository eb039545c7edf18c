"""Add and delete documents of a bundle that is served.

Only here handlers see more than the runtime, and only once somebody writes.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any, NamedTuple

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.field import Route
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.reading import Request
from ranklet.runtime.asks import Where
from ranklet.runtime.ground.errors import CollectionError, InputError
from ranklet.runtime.writing.locks import waiting_at_most

Body = Mapping[str, Any]
Order = Mapping[str, Any]  # what is written, as JSON: by whom, and the documents, ids or filter


class Writer(NamedTuple):
    """Writes to a bundle what a caller may write.

    Attributes:
        path: of the bundle, on disk.
        device: where its models run; see `load`.
        within: the filter of the documents that the caller may see and write; None for all.
        elsewhere: writes what an order says and returns the counts; None to write in this process.
        seconds: how long a write waits while another program writes to the bundle.
    """

    path: str
    device: str = "auto"
    within: Where | None = None
    elsewhere: Callable[[Order], dict[str, Any]] | None = None
    seconds: float = Limits.seconds

    def add(self, body: Body, limits: Limits) -> dict[str, Any]:
        """Add the documents of a request; see Route.ADD.

        Returns:
            How many were added and replaced, how many there are, and why others were skipped.

        Raises:
            RankletError: a field cannot be used, or the bundle is damaged;
                see `ranklet.handlers.api.errors.failure`.
        """
        request = Request(Route.ADD, body, limits)
        given = request.rest()
        return self._added(given["documents"], skip_bad=given["skip_bad"])

    def delete(self, body: Body, limits: Limits) -> dict[str, Any]:
        """Delete the documents of a request, by `ids` or by a filter; see Route.DELETE.

        Returns:
            How many were deleted, how many ids were unknown, and how many documents there are.

        Raises:
            RankletError: as `add`.
        """
        given = Request(Route.DELETE, body, limits).rest()
        if (given["ids"] is None) == (given["where"] is None):
            raise RequestError(422, "give either 'ids' or 'where', which say what is deleted")
        return self._deleted(given["ids"] or (), given["where"])

    def delete_one(self, identity: str) -> dict[str, Any]:
        """Delete a document.

        Raises:
            RequestError: 404: it is unknown.
            RankletError: as `add`.
        """
        answer = self._deleted((identity,))
        if answer["missing"]:
            raise RequestError(404, f"unknown document id {identity[:80]!r}")
        return answer

    def remember(self, body: Body, limits: Limits) -> dict[str, Any]:
        """Add a text, whose id is made of it if there is none; see Route.REMEMBER."""
        request = Request(Route.REMEMBER, body, limits)
        document = {name: request[name] for name in ("id", "title", "text")}
        if not document["id"]:
            # With the filter, because another key's id would be taken, and tell that it is.
            made_of = [self.within or {}, document["title"], document["text"]]
            digest = sha256(json.dumps(made_of, sort_keys=True, default=str).encode()).hexdigest()
            document["id"] = f"memory-{digest[:16]}"
        # Else its writer might not be allowed to see it.
        own = self.within if isinstance(self.within, Mapping) else {}
        plain = {key: value for key, value in own.items() if not isinstance(value, dict | list)}
        document |= plain
        return {"id": document["id"], **self._added([document])}

    def forget(self, body: Body, limits: Limits) -> dict[str, Any]:
        """Delete a document by its id; see Route.FORGET."""
        return self.delete_one(Request(Route.FORGET, body, limits)["id"])

    def _added(self, documents: list[Any], *, skip_bad: bool = False) -> dict[str, Any]:
        return self._written({"documents": documents, "skip_bad": skip_bad})

    def _deleted(self, ids: Sequence[str], where: Where | None = None) -> dict[str, Any]:
        return self._written({"ids": list(ids), "where": where})

    def _written(self, what: Order) -> dict[str, Any]:
        order = {"path": self.path, "device": self.device, "within": self.within, **what}
        order["seconds"] = self.seconds
        if self.elsewhere:
            return self.elsewhere(order)
        with waiting_at_most(self.seconds):
            return written(order)


def is_large(path: str) -> bool:
    """Return whether what was added to a bundle is better joined with it."""
    from ranklet.corpus.updating.writable import WritableBundle

    return WritableBundle(path).is_large


def join(path: str) -> None:
    """Join a bundle with what was added to it, while others write to it."""
    from ranklet.corpus.updating.writable import WritableBundle

    WritableBundle(path).join_beside()


def written(order: Order, *, joins: bool = True) -> dict[str, Any]:
    """Add or delete what an order says, and return the counts of the answer; see `Writer`.

    Args:
        order: the order.
        joins: see `WritableBundle`.

    Raises:
        BusyError: another program writes to the bundle; nothing was written.
    """
    from ranklet.corpus.updating.writable import WritableBundle

    device, within = order["device"], order["within"]
    bundle = WritableBundle(order["path"], device=device, strict=device == "cuda", joins=joins)
    if "documents" in order:
        names = ("added", "replaced")
        try:
            bundle.add(order["documents"], skip_bad=order["skip_bad"], within=within)
        except CollectionError as error:  # of the caller's documents, none of the bundle
            raise InputError(str(error)) from error
    else:
        names = ("deleted", "missing")
        bundle.delete(order["ids"], where=order["where"], missing_ok=True, within=within)
    counts = asdict(bundle.counts)
    seen = bundle if within is None else bundle.only(within)
    skipped = {"skipped": list(bundle.skipped)} if bundle.skipped else {}
    return {**{name: counts[name] for name in names}, "documents": len(seen), **skipped}
