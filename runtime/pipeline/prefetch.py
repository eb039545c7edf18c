"""Encoding a query for later stages while the first one runs (paper 003, §3)."""

from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from threading import Thread

from ranklet.runtime.onnx.session import threads
from ranklet.runtime.rankers.protocol import QueryContext, Ranker


def encode_ahead(rankers: Iterable[Ranker], query: QueryContext) -> list[Thread]:
    """Start to encode a query for the rankers that encode it, where a processor is free.

    The result is kept with the query, and who asks for it before it is there waits for it. An error
    is raised again where the result is asked for: encoding is then tried once more.

    Returns:
        What was started; nobody need wait for it.
    """
    encoders = [each for each in rankers if hasattr(each, "encode_query")]
    if not encoders or _processors() < 2:
        return []
    # A thread of its own, not a pool's: a pool does not outlive the fork of a server's workers.
    started = [Thread(target=_encode, args=(each, query), name="ahead") for each in encoders]
    for each in started:
        each.start()
    return started


def _encode(ranker: Ranker, query: QueryContext) -> None:
    with suppress(Exception):  # it is raised again where the result is asked for
        ranker.encode_query(query)  # type: ignore[attr-defined]


@cache
def _processors() -> int:
    """Return `threads`, read once: it asks the control group's files."""
    return threads()
