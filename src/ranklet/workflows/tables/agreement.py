"""Compare the first documents of a table, of a network and of words, without judgements."""

import logging
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.progress import say
from ranklet.export.exporter import exporter
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.ground.sets import evenly
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.workflows.tables.texts import phrase
from ranklet.workflows.tables.vectors import make_tables

QUERIES, FIRST = 200, 10
# Of the first ten: below it, words with the table were not above words, on four collections with
# tables of random words alone; from .43 on they were (`python -m benchmarks query_table`).
LEAST = 0.4

_log = logging.getLogger(__name__)


class Agreement(NamedTuple):
    """The mean share of a network's first ten documents that others have among theirs."""

    table: float
    words: float | None  # None if no ranker of the bundle matches words


def say_agreement(bundle: Bundle) -> None:
    """Say how well each table of queries agrees with its network; warn if words do as well."""
    for name, entry in bundle.manifest.rankers.items():
        tables = exporter(entry.kind).tables
        if tables is None or not tables.encodes(bundle.files.settings(name)):
            continue
        found = agreement(bundle, name)
        others = "" if found.words is None else f", and {found.words:.0%} of those of words"
        say(f"{name}: {found.table:.0%} of the table's first ten are the network's{others}")
        if found.table <= max(found.words or 0.0, LEAST):
            _log.warning(
                "%s: the table of queries hardly follows its network, so words alone may rank as "
                "well; let it learn from more texts, in the language of the queries, or let the "
                "network encode queries", name,
            )  # fmt: skip


def agreement(bundle: Bundle, name: str) -> Agreement:
    """Return how far a table and words find what the network finds, on phrases of the documents.

    Args:
        bundle: with a collection.
        name: of the ranker with the table.
    """
    files, queries = bundle.files, _made_queries(bundle.files.need_documents())
    words = [each for each, entry in files.manifest.rankers.items() if KINDS[entry.kind].every_term]
    shares = list[tuple[float, ...]]()
    found = make_tables(files, name).first(files, name, queries, FIRST)
    for query, (table, network) in zip(queries, found, strict=True):
        lists = [table, *(_first(files, each, query) for each in words[:1])]
        shares.append(tuple(float(np.isin(network, own).mean()) for own in lists))
    own, *others = np.mean(shares, axis=0).tolist()
    return Agreement(own, others[0] if others else None)


def _first(files: BundleFiles, name: str, query: str) -> NDArray[np.uint32]:
    ranker = cast("Retriever", open_ranker(files, name))
    return ranker.retrieve(QueryContext(query, files.analyzer.begin()), FIRST).numbers


def _made_queries(documents: Documents) -> list[str]:
    """Return phrases of evenly spaced documents, drawn otherwise than those that tables learn."""
    draw, places = np.random.default_rng(2), evenly(len(documents.ids), QUERIES)
    return [
        phrase(text[:1000], draw) for text in documents.read_ranked_texts(places) if text.strip()
    ]
