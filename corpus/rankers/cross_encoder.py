"""Copy a cross-encoder; the stored word pieces depend on the collection."""

import logging

import numpy as np

from ranklet.corpus.building.indexer import Indexer, IndexJob
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.rankers.cross_encoder.ranker import CrossEncoderSettings
from ranklet.runtime.text.pairing import Pairing, pair_layout

_log = logging.getLogger(__name__)

SAMPLED = 1000  # documents at most, to find out whether windows hold all of their words


def index(job: IndexJob) -> RankerEntry:
    """Copy the network: apart from the stored word pieces nothing depends on the collection."""
    _warn_of_long_documents(job)
    job.copy()
    return job.entry


def _warn_of_long_documents(job: IndexJob) -> None:
    settings: CrossEncoderSettings = job.settings
    if settings.field != "wordpieces":
        return
    if settings.chunking == "words":
        _warn_of_gaps(job, settings)
        return
    around = pair_layout(job.source.analyzer.tokenizer).around
    room = settings.chunks * (settings.max_tokens - around - settings.max_query_tokens)
    lengths = np.diff(job.analysed.offsets("wordpieces"))
    if longer := int((lengths > room).sum()):
        _log.warning(
            "%s: with a query of %s word pieces it reads the first %s word pieces of a document, "
            "but %s of %s %s are longer",
            job.name, settings.max_query_tokens, f"{room:,}", f"{longer:,}", f"{len(lengths):,}",
            job.analysed.unit,
        )  # fmt: skip


def _warn_of_gaps(job: IndexJob, settings: CrossEncoderSettings) -> None:
    """Log a warning if, with the longest query, some words of documents are in no window.

    There are too few windows then, or a row has no room for a whole window.
    """
    pairing = Pairing(settings, job.source.analyzer.tokenizer)
    query = pairing.special[:1] * settings.own_query_tokens
    count = len(job.analysed.documents)
    sample = range(0, count, -(-count // SAMPLED))
    if cut := sum(pairing.pair(query, document_pieces(job.analysed, at)).cut for at in sample):
        _log.warning(
            "%s: in %s of %s sampled documents some words are in none of the %s windows of %s "
            "words if the query has %s word pieces; --max-tokens is %s",
            job.name, f"{cut:,}", f"{len(sample):,}", settings.chunks, settings.window, len(query),
            settings.max_tokens,
        )  # fmt: skip


def document_pieces(analysed: AnalysedCollection, document: int) -> list[int]:
    """Return the word pieces of a document."""
    forward = analysed.forwards["wordpieces"]
    begin, end = forward.offsets[document : document + 2]
    pieces: list[int] = forward.tokens[begin:end].tolist()
    return pieces


INDEXER = Indexer(index)
