"""What each term gives to each document, computed for the terms that matter to it.

A model with query term independence (paper 002, §3) gives any term to any document: some latent
score, often below 0, of which an index can hold neither all nor what is negative. So a term's
scores are counted from its floor, a quantile of its latent scores over some documents. That adds
the same to every document's score for a query, and so changes no order. What then is not above 0
is left out, and of the rest a document keeps its largest: both are losses, which `impact_reports`
measures.
"""

from collections.abc import Iterator
from itertools import filterfalse, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.export.report import Report, compare_scores
from ranklet.runtime.candidates import StoredCandidates
from ranklet.runtime.lexical.forward import Gathered
from ranklet.runtime.lexical.impact_index import ImpactIndex
from ranklet.runtime.ranker import Query
from ranklet.runtime.term_matching import TermMatching
from ranklet.runtime.term_network import FIRST, network_scores
from ranklet.training.impacts import index_of_rows
from ranklet.training.indexing import AnalysedCollection
from ranklet.training.padding import first_tokens
from ranklet.training.progress import progress

RUN = 1 << 18  # pairs of a term and a document's term in one run of the network
FLOOR_DOCUMENTS = 64  # that floors are taken from
REPORT_DOCUMENTS, REPORT_QUERIES, REPORT_WORDS = 200, 50, 8


class Impacts(NamedTuple):
    """Sparse vectors of all documents, as rows of a CSR matrix."""

    offsets: NDArray[np.int64]  # (documents + 1,)
    terms: NDArray[np.int32]  # (impacts,)
    values: NDArray[np.float32]  # > 0, (impacts,)

    def indexed(self, vocabulary: int, form: str) -> ImpactIndex:
        """Return the index of them, stored in a form."""
        return index_of_rows(self.offsets, self.terms, self.values, vocabulary, form)


def latent_floors(matching: TermMatching, analysed: AnalysedCollection) -> NDArray[np.float32]:
    """Return the quantile `floor` of each term's weighted latent scores, (terms,) float32.

    Over documents drawn at random; 0 for words that the network does not know.
    """
    settings, rows = matching.settings, matching.rows
    found = np.zeros(len(rows), np.float32)
    known = np.flatnonzero(rows >= FIRST)
    if not settings.latent or not len(known):
        return found
    offsets, tokens = _read(matching, analysed)
    drawn = np.random.default_rng(0).permutation(len(offsets) - 1)[:FLOOR_DOCUMENTS]
    scores = [
        _latent(matching, rows[known].astype(np.int64), tokens[offsets[at] : offsets[at + 1]])
        for at in progress(drawn.tolist(), "floors of terms")
    ]
    found[known] = np.quantile(scores, settings.floor, axis=0).astype(np.float32)
    return found


def document_impacts(
    matching: TermMatching, neighbours: NDArray[np.int32], analysed: AnalysedCollection
) -> Impacts:
    """Return the largest impacts of every document.

    Args:
        matching: the model; its network gives a score for each term.
        neighbours: rows nearest to each row, nearest first, (rows, n) int32.
        analysed: the collection.
    """
    settings = matching.settings
    offsets, tokens = _read(matching, analysed)
    form_of = np.full(len(neighbours), -1, np.int32)
    known = np.flatnonzero(matching.rows >= FIRST)
    form_of[matching.rows[known]] = known
    lengths, parts, values = [0], [np.empty(0, np.int32)], [np.empty(0, np.float32)]
    for at in progress(range(len(offsets) - 1), "impacts of documents"):
        held = tokens[offsets[at] : offsets[at + 1]]
        own, tf = np.unique(held, return_counts=True)
        terms = own.astype(np.int32)
        if settings.latent:
            room = max(0, settings.candidates - len(own))
            near = _nearest(matching.rows[own], neighbours, form_of)
            more = list(islice(filterfalse({*own.tolist()}.__contains__, near), room))
            terms = np.append(terms, np.array(more, np.int32))
        impacts = np.zeros(len(terms), np.float32)
        network_knows = matching.rows[terms] >= FIRST
        if settings.latent and network_knows.any():
            asked = terms[network_knows]
            latent = _latent(matching, matching.rows[asked].astype(np.int64), held)
            impacts[network_knows] = latent - matching.floors[asked]
        if settings.explicit:
            exact = settings.matches(tf, np.array([len(held)]), matching.idf_of[own])
            impacts[: len(own)] += exact
        kept = np.argsort(-impacts, kind="stable")[: settings.terms]
        kept = np.sort(kept[impacts[kept] > 0])
        lengths.append(lengths[-1] + len(kept))
        parts.append(terms[kept].astype(np.int32))
        values.append(impacts[kept])
    return Impacts(np.array(lengths, np.int64), np.concatenate(parts), np.concatenate(values))


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
    asked = [
        analysis.tokens(text, matching.settings.field)[: matching.settings.max_query_terms]
        for text in _asked(analysed, numbers[:REPORT_QUERIES])
    ]
    worded = [at for at, tokens in enumerate(asked) if len(tokens)]
    if not worded or len(numbers) < 2:
        return []
    terms = np.unique(np.concatenate([asked[at] for at in worded]))
    counts = np.array([[(asked[at] == term).sum() for term in terms] for at in worded], np.float32)
    candidates = StoredCandidates(analysed.documents, numbers)
    latent, explicit = matching.parts(Query("", analysis), terms, candidates)
    reference = counts @ (latent + explicit)
    relevant = [[at] for at in worded]
    vocabulary = len(stored.offsets) - 1
    found = []
    for index in (impacts.indexed(vocabulary, "float32"), stored):
        agreement = compare_scores(reference, counts @ index.matrix(terms, numbers), relevant)
        alike = agreement.kendall if np.isfinite(agreement.kendall) else 0.0
        found.append(
            Report(
                variant="impacts" if index is not stored else matching.settings.impacts,
                pairs=reference.size,
                batch_error=0.0,
                bytes=index.documents.nbytes + index.impacts.nbytes,
                ms=0.0,
                fused={},
                max_error=agreement.max_error,
                kendall=alike,
                overlap=agreement.overlap,
                same_top=agreement.same_top,
                ndcg=agreement.ndcg,
                torch_ndcg=agreement.torch_ndcg,
            )
        )
    return found


def _asked(analysed: AnalysedCollection, numbers: NDArray[np.uint32]) -> Iterator[str]:
    for at in numbers.tolist():
        title = analysed.documents.titles[at]
        yield title or " ".join(analysed.documents.texts[at].split()[:REPORT_WORDS])


def _read(
    matching: TermMatching, analysed: AnalysedCollection
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return offsets and tokens of the documents, as far as the model reads them."""
    field, most = matching.settings.field, matching.settings.max_document_terms
    return first_tokens(analysed.offsets(field), analysed.tokens(field), most)


def _latent(
    matching: TermMatching, rows: NDArray[np.int64], held: NDArray[np.int32]
) -> NDArray[np.float32]:
    """Return the weighted latent scores of some rows for one document, (rows,) float32."""
    document = matching.rows[held].astype(np.int64)
    whole = Gathered(document, np.array([len(held)], np.int64))
    each = max(1, RUN // max(1, len(held)))
    parts = [
        network_scores(matching.session, rows[at : at + each], whole)[:, 0]
        for at in range(0, len(rows), each)
    ]
    return np.concatenate(parts) * np.float32(matching.settings.latent_weight)


def _nearest(
    rows: NDArray[np.int32], neighbours: NDArray[np.int32], form_of: NDArray[np.int32]
) -> Iterator[int]:
    """Yield the word forms near to some rows, each once: all first neighbours, then all second."""
    known = rows[rows >= FIRST]
    forms = form_of[neighbours[known].ravel(order="F")]
    yield from dict.fromkeys(forms[forms >= 0].tolist())
