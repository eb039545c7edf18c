"""What a term's latent scores are counted from: a quantile of them over some documents."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.export.resumable import Arrays, KeptBlocks
from ranklet.runtime.rankers.conformer_kernel.matching import TermMatching
from ranklet.runtime.rankers.conformer_kernel.network import FIRST, scores_of_each
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.learning.ragged import first_tokens
from ranklet.training.progress import progress

FLOOR_DOCUMENTS = 64  # that floors are taken from
TOGETHER = 8  # documents whose scores for many terms are computed side by side


def latent_floors(
    matching: TermMatching, analysed: AnalysedCollection, kept: KeptBlocks | None = None
) -> NDArray[np.float32]:
    """Return the quantile `floor` of each term's weighted latent scores, (terms,) float32.

    Over documents drawn at random; 0 for words that the network does not know.

    Args:
        matching: the model.
        analysed: the collection.
        kept: where they are kept, if they are.
    """
    known = np.flatnonzero(matching.rows >= FIRST)
    if not matching.settings.latent or not len(known):
        return np.zeros(len(matching.rows), np.float32)
    drawn = drawn_documents(matching, analysed, FLOOR_DOCUMENTS)

    def make() -> Arrays:
        scores = scores_of_all(matching, known, drawn, "floors of terms")
        return {"floors": quantiles(matching, scores)}

    blocks = KeptBlocks() if kept is None else kept
    lengths = np.array([len(each) for each in drawn])
    depends = (lengths, np.concatenate(drawn))
    return blocks.block("floors", depends, {"floors": np.float32}, make)["floors"]


def quantiles(matching: TermMatching, scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the floors that follow from the scores of all known terms; (terms,) float32."""
    found = np.zeros(len(matching.rows), np.float32)
    found[matching.rows >= FIRST] = np.quantile(scores, matching.settings.floor, axis=0)
    return found


def read_documents(
    matching: TermMatching, analysed: AnalysedCollection
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return offsets and tokens of the documents, as far as the model reads them."""
    field, most = matching.settings.field, matching.settings.max_document_terms
    return first_tokens(analysed.offsets(field), analysed.tokens(field), most)


def drawn_documents(
    matching: TermMatching, analysed: AnalysedCollection, count: int
) -> list[NDArray[np.int32]]:
    """Return the tokens of documents drawn at random, always the same ones, at most `count`."""
    offsets, tokens = read_documents(matching, analysed)
    drawn = np.random.default_rng(0).permutation(len(offsets) - 1)[:count]
    return [tokens[offsets[at] : offsets[at + 1]] for at in drawn.tolist()]


def scores_of_all(
    matching: TermMatching,
    terms: NDArray[np.integer],
    documents: Sequence[NDArray[np.int32]],
    told: str,
) -> NDArray[np.float32]:
    """Return the weighted latent scores of the same terms for all documents, (documents, terms).

    Args:
        matching: the model.
        terms: word forms that the network knows.
        documents: tokens of each.
        told: what the progress is called.
    """
    rows = matching.rows[terms].astype(np.int64)
    found = []
    for begin in progress(range(0, len(documents), TOGETHER), told):
        some = documents[begin : begin + TOGETHER]
        found += latent_scores(matching, [rows] * len(some), some)
    return np.stack(found)


def latent_scores(
    matching: TermMatching,
    rows: Sequence[NDArray[np.int64]],
    documents: Sequence[NDArray[np.int32]],
) -> list[NDArray[np.float32]]:
    """Return the weighted latent scores of some rows for each document, (rows,) float32 each."""
    held = [matching.rows[each].astype(np.int64) for each in documents]
    weight = np.float32(matching.settings.latent_weight)
    return [each * weight for each in scores_of_each(matching.session, rows, held)]
