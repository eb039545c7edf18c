"""What each query term gives to a document, computed: by the network, and by exact matches."""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.lexical.bm25 import idf
from ranklet.runtime.lexical.forward import Gathered
from ranklet.runtime.pipeline.candidates import Candidates
from ranklet.runtime.rankers.conformer_kernel.network import UNKNOWN, network_scores, truncated_at
from ranklet.runtime.rankers.protocol import QueryContext

if TYPE_CHECKING:
    from ranklet.runtime.onnx.session import Runs
    from ranklet.runtime.rankers.conformer_kernel.ranker import ConformerKernelSettings


class TermMatching:
    """The model of a Conformer-Kernel beside the statistics of a collection.

    Args:
        settings: of the model.
        rows: the network's row of each word form, (terms,) int32.
        idf_of: of each word form, (terms,) float32.
        floors: what latent scores of each word form are counted from, (terms,) float32.
        open_network: opens the network's session, when it is first needed.
        size: documents of the collection.
        name: of the ranker, under which it tells of texts that it cut.
    """

    def __init__(
        self,
        settings: "ConformerKernelSettings",
        rows: NDArray[np.int32],
        idf_of: NDArray[np.float32],
        floors: NDArray[np.float32],
        open_network: "Callable[[], Runs]",
        size: int,
        name: str = "",
    ) -> None:
        self.settings, self.rows, self.idf_of, self.floors = settings, rows, idf_of, floors
        self._open, self._lock = open_network, Lock()
        self._session: Runs | None = None
        self._size, self._name = size, name

    @property
    def session(self) -> "Runs":
        """The network, opened when it is first asked for."""
        with self._lock:
            if self._session is None:
                self._session = self._open()
            return self._session

    @property
    def provider(self) -> str:
        """The onnxruntime provider that the network runs on; numpy where none has run."""
        return self._session.provider if self._session is not None else "numpy"

    def asked(self, query: QueryContext) -> NDArray[np.int32]:
        """Return the tokens of a query that count; that some do not is told once."""

        def cut() -> NDArray[np.int32]:
            found, most = query.tokens(self.settings.field), self.settings.max_query_terms
            if len(found) > most:
                query.tell_cut(self._name)
            return found[:most]

        return query.once(id(self), cut)

    def parts(
        self, query: QueryContext, terms: NDArray[np.int32], candidates: Candidates
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the latent part above the floors and the explicit one, (terms, n) float32 each.

        A word that the network does not know has no latent part.
        """
        self.tell_cut(query, candidates)
        explicit = self.explicit(terms, candidates)
        latent = np.zeros_like(explicit)
        known = self._rows(terms) > UNKNOWN
        if self.settings.latent and known.any():
            found = self.network(terms[known], candidates)
            weighted = found * np.float32(self.settings.latent_weight)
            latent[known] = weighted - self.floors[terms[known], None]
        return latent, explicit

    def scores(
        self, queries: Sequence[QueryContext], candidates: Candidates
    ) -> NDArray[np.float32]:
        """Return the score of each candidate for each query, (queries, n) float32.

        Every document is read once, for the terms of all queries; so not of the form tk.
        """
        asked = [self.asked(query) for query in queries]
        terms, column = np.unique(
            np.concatenate([*asked, np.empty(0, np.int32)]), return_inverse=True
        )
        counts = np.zeros((len(queries), len(terms)))
        row = np.repeat(np.arange(len(queries)), [len(each) for each in asked])
        np.add.at(counts, (row, column), 1)
        if not len(terms):
            return np.zeros((len(queries), len(candidates)), np.float32)
        latent, explicit = self.parts(queries[0], terms, candidates)
        return np.asarray(counts @ (latent + explicit), np.float32)

    def explicit(self, terms: NDArray[np.int32], candidates: Candidates) -> NDArray[np.float32]:
        """Return the weighted exact matches (paper 002, eq. 4), (terms, n) float32."""
        found = np.zeros((len(terms), len(candidates)), np.float32)
        if not self.settings.explicit:
            return found
        documents = self._documents(candidates)
        tokens, owner, lengths = documents.tokens, documents.owner, documents.lengths
        for row, term in zip(found, terms.tolist(), strict=True):
            row[:] = np.bincount(owner[tokens == term], minlength=len(lengths))
        # A term that the collection lacks counts as the rarest.
        idf_of = np.full(len(terms), idf(np.zeros(1), self._size)[0], np.float32)
        known = terms < len(self.idf_of)
        idf_of[known] = self.idf_of[terms[known]]
        return self.settings.matches(found, lengths[None, :], idf_of[:, None])

    def network(self, terms: NDArray[np.int32], candidates: Candidates) -> NDArray[np.float32]:
        """Return what the network gives, (terms, n) float32; (1, n) for the form tk."""
        documents = self._documents(candidates)
        rows = documents._replace(tokens=self._rows(documents.tokens))
        return network_scores(self.session, self._rows(terms), rows)

    def tell_cut(self, query: QueryContext, candidates: Candidates) -> None:
        """Note with the query which texts of the caller are longer than the model reads."""
        if candidates.stored is None:
            lengths = candidates.tokens(self.settings.field).lengths
            longer = np.flatnonzero(lengths > self.settings.max_document_terms)
            query.tell_cut(self._name, candidates, longer.tolist())

    def _documents(self, candidates: Candidates) -> Gathered:
        found = candidates.tokens(self.settings.field)
        return truncated_at(found, self.settings.max_document_terms)

    def _rows(self, tokens: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the network's row of each token, `UNKNOWN` for words that it does not know."""
        found = np.full(len(tokens), UNKNOWN, np.int64)
        known = tokens < len(self.rows)
        found[known] = self.rows[tokens[known]]
        return found
