"""Per-term floors: a quantile of a term's latent scores over sampled documents.

A floor is subtracted from all latent scores of its term before impacts are stored.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.resumable import Arrays, BlockCache
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.indexing.ragged import first_tokens
from ranklet.corpus.progress import progress
from ranklet.runtime.rankers.conformer_kernel.network import FIRST, score_each
from ranklet.runtime.rankers.conformer_kernel.ranker import TermMatching

FLOOR_DOCUMENTS = 64  # documents that floors are computed from
TOGETHER = 8  # documents that are scored for many terms side by side


def latent_floors(
    matching: TermMatching, analysed: AnalysedCollection, cache: BlockCache
) -> NDArray[np.float32]:
    """Return the quantile `floor` of each term's weighted latent scores, (terms,) float32.

    Words that the network does not know get 0. The cache keeps the floors.
    """
    known = np.flatnonzero(matching.rows >= FIRST)
    if not matching.settings.latent or not len(known):
        return np.zeros(len(matching.rows), np.float32)
    documents = drawn_documents(matching, analysed, FLOOR_DOCUMENTS)

    def make() -> Arrays:
        scores = score_all(matching, known, documents, "floors of terms")
        return {"floors": quantiles(matching, scores)}

    lengths = np.array([len(tokens) for tokens in documents])
    depends = (lengths, np.concatenate(documents))
    return cache.block("floors", depends, {"floors": np.float32}, make)["floors"]


def quantiles(matching: TermMatching, scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the floors of all terms, (terms,) float32, by (documents, known terms) scores."""
    floors = np.zeros(len(matching.rows), np.float32)
    floors[matching.rows >= FIRST] = np.quantile(scores, matching.settings.floor, axis=0)
    return floors


def read_documents(
    matching: TermMatching, analysed: AnalysedCollection
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return offsets and tokens of all documents, cut where the model stops reading."""
    field, limit = matching.settings.field, matching.settings.max_document_terms
    return first_tokens(analysed.offsets(field), analysed.tokens(field), limit)


def drawn_documents(
    matching: TermMatching, analysed: AnalysedCollection, count: int
) -> list[NDArray[np.int32]]:
    """Return the tokens of at most `count` random documents; a collection always has the same."""
    offsets, tokens = read_documents(matching, analysed)
    numbers = np.random.default_rng(0).permutation(len(offsets) - 1)[:count]
    return [tokens[offsets[number] : offsets[number + 1]] for number in numbers.tolist()]


def score_all(
    matching: TermMatching,
    terms: NDArray[np.integer],
    documents: Sequence[NDArray[np.int32]],
    label: str,
) -> NDArray[np.float32]:
    """Return the weighted latent scores of known terms for all documents, (documents, terms).

    The progress bar has the label `label`.
    """
    rows = matching.rows[terms].astype(np.int64)
    scores = []
    for begin in progress(range(0, len(documents), TOGETHER), label):
        some = documents[begin : begin + TOGETHER]
        scores += latent_scores(matching, [rows] * len(some), some)
    return np.stack(scores)


def latent_scores(
    matching: TermMatching,
    rows: Sequence[NDArray[np.int64]],
    documents: Sequence[NDArray[np.int32]],
) -> list[NDArray[np.float32]]:
    """Return the weighted latent scores of some rows for each document, (rows,) float32 each."""
    document_rows = [matching.rows[tokens].astype(np.int64) for tokens in documents]
    weight = np.float32(matching.settings.latent_weight)
    return [scores * weight for scores in score_each(matching.session, rows, document_rows)]
