"""What needs no training of a cross-encoder: BM25 of beginnings, and the untrained encoder."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.built.dense import vectors
from benchmarks.cross_encoders.candidates import Lists, beginnings, found_by_bm25, tuned
from benchmarks.cross_encoders.comparing import Values, alone
from benchmarks.cross_encoders.scope import Scope
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.imported.importing import read_model
from ranklet.training.pretrained.backbone import wheel_folder

PIECES = 112  # what a cross-encoder of 128 tokens reads of a document with a query of 13
BM25, BEGINNING = "BM25, tuned", f"BM25 of the first {PIECES} word pieces, tuned"
COSINE = "MiniLM untrained, cosine"


def of_beginnings(
    scope: Scope,
    collection: Collection,
    queries: Sequence[JudgedQuery],
    tuning: Sequence[JudgedQuery],
    *,
    titles: bool = True,
) -> Values:
    """Return what BM25 over beginnings reaches, which retrieves by itself.

    Args:
        scope: of the run.
        collection: the whole documents.
        queries: that are reported.
        tuning: queries of train that k1 and b are tuned on.
        titles: whether titles are part of the text.
    """
    cut = beginnings(scope.place, collection, PIECES, titles=titles, backbone=scope.backbone)
    settings = tuned(scope.place, cut, tuning)
    found = found_by_bm25(scope.place, cut, settings, queries, scope.sizes.depth, titles=False)
    return alone(found, found.scores)


def by_cosine(scope: Scope, lists: Lists) -> Values:
    """Return what the encoder reaches that all trainings begin with, as a reranker."""
    checkpoint, ids = _untrained(scope.backbone), list(lists.texts)
    texts = [lists.texts[each] for each in ids]
    asked = [query.text for query in lists.queries]
    sizes = scope.sizes
    documents = vectors(scope.place, checkpoint, texts, sizes.tokens, documents=True)
    queries = vectors(scope.place, checkpoint, asked, sizes.query_tokens, documents=False)
    row = {each: at for at, each in enumerate(ids)}
    scores = [
        np.asarray(documents[[row[each] for each in own]] @ vector, np.float32)
        for own, vector in zip(lists.ids, queries, strict=True)
    ]
    return alone(lists, scores)


@lru_cache(maxsize=1)
def _untrained(backbone: Path | None) -> Checkpoint:
    return read_model(backbone or wheel_folder(), kind="dense")
