"""Compute each query term's contribution to a document, by the network and by exact matches."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.candidates import Candidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.lexical.bm25 import idf
from ranklet.runtime.rankers.conformer_kernel.network import UNKNOWN, TermNetwork
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings

if TYPE_CHECKING:
    from ranklet.runtime.onnx.session import Runs


class TermMatching(TermNetwork):
    """The model of a Conformer-Kernel with the statistics of a collection.

    Args:
        settings: the model's settings.
        rows: the network's row of each word form, (terms,) int32.
        idf_of: the idf of each word form, (terms,) float32.
        floors: the floor of each word form's latent scores, (terms,) float32.
        open_network: opens the network's session on first use.
        size: number of documents in the collection.
    """

    settings: ConformerKernelSettings

    def __init__(
        self,
        settings: ConformerKernelSettings,
        rows: NDArray[np.int32],
        idf_of: NDArray[np.float32],
        floors: NDArray[np.float32],
        open_network: "Callable[[], Runs]",
        size: int,
    ) -> None:
        super().__init__(settings, rows, open_network)
        self.idf_of, self.floors, self._size = idf_of, floors, size

    def parts(
        self, terms: NDArray[np.int32], candidates: Candidates
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the latent scores above the floors and the explicit ones, each (terms, n) float32.

        A word that the network does not know has no latent score.
        """
        explicit = self.explicit(terms, candidates)
        latent = np.zeros_like(explicit)
        known = self.rows_of(terms) > UNKNOWN
        if self.settings.latent and known.any():
            weighted = self.run(terms[known], candidates) * np.float32(self.settings.latent_weight)
            latent[known] = weighted - self.floors[terms[known], None]
        return latent, explicit

    def scores(
        self, queries: Sequence[QueryContext], candidates: Candidates
    ) -> NDArray[np.float32]:
        """Return the score of each candidate for each query, (queries, n) float32.

        The network reads every document once, for the terms of all queries.
        """
        query_tokens = [self.query_tokens(query) for query in queries]
        terms, column = np.unique(
            np.concatenate([*query_tokens, np.empty(0, np.int32)]), return_inverse=True
        )
        counts = np.zeros((len(queries), len(terms)))
        row = np.repeat(np.arange(len(queries)), [len(tokens) for tokens in query_tokens])
        np.add.at(counts, (row, column), 1)
        if not len(terms):
            return np.zeros((len(queries), len(candidates)), np.float32)
        latent, explicit = self.parts(terms, candidates)
        return np.asarray(counts @ (latent + explicit), np.float32)

    def explicit(self, terms: NDArray[np.int32], candidates: Candidates) -> NDArray[np.float32]:
        """Return the weighted exact matches (Mitra et al., eq. 4), (terms, n) float32."""
        if not self.settings.explicit:
            return np.zeros((len(terms), len(candidates)), np.float32)
        documents = self.documents(candidates)
        # A term that is not in the collection counts as the rarest.
        idf_of = np.full(len(terms), idf(np.zeros(1), self._size)[0], np.float32)
        known = terms < len(self.idf_of)
        idf_of[known] = self.idf_of[terms[known]]
        tf, lengths = documents.frequencies(terms), documents.lengths[None, :]
        return self.settings.matches(tf, lengths, idf_of[:, None])
