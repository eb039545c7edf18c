"""Encode a query for later stages while the first stage runs (MacAvaney et al. 2020, §3)."""

from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from threading import Thread

from ranklet.runtime.call.protocol import Ranker
from ranklet.runtime.call.query import QueryContext


def encode_ahead(rankers: Iterable[Ranker], query: QueryContext) -> list[Thread]:
    """Start to encode a query for the rankers that encode it, if a processor is free.

    The result is stored in the query, and readers wait for it if necessary. Errors are ignored
    here, because a stage that needs the result encodes again and raises them.

    Returns:
        The started threads, for which nobody needs to wait.
    """
    encoders = [each for each in rankers if each.encodes_queries]
    if not encoders or _processors() < 2:
        return []
    # Plain threads, because a pool does not survive the fork of a server's workers.
    started = [Thread(target=_encode, args=(ranker, query), name="ahead") for ranker in encoders]
    for thread in started:
        thread.start()
    return started


def _encode(ranker: Ranker, query: QueryContext) -> None:
    with suppress(Exception):  # raised again when a stage needs the result
        ranker.encode_query(query)


@cache
def _processors() -> int:
    """Return `threads`, cached because it reads files of the control group."""
    from ranklet.runtime.onnx.session import threads

    return threads()
