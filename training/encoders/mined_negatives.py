"""Hard negatives that an encoder finds itself, found anew as it learns.

Source: Xiong et al. 2021 (ANCE, arXiv 2007.00808); the search is exact here. A document that scores
nearly as high as the relevant one may be relevant, too, though nobody judged it. So those above a
share of the relevant document's score are left out (Moreira et al. 2024, "NV-Retriever", arXiv
2407.15831).
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ranklet.corpus.indexing.ragged import by_length
from ranklet.runtime.call.topk import top_k
from ranklet.runtime.writing.atomic_file import atomic_file
from ranklet.runtime.writing.private_folder import make_private
from ranklet.training.encoders.encoder_texts import ENCODED, Encode
from ranklet.training.encoders.text_pairs import Batch, TextPairs, Tokens
from ranklet.training.sampling.negatives import Numbers, random_negatives

DEPTH = 50  # best documents of a query that negatives are drawn from
SHARE = 0.95  # of the relevant document's score, above which others are left out
MINING = "looking for hard negatives"
_DRAW, _SAMPLE = 10, 11  # streams of random numbers


class MinedNegatives:
    """The batches of a training whose negatives are mined before each of its parts.

    Args:
        model: the encoder, which is put into evaluation mode while it looks.
        pairs: the batches without negatives.
        queries: returns the vectors of queries.
        documents: returns the vectors of documents.
        batches: the number of batches in a part.
        among: documents that are searched, drawn anew for each part; 0 for all.
        seed: the seed of the draws.
        precision: returns what the encoder runs in, such as autocast.
        folder: what was found is kept here, so that a resumed training has the same; None if it
            cannot be resumed.
        resume: whether the training goes on with what was found before.
    """

    def __init__(
        self,
        model: nn.Module,
        pairs: TextPairs,
        queries: Encode,
        documents: Encode,
        *,
        batches: int,
        among: int,
        seed: int,
        precision: Callable[[], AbstractContextManager[object]],
        folder: Path | None,
        resume: bool,
    ) -> None:
        self._model, self._pairs = model, pairs
        self._queries, self._documents = queries, documents
        self._size, self._among, self._seed, self._folder = batches, among, seed, folder
        self._precision = precision
        self._last: tuple[int, list[Batch]] | None = None
        if folder is not None and not resume:
            for path in folder.glob("mined.*.npy"):
                path.unlink()

    def batches(self, part: int) -> list[Batch]:
        """Return the batches of a part, counted from 0 over all epochs."""
        if self._last is None or self._last[0] != part:
            self._last = part, self._drawn(part)
        return self._last[1]

    def _drawn(self, part: int) -> list[Batch]:
        per_epoch = -(-len(self._pairs.batches(0)) // self._size)
        epoch, at = divmod(part, per_epoch)
        own = self._pairs.batches(epoch)[at * self._size : (at + 1) * self._size]
        path = None if self._folder is None else self._folder / f"mined.{part}.npy"
        if path is not None and path.is_file():
            found = np.load(path, allow_pickle=False)
        else:
            found = self._mine(part, own)
            if path is not None:
                _write(path, found)
        ends = np.cumsum([len(batch.queries) for batch in own])[:-1]
        return [
            Batch(batch.queries, np.concatenate([batch.documents, negatives]))
            for batch, negatives in zip(own, np.split(found, ends), strict=True)
        ]

    def _mine(self, part: int, batches: Sequence[Batch]) -> Numbers:
        """Return a negative for each query of some batches, (queries,) int64."""
        queries = np.concatenate([batch.queries for batch in batches])
        positives = np.concatenate([batch.documents for batch in batches])
        count = len(self._pairs.ids)
        searched = np.arange(count)
        if 0 < self._among < count:
            rng = np.random.default_rng((self._seed, _SAMPLE, part))
            searched = np.sort(rng.choice(count, self._among, replace=False))
        query_vectors = self._encode(self._pairs.queries.rows(queries), self._queries)
        used = np.union1d(searched, positives)  # a document of both is encoded once
        encoded = self._encode(self._pairs.documents.rows(used), self._documents)
        vectors, relevant = (encoded[np.searchsorted(used, own)] for own in (searched, positives))
        most = SHARE * (query_vectors * relevant).sum(1)
        negatives = np.empty(len(queries), np.int64)
        for row, (query, own, highest) in enumerate(
            zip(queries.tolist(), query_vectors, most, strict=True)
        ):
            scores = vectors @ own
            rng = np.random.default_rng((self._seed, _DRAW, part, row))
            known = self._pairs.relevant_to(query)
            scores[(scores > highest) | np.isin(searched, known)] = -np.inf
            best = top_k(scores, min(DEPTH, len(scores)))
            best = best[np.isfinite(scores[best])]
            if len(best):
                negatives[row] = searched[rng.choice(best)]
            else:
                negatives[row] = random_negatives(count, known, 1, rng)[0]
        return negatives

    def _encode(self, tokens: Tokens, encode: Encode) -> NDArray[np.float32]:
        def run(rows: NDArray[np.integer]) -> NDArray[np.float32]:
            return np.asarray(encode(tokens, rows).float().cpu().numpy())

        learning = self._model.training
        self._model.eval()
        with torch.no_grad(), self._precision():
            found = by_length(tokens.lengths, ENCODED, run, MINING)
        self._model.train(learning)
        return found


def _write(path: Path, values: Numbers) -> None:
    make_private(path.parent)
    with atomic_file(path) as file:
        np.save(file, values, allow_pickle=False)
