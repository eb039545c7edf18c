"""Compare the first documents of a table, of a network and of words, without judgements."""

import logging
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.progress import say
from ranklet.export.query_tables.texts import phrase
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.dense.stored import ExactIndex
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.rankers.dense import QUERY_TABLE, Dense, DenseSettings
from ranklet.runtime.rankers.opening import ranker_of

QUERIES, FIRST = 200, 10

_log = logging.getLogger(__name__)


class Agreement(NamedTuple):
    """The mean share of a network's first ten documents that others have among theirs."""

    table: float
    words: float | None  # None if no ranker of the bundle matches words


def say_agreement(bundle: Bundle) -> None:
    """Say how well each table of queries agrees with its network; warn if words do as well."""
    for name, entry in bundle.manifest.rankers.items():
        if entry.settings.get("encoder") != QUERY_TABLE:
            continue
        found = agreement(bundle, name)
        others = "" if found.words is None else f", and {found.words:.0%} of those of words"
        say(f"{name}: {found.table:.0%} of the table's first ten are the network's{others}")
        if found.words is not None and found.table <= found.words:
            _log.warning(
                "%s: the table of queries follows its network no better than words alone do; "
                "let it learn from more texts, or leave --queries out", name,
            )  # fmt: skip


def agreement(bundle: Bundle, name: str) -> Agreement:
    """Return how far a table and words find what the network finds, on phrases of the documents.

    Args:
        bundle: with a collection.
        name: of the ranker with the table.
    """
    files, settings = bundle.files, cast("DenseSettings", bundle.files.settings(name))
    ranker = cast("Dense", ranker_of(files, name))
    words = [each for each, entry in files.manifest.rankers.items() if KINDS[entry.kind].every_term]
    queries = _made_queries(files.need_documents())
    prompted = [settings.query_prompt + query for query in queries]
    exact = ranker.encoder.encoder.encode(prompted, settings.max_query_tokens, 0).vectors
    index, shares = ExactIndex(ranker.vectors), list[tuple[float, ...]]()
    for query, vector in zip(queries, exact, strict=True):
        context = QueryContext(query, files.analyzer.begin())
        lists = [index.search(ranker.encode_query(context), FIRST)[0]]
        lists += [_first(files, each, context) for each in words[:1]]
        wanted = index.search(vector, FIRST)[0]
        shares.append(tuple(float(np.isin(wanted, own).mean()) for own in lists))
    table, *others = np.mean(shares, axis=0).tolist()
    return Agreement(table, others[0] if others else None)


def _first(files: BundleFiles, name: str, query: QueryContext) -> NDArray[np.uint32]:
    return cast("Retriever", ranker_of(files, name)).retrieve(query, FIRST).numbers


def _made_queries(documents: Documents) -> list[str]:
    """Return phrases of evenly spaced documents, drawn otherwise than those that tables learn."""
    draw, size = np.random.default_rng(2), len(documents.ids)
    places = np.unique(np.linspace(0, size - 1, min(QUERIES, size)).astype(np.int64)).tolist()
    return [phrase(text[:1000], draw) for text in documents.ranked_texts(places) if text.strip()]
