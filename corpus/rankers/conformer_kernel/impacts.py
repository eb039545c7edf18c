"""Impacts of a Conformer-Kernel: the score of each term that matters to a document.

With query term independence (Mitra et al., §3) a model gives every term of the vocabulary some
latent score for every document, often below 0. An index cannot hold all of these, and none below 0.
Scores are therefore counted from the term's floor, a quantile of its latent scores over some
documents, which changes no order because it is subtracted from all documents. Impacts at or below 0
are left out, and each document keeps its largest; `impact_reports` measures both losses.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.resumable import Arrays, BlockCache
from ranklet.corpus.evaluation.proof_report import Report, compare_scores
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.indexing.impacts import in_fewer_bits, index_rows
from ranklet.corpus.progress import progress
from ranklet.corpus.rankers.conformer_kernel.floors import latent_scores, read_documents
from ranklet.corpus.rankers.conformer_kernel.term_prediction import LikelyTerms
from ranklet.runtime.call.candidates import StoredCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.lexical.impact_index import ImpactIndex
from ranklet.runtime.rankers.conformer_kernel.network import FIRST
from ranklet.runtime.rankers.conformer_kernel.ranker import TermMatching

BLOCK = 256  # documents; an interruption costs at most as many
REPORT_DOCUMENTS, REPORT_QUERIES, REPORT_WORDS = 200, 50, 8
_TYPES = {"lengths": np.int64, "terms": np.int32, "values": np.float32}


class Impacts(NamedTuple):
    """Sparse vectors of all documents, as rows of a CSR matrix."""

    offsets: NDArray[np.int64]  # (documents + 1,)
    terms: NDArray[np.int32]  # (impacts,)
    values: NDArray[np.float32]  # > 0, (impacts,)

    def indexed(self, vocabulary: int, dtype: str) -> ImpactIndex:
        """Return the index of the vectors, with impacts stored as `dtype`."""
        exact = index_rows(self.offsets, self.terms, self.values, vocabulary)
        return in_fewer_bits(exact, dtype)


class CandidateScores(NamedTuple):
    """Scores of the terms that may matter to some documents, as rows of a CSR matrix."""

    offsets: NDArray[np.int64]  # (documents + 1,)
    own: NDArray[np.int64]  # number of the document's own terms, which come first, (documents,)
    terms: NDArray[np.int32]  # (candidates,)
    latent: NDArray[np.float32]  # weighted; NaN if the network lacks the term, (candidates,)
    explicit: NDArray[np.float32]  # weighted, (candidates,)

    def largest(self, floors: NDArray[np.float32], count: int) -> Impacts:
        """Return the largest impacts of each document, at most `count` and all above 0.

        Args:
            floors: the floors of the latent scores of all word forms, (terms,) float32.
            count: impacts per document.
        """
        above = np.nan_to_num(self.latent - floors[self.terms])
        impacts = above + self.explicit
        lengths = np.diff(self.offsets)
        owner = np.repeat(np.arange(len(lengths)), lengths)
        order = np.lexsort((-impacts, owner))  # stable
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order)) - self.offsets[owner[order]]
        kept = (place < count) & (impacts > 0)
        ends = np.cumsum(np.bincount(owner[kept], minlength=len(lengths)))
        offsets = np.append(0, ends).astype(np.int64)
        return Impacts(offsets, self.terms[kept], impacts[kept])


def document_impacts(
    matching: TermMatching, likely: LikelyTerms, analysed: AnalysedCollection, cache: BlockCache
) -> Impacts:
    """Return the largest impacts of every document; the cache keeps finished blocks."""
    offsets, tokens = read_documents(matching, analysed)
    blocks: list[Arrays] = []
    begins = range(0, len(offsets) - 1, BLOCK)
    for begin in progress(begins, f"impacts of blocks of {BLOCK} documents"):
        ends = offsets[begin : begin + BLOCK + 1]
        documents = [tokens[first:last] for first, last in pairwise(ends.tolist())]

        def make(documents: list[NDArray[np.int32]] = documents) -> Arrays:
            scores = candidate_scores(matching, likely, documents)
            impacts = scores.largest(matching.floors, matching.settings.terms)
            lengths = np.diff(impacts.offsets)
            return {"lengths": lengths, "terms": impacts.terms, "values": impacts.values}

        prediction = (likely.terms, likely.anchors, likely.predictor)
        depends = (matching.floors, *prediction, np.diff(ends), tokens[ends[0] : ends[-1]])
        blocks.append(cache.block("impacts", depends, _TYPES, make))
    lengths, terms, values = (np.concatenate([block[name] for block in blocks]) for name in _TYPES)
    return Impacts(np.append(0, np.cumsum(lengths)).astype(np.int64), terms, values)


def candidate_scores(
    matching: TermMatching, likely: LikelyTerms, documents: Sequence[NDArray[np.int32]]
) -> CandidateScores:
    """Return the scores of each document's candidates.

    Candidates are the document's own terms and then, up to `candidates`, the terms that the network
    is likely to give most. Documents are truncated where the model stops reading.
    """
    settings = matching.settings
    counted = [np.unique(tokens, return_counts=True) for tokens in documents]
    own = np.array([len(terms) for terms, _ in counted], np.int64)
    candidates = []
    for (terms, _), above in zip(counted, likely.above_floors(matching, documents), strict=True):
        best = likely.terms[np.argsort(-above, kind="stable")]
        room = max(0, settings.candidates - len(terms))
        candidates.append(np.append(terms, best[~np.isin(best, terms)][:room]).astype(np.int32))
    offsets = np.append(0, np.cumsum([len(terms) for terms in candidates]))
    every = np.concatenate(candidates)
    latent = np.full(len(every), np.nan, np.float32)
    explicit = np.zeros(len(every), np.float32)
    if settings.latent:
        rows = [matching.rows[terms].astype(np.int64) for terms in candidates]
        known = [row[row >= FIRST] for row in rows]
        latent[matching.rows[every] >= FIRST] = np.concatenate(
            latent_scores(matching, known, documents)
        )
    if settings.explicit:
        for begin, (terms, tf), tokens in zip(offsets.tolist(), counted, documents, strict=False):
            exact = settings.matches(tf, np.array([len(tokens)]), matching.idf_of[terms])
            explicit[begin : begin + len(terms)] = exact
    return CandidateScores(offsets, own, every, latent, explicit)


def impact_reports(
    matching: TermMatching, impacts: Impacts, stored: ImpactIndex, analysed: AnalysedCollection
) -> list[Report]:
    """Compare ranking by impacts with ranking by the model, on some documents of the collection.

    The queries are titles of some of them, or the first words of those without a title.

    Args:
        matching: the model, with its floors.
        impacts: the impacts as computed.
        stored: the impacts as stored.
        analysed: the collection.

    Returns:
        Two reports: "impacts" is the loss by leaving terms out, and the one with the name of the
        storage type adds the loss by fewer bits. None if there is too little text.
    """
    rng = np.random.default_rng(1)
    numbers = rng.permutation(len(analysed.documents))[:REPORT_DOCUMENTS].astype(np.uint32)
    field, limit = matching.settings.field, matching.settings.max_query_terms
    analysis = analysed.analyzer.begin()
    texts = _query_texts(analysed, numbers[:REPORT_QUERIES])
    contexts = {at: QueryContext(text, analysis) for at, text in enumerate(texts)}
    queries = {at: query for at, query in contexts.items() if len(query.tokens(field))}
    if not queries or len(numbers) < 2:
        return []
    candidates = StoredCandidates(analysed.documents, numbers)
    reference = matching.scores(list(queries.values()), candidates)
    counted = [
        np.unique(query.tokens(field)[:limit], return_counts=True) for query in queries.values()
    ]
    exact = impacts.indexed(len(stored.offsets) - 1, "float32")
    reports = []
    for name, index in (("impacts", exact), (matching.settings.impacts, stored)):
        scores = np.stack([counts @ index.matrix(terms, numbers) for terms, counts in counted])
        size, relevant = index.documents.nbytes + index.impacts.nbytes, [[at] for at in queries]
        report = compare_scores(name, size, reference, scores.astype(np.float32), relevant)
        kendall = report.kendall if np.isfinite(report.kendall) else 0.0
        reports.append(replace(report, kendall=kendall))
    return reports


def _query_texts(analysed: AnalysedCollection, numbers: NDArray[np.uint32]) -> Iterator[str]:
    for number in numbers.tolist():
        title = analysed.documents.titles[number]
        yield title or " ".join(analysed.documents.texts[number].split()[:REPORT_WORDS])
