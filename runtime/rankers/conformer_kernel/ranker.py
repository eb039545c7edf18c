"""Conformer-Kernel with query term independence, whose scores are sums of precomputed impacts.

Source: Mitra et al. 2020, §3. Query terms have plain embeddings, so a term's
contribution to a document does not depend on the other terms. `ranklet index` computes all
contributions, so that retrieval runs no network. The network itself scores a caller's texts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.answers.explanation import Explanation, ReadSpans
from ranklet.runtime.call.candidates import Candidates, list_numbers
from ranklet.runtime.call.deadline import FIRST_SLICE
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.protocol import AT_ONCE, Retrieved, Retriever, Scores
from ranklet.runtime.call.query import QueryContext, SparseQuery
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.lexical.impact_index import ImpactIndex
from ranklet.runtime.onnx.encoder import open_session
from ranklet.runtime.rankers.conformer_kernel.network import ROWS, UNKNOWN, TermNetwork
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings, rarity

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles
    from ranklet.runtime.onnx.session import Runs

# The files of the kind in rankers/NAME/, in addition to its network and the impact index.
IDF = "idf.npy"  # the idf of each word form, (terms,) float32
FLOORS = "floors.npy"  # the floor of each word form's latent scores, (terms,) float32


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
        known = self.make_rows(terms) > UNKNOWN
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
        idf_of = np.full(len(terms), rarity(np.zeros(1), self._size)[0], np.float32)
        known = terms < len(self.idf_of)
        idf_of[known] = self.idf_of[terms[known]]
        tf, lengths = documents.frequencies(terms), documents.lengths[None, :]
        return self.settings.matches(tf, lengths, idf_of[:, None])


class ConformerKernel(Retriever):
    """Σ over query terms of the term's contribution to a document, minus the term's floor.

    Floors are the same for all documents, so they do not change the model's rankings. Impacts below
    the floor are left out.

    Args:
        settings: the model's settings.
        term_matching: the model.
        index: the impacts.
    """

    def __init__(
        self, settings: ConformerKernelSettings, term_matching: TermMatching, index: ImpactIndex
    ) -> None:
        self.settings, self.term_matching, self.index = settings, term_matching, index
        self.slice_size = FIRST_SLICE if settings.per_pair else AT_ONCE

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> "ConformerKernel":
        """Open the ranker `name` of a bundle; no network is opened yet."""
        bundle.need_collection()
        settings: ConformerKernelSettings = bundle.settings(name)
        folder, terms = f"rankers/{name}/", bundle.analyzer.size(settings.field)
        matching = TermMatching(
            settings,
            bundle.array(folder + ROWS, np.int32, (terms,)),
            bundle.array(folder + IDF, np.float32, (terms,)),
            bundle.array(folder + FLOORS, np.float32, (terms,)),
            lambda: open_session(bundle, folder, many=True),
            bundle.manifest.documents,
        )
        return cls(settings, matching, ImpactIndex.open(bundle, folder, terms))

    @property
    def provider(self) -> str:
        """The onnxruntime provider that the network runs on, or numpy if it has not run."""
        return self.term_matching.provider

    def first_slice(self, *, texts: bool) -> int:
        """Return how many candidates are scored at first, which are few if the network scores."""
        return FIRST_SLICE if texts and self.settings.latent else self.slice_size

    @property
    def nested(self) -> bool:
        """Whether its k best documents are always the first k of a longer list."""
        return True

    def retrieve(self, query: QueryContext, k: int, allowed: Mask | None = None) -> Retrieved:
        """Return the k best documents, of all or of those that a mask allows, by their impacts."""
        terms, counts = self._known(query)
        numbers, scores = self.index.retrieve(terms, counts, k, allowed)
        return Retrieved(numbers, scores, self.term_matching.truncates(query))

    def matching(self, query: QueryContext) -> Mask:
        """Return which documents have a word of the query that adds to their scores."""
        return self.index.matching(self._known(query)[0])

    def query_vector(self, query: QueryContext) -> SparseQuery:
        """Return the query's terms and how often each stands there."""
        return SparseQuery(*self._known(query))

    def document_vectors(self) -> Iterator[SparseQuery]:
        """Yield the terms of each document and their impacts."""
        return self.index.by_document()

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        """Return the score of each candidate."""
        if self._by_impacts(candidates):
            terms, counts = self._known(query)
            by_term = self.index.matrix(terms, list_numbers(candidates))
        else:
            terms, counts = self._terms(query)
            latent, explicit = self.term_matching.parts(terms, candidates)
            by_term = latent + explicit
        values = np.asarray(counts.astype(np.float64) @ by_term, np.float32)
        return self.term_matching.result(values, query, candidates)

    def scale(self, query: QueryContext) -> float:
        """Return 1 / number of query terms."""
        return 1 / max(1, len(self.term_matching.query_tokens(query)))

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain a score by query terms, separately for their exact and latent matches."""
        return self._explain(query, candidate, by_impacts=self._by_impacts(candidate))

    def explain_retrieved(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain a sum of impacts, even if the network scores candidates."""
        return self._explain(query, candidate, by_impacts=True)

    def _explain(
        self, query: QueryContext, candidate: Candidates, *, by_impacts: bool
    ) -> Explanation:
        label = f"{self.settings.architecture} over {self.settings.field}"
        terms, counts = self._terms(query)
        if by_impacts:
            whole = self.index.matrix(terms, list_numbers(candidate))[:, 0]
            explicit = whole
            if self.settings.latent:
                exact_matches = self.term_matching.explicit(terms, candidate)[:, 0]
                explicit = np.where(whole > 0, exact_matches, np.float32(0))
            latent = whole - explicit
        else:
            latent, explicit = (each[:, 0] for each in self.term_matching.parts(terms, candidate))
        parts = []
        for term, count, near, exact in zip(terms.tolist(), counts, latent, explicit, strict=True):
            name = query.analysis.name(term, self.settings.field)
            token, inner = (self.settings.field, name), []
            if exact:
                value = float(count * exact)
                inner.append(Explanation(f"{name}, exact matches", value, source=token))
            if near:
                inner.append(Explanation(f"{name}, latent matches", float(count * near)))
            if inner:
                parts.append(replace(Explanation.total(name, inner), query_token=token))
        read = ReadSpans(self.settings.field, ((0, self.settings.max_document_terms),))
        return replace(Explanation.total(label, parts), read=read)

    def verify(self) -> None:
        """Check every number and run the network once; raise BundleError at the first fault."""
        what, model = f"{self.settings.architecture} over {self.settings.field}", self.term_matching
        self.index.verify(what)
        for values, file in ((model.idf_of, IDF), (model.floors, FLOORS)):
            if not np.isfinite(values).all():
                raise BundleError(f"{what}: {file} holds a value that is not finite")
        if (model.idf_of < 0).any():
            raise BundleError(f"{what}: an idf is below 0")
        model.verify(what, run=self.settings.latent)

    def _by_impacts(self, candidates: Candidates) -> bool:
        """Return whether `score` adds up impacts instead of running the network."""
        return candidates.stored is not None and self.settings.scorer == "impacts"

    def _terms(self, query: QueryContext) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the query's unique terms and their counts."""
        terms, counts = np.unique(self.term_matching.query_tokens(query), return_counts=True)
        return terms, counts.astype(np.float32)

    def _known(self, query: QueryContext) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        terms, counts = self._terms(query)
        known = terms < len(self.term_matching.rows)
        return terms[known], counts[known]


RANKER = ConformerKernel
SETTINGS = ConformerKernelSettings
