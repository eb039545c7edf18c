"""What each term gives to each document, computed for the terms that matter to it.

A model with query term independence (paper 002, §3) gives any term to any document: some latent
score, often below 0, of which an index can hold neither all nor what is negative. So a term's
scores are counted from its floor, a quantile of its latent scores over some documents. That adds
the same to every document's score for a query, and so changes no order. What then is not above 0
is left out, and of the rest a document keeps its largest: both are losses, which `impact_reports`
measures.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.export.proof.report import Report, compare_scores
from ranklet.export.rankers.conformer_kernel.floors import latent_scores, read_documents
from ranklet.export.rankers.conformer_kernel.term_prediction import LikelyTerms
from ranklet.export.resumable import Arrays, KeptBlocks
from ranklet.runtime.lexical.impact_index import ImpactIndex
from ranklet.runtime.pipeline.candidates import StoredCandidates
from ranklet.runtime.rankers.conformer_kernel.matching import TermMatching
from ranklet.runtime.rankers.conformer_kernel.network import FIRST
from ranklet.runtime.rankers.protocol import QueryContext
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.indexing.impacts import index_of_rows
from ranklet.training.progress import progress

BLOCK = 256  # documents; what an interruption can cost
REPORT_DOCUMENTS, REPORT_QUERIES, REPORT_WORDS = 200, 50, 8
_TYPES = {"lengths": np.int64, "terms": np.int32, "values": np.float32}


class Impacts(NamedTuple):
    """Sparse vectors of all documents, as rows of a CSR matrix."""

    offsets: NDArray[np.int64]  # (documents + 1,)
    terms: NDArray[np.int32]  # (impacts,)
    values: NDArray[np.float32]  # > 0, (impacts,)

    def indexed(self, vocabulary: int, form: str) -> ImpactIndex:
        """Return the index of them, stored in a form."""
        return index_of_rows(self.offsets, self.terms, self.values, vocabulary, form)


class CandidateScores(NamedTuple):
    """What the model gives the terms that may matter to some documents, as rows of a CSR matrix."""

    offsets: NDArray[np.int64]  # (documents + 1,)
    own: NDArray[np.int64]  # of each document, how many are its own terms, which come first
    terms: NDArray[np.int32]  # (candidates,)
    latent: NDArray[np.float32]  # weighted, NaN where there is none, (candidates,)
    explicit: NDArray[np.float32]  # weighted, (candidates,)

    def largest(self, floors: NDArray[np.float32], count: int) -> Impacts:
        """Return the largest impacts of each document, at most `count` and all above 0.

        Args:
            floors: what latent scores are counted from, of all word forms, (terms,) float32.
            count: impacts a document.
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
    matching: TermMatching,
    likely: LikelyTerms,
    analysed: AnalysedCollection,
    kept: KeptBlocks | None = None,
) -> Impacts:
    """Return the largest impacts of every document.

    Args:
        matching: the model, with its floors; its network gives a score for each term.
        likely: tells which terms the network is likely to give most.
        analysed: the collection.
        kept: where finished blocks are kept, if they are.
    """
    offsets, tokens = read_documents(matching, analysed)
    blocks = KeptBlocks() if kept is None else kept
    found: list[Arrays] = []
    places = range(0, len(offsets) - 1, BLOCK)
    for begin in progress(places, f"impacts of blocks of {BLOCK} documents"):
        ends = offsets[begin : begin + BLOCK + 1]
        some = [tokens[first:last] for first, last in pairwise(ends.tolist())]

        def make(some: list[NDArray[np.int32]] = some) -> Arrays:
            scores = candidate_scores(matching, likely, some)
            impacts = scores.largest(matching.floors, matching.settings.terms)
            lengths = np.diff(impacts.offsets)
            return {"lengths": lengths, "terms": impacts.terms, "values": impacts.values}

        told = (likely.terms, likely.probes, likely.predictor)
        depends = (matching.floors, *told, np.diff(ends), tokens[ends[0] : ends[-1]])
        found.append(blocks.block("impacts", depends, _TYPES, make))
    lengths = np.concatenate([each["lengths"] for each in found])
    return Impacts(
        np.append(0, np.cumsum(lengths)).astype(np.int64),
        np.concatenate([each["terms"] for each in found]),
        np.concatenate([each["values"] for each in found]),
    )


def candidate_scores(
    matching: TermMatching,
    likely: LikelyTerms,
    documents: Sequence[NDArray[np.int32]],
) -> CandidateScores:
    """Return what the model gives each document's candidates.

    These are its own terms and, as far as there is room, those that the network is likely to give
    most.

    Args:
        matching: the model, with its floors.
        likely: as in `document_impacts`.
        documents: tokens of each, as far as the model reads them.
    """
    settings = matching.settings
    own = [np.unique(held, return_counts=True) for held in documents]
    terms = []
    for (each, _), above in zip(own, likely.above_floors(matching, documents), strict=True):
        best = likely.terms[np.argsort(-above, kind="stable")]
        room = max(0, settings.candidates - len(each))
        terms.append(np.append(each, best[~np.isin(best, each)][:room]).astype(np.int32))
    lengths = np.array([len(each) for each in terms], np.int64)
    offsets = np.append(0, np.cumsum(lengths))
    every = np.concatenate(terms)
    latent = np.full(len(every), np.nan, np.float32)
    explicit = np.zeros(len(every), np.float32)
    if settings.latent:
        rows = [matching.rows[each].astype(np.int64) for each in terms]
        latent[matching.rows[every] >= FIRST] = np.concatenate(
            latent_scores(matching, [each[each >= FIRST] for each in rows], documents)
        )
    if settings.explicit:
        for begin, (each, tf), held in zip(offsets.tolist(), own, documents, strict=False):
            exact = settings.matches(tf, np.array([len(held)]), matching.idf_of[each])
            explicit[begin : begin + len(each)] = exact
    return CandidateScores(
        offsets, np.array([len(each) for each, _ in own], np.int64), every, latent, explicit
    )


def impact_reports(
    matching: TermMatching, impacts: Impacts, stored: ImpactIndex, analysed: AnalysedCollection
) -> list[Report]:
    """Compare ranking by impacts with ranking by the model, on some documents of the collection.

    Titles of some of them, or else their first words, are the queries.

    Args:
        matching: the model.
        impacts: as computed.
        stored: as stored.
        analysed: the collection.

    Returns:
        "impacts", of what was left out; and the stored form's name, of that and fewer bits.
    """
    rng = np.random.default_rng(1)
    numbers = rng.permutation(len(analysed.documents))[:REPORT_DOCUMENTS].astype(np.uint32)
    analysis = analysed.analyzer.begin()
    texts = _asked(analysed, numbers[:REPORT_QUERIES])
    field, most = matching.settings.field, matching.settings.max_query_terms
    asked = {at: QueryContext(text, analysis) for at, text in enumerate(texts)}
    worded = {at: query for at, query in asked.items() if len(query.tokens(field))}
    if not worded or len(numbers) < 2:
        return []
    queries = list(worded.values())
    reference = matching.scores(queries, StoredCandidates(analysed.documents, numbers))
    terms = [np.unique(each.tokens(field)[:most], return_counts=True) for each in queries]
    relevant = [[at] for at in worded]
    vocabulary = len(stored.offsets) - 1
    found = []
    for index in (impacts.indexed(vocabulary, "float32"), stored):
        scores = np.stack([counts @ index.matrix(each, numbers) for each, counts in terms])
        agreement = compare_scores(reference, scores.astype(np.float32), relevant)
        alike = agreement.kendall if np.isfinite(agreement.kendall) else 0.0
        found.append(
            Report(
                variant="impacts" if index is not stored else matching.settings.impacts,
                pairs=reference.size,
                batch_error=0.0,
                bytes=index.documents.nbytes + index.impacts.nbytes,
                ms=0.0,
                fused={},
                **asdict(replace(agreement, kendall=alike)),
            )
        )
    return found


def _asked(analysed: AnalysedCollection, numbers: NDArray[np.uint32]) -> Iterator[str]:
    for at in numbers.tolist():
        title = analysed.documents.titles[at]
        yield title or " ".join(analysed.documents.texts[at].split()[:REPORT_WORDS])
