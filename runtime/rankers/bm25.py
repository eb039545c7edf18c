"""BM25 over one field, which ranks a collection by an impact index and also scores other texts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.candidates import Candidates
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.protocol import AT_ONCE, Retrieved, Retriever, Scores
from ranklet.runtime.call.query import QueryContext, SparseQuery
from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.explanation import Explanation
from ranklet.runtime.kinds import Settings
from ranklet.runtime.lexical.bm25 import boosted, idf, saturation
from ranklet.runtime.lexical.impact_index import IMPACT_TYPES, ImpactIndex
from ranklet.runtime.options import number, one_of
from ranklet.runtime.text.analysis import CLASSES, FIELDS

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles

# The files of the kind in rankers/NAME/, in addition to the impact index, whose impacts are
# idf · saturation. All cover the indexed collection.
STATISTICS = "statistics.npy"  # mean number of tokens per document, (1,) float64


@dataclass(frozen=True)
class BM25Settings(Settings):
    """The settings of a BM25 ranker."""

    field: str = one_of("lemmas", FIELDS, "terms of a text")
    k1: float = number(0.9, "how slowly repetitions of a term saturate", 0, 100)
    b: float = number(0.4, "strength of the length normalisation", 0, 1)
    title_boost: float = number(1.0, "how often each word of a title counts", 1, 100)
    impacts: str = one_of("float32", tuple(IMPACT_TYPES), "type of stored impacts")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.title_boost != 1 and self.field == "wordpieces":
            raise InputError(
                f"title_boost is {self.title_boost:g}, and field is wordpieces; words of titles "
                "can count more with field words or lemmas, otherwise leave title_boost at 1"
            )

    @property
    def terms(self) -> str:
        """The terms that are counted: of lemmas, the beginnings of words, too."""
        return CLASSES if self.field == "lemmas" else self.field

    def check_titles(self, titles: bool) -> None:
        """Raise InputError if titles are not ranked but count more than once."""
        if self.title_boost != 1 and not titles:
            raise InputError(
                f"title_boost is {self.title_boost:g}, but titles are not ranked; rank them, or "
                "leave title_boost at 1"
            )


class Terms(NamedTuple):
    """The distinct terms of a query."""

    ids: NDArray[np.int32]  # ascending, (terms,)
    counts: NDArray[np.float32]  # how often each stands there, (terms,)
    at: NDArray[np.intp]  # the place of each among the query's tokens, (terms,)


class _Rarity(NamedTuple):
    """How rare the tokens of a query are in all parts of a collection."""

    idf: NDArray[np.float32]  # (tokens,)
    factors: Sequence[NDArray[np.float32]]  # what makes a part's impacts those of the whole


class BM25(Retriever):
    """Okapi BM25 in Lucene's variant (see `ranklet.runtime.lexical.bm25`).

    Args:
        settings: the field, and how frequencies count.
        index: the impacts.
        average_length: mean number of tokens per document.
        name: its name in a bundle.
        everywhere: the impacts of every part of the collection; None if `index` has all documents.
        part: which of them `index` is.
    """

    slice_size = AT_ONCE

    def __init__(
        self,
        settings: BM25Settings,
        index: ImpactIndex,
        average_length: float,
        name: str = "",
        everywhere: Sequence[ImpactIndex] | None = None,
        part: int = 0,
    ) -> None:
        self.settings, self.index, self.average_length = settings, index, average_length
        self._name, self._everywhere, self._part = name, everywhere or [index], part

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> "BM25":
        """Open the ranker `name` of a bundle."""
        bundle.need_collection()
        settings: BM25Settings = bundle.settings(name)
        if settings.title_boost != 1 and not bundle.manifest.titles:
            raise BundleError(f"{name}: words of titles are boosted, but titles are not ranked")
        index, statistics = _open_index(bundle, name), f"rankers/{name}/{STATISTICS}"
        average = float(bundle.array(statistics, np.float64, (1,))[0])
        if not 0 <= average < float("inf"):
            raise BundleError(f"{statistics}: the average document length is {average}")
        return cls(settings, index, average, name)

    def over(self, parts: "Sequence[BundleFiles]") -> "list[BM25]":
        """Return the ranker over each of some parts of a collection, which share their idf."""
        name, average = self._name, self.average_length
        indexes = [self.index, *(_open_index(part, name) for part in parts[1:])]
        return [
            BM25(self.settings, index, average, name, indexes, part)
            for part, index in enumerate(indexes)
        ]

    @property
    def nested(self) -> bool:
        """Whether its k best documents are always the first k of a longer list."""
        return True

    def retrieve(self, query: QueryContext, k: int, allowed: Mask | None = None) -> Retrieved:
        """Return the k best documents of the collection, or of those that a mask allows."""
        terms, counts, at = self._terms(query)
        weights = counts * self._factors(query)[at] if len(self._everywhere) > 1 else counts
        return Retrieved(*self.index.retrieve(terms, weights, k, allowed))

    def matching(self, query: QueryContext) -> Mask:
        """Return which documents have a word of the query, (documents,) bool."""
        return self.index.matching(self._terms(query).ids)

    def query_vector(self, query: QueryContext) -> SparseQuery:
        """Return the query's terms and how often each stands there."""
        return SparseQuery(*self._terms(query)[:2])

    def document_vectors(self) -> Iterator[SparseQuery]:
        """Yield the terms of each document and their impacts."""
        return self.index.by_document()

    def postings(self) -> ImpactIndex:
        """Return the index, which has every term of every document."""
        return self.index

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        """Return Σ idf · saturation over the query's tokens, with repetitions."""
        terms = self._terms(query)
        # In float64, rounding cannot make a document's score depend on the other documents.
        weights = terms.counts.astype(np.float64)
        return Scores((weights @ self._impacts(query, terms, candidates)).astype(np.float32))

    def scale(self, query: QueryContext) -> float:
        """Return 1 / Σ idf over the query's tokens (Boytsov & Kolter, §4.1)."""
        _, counts, at = self._terms(query)
        total = float(counts @ self._rarity(query).idf[at]) if len(at) else 0.0
        return 1 / total if total > 0 else 1.0

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain a score by query term."""
        terms = self._terms(query)
        field, parts = self.settings.field, []
        there = np.isin(terms.ids, candidate.tokens(self.settings.terms).tokens)
        terms = Terms(
            terms.ids[there], terms.counts[there], terms.at[there]
        )  # a few of a long query's
        impacts = self._impacts(query, terms, candidate)[:, 0]
        for term, count, impact in zip(terms.ids.tolist(), terms.counts, impacts, strict=True):
            if impact > 0:
                name = query.analysis.name(term, field)
                token = (field, name)  # both the query's and the document's token
                value = float(count * impact)
                parts.append(Explanation(name, value, source=token, query_token=token))
        label, boost = f"BM25 over {field}", self.settings.title_boost
        if boost != 1:
            label += f", where words of titles count {boost:g} times"
        return Explanation.total(label, parts)

    def verify(self) -> None:
        """Check every posting; raise BundleError at the first fault."""
        self.index.verify(f"BM25 over {self.settings.field}")

    def _terms(self, query: QueryContext) -> "Terms":
        tokens = query.tokens(self.settings.terms)
        terms, at, counts = np.unique(tokens, return_index=True, return_counts=True)
        return Terms(terms, counts.astype(np.float32), at)

    def _rarity(self, query: QueryContext) -> "_Rarity":
        """Return how rare a query's tokens are, which is found out once for all parts.

        A token that is nowhere counts as the rarest.
        """

        def make() -> _Rarity:
            field, size = self.settings.terms, sum(index.size for index in self._everywhere)
            every = zip(self._everywhere, query.everywhere, strict=True)
            counts = [index.frequencies(own.tokens(field)) for index, own in every]
            whole = idf(np.sum(counts, axis=0), size)
            parts = zip(self._everywhere, counts, strict=True)
            return _Rarity(whole, [whole / idf(own, index.size) for index, own in parts])

        return query.once(self._everywhere[0], make)

    def _factors(self, query: QueryContext) -> NDArray[np.float32]:
        """Return what makes impacts of this part those of the whole, by token, (tokens,)."""
        return self._rarity(query).factors[self._part]

    def _impacts(
        self, query: QueryContext, terms: "Terms", candidates: Candidates
    ) -> NDArray[np.float32]:
        """Return the impact of each term on each candidate, (terms, candidates) float32."""
        if candidates.stored is not None:
            impacts = self.index.matrix(terms.ids, candidates.stored)
            if len(self._everywhere) > 1:
                impacts *= self._factors(query)[terms.at, None]
            return impacts
        documents, settings = candidates.tokens(self.settings.terms), self.settings
        tf = documents.frequencies(terms.ids)
        lengths: NDArray[np.float32] = documents.lengths[None, :].astype(np.float32)
        if (boost := settings.title_boost) != 1:
            titles = candidates.title_tokens(settings.terms)
            tf = boosted(tf, titles.frequencies(terms.ids), boost)
            lengths = boosted(lengths, titles.lengths[None, :], boost)
        weight = saturation(tf, lengths, self.average_length, settings.k1, settings.b)
        return self.index.rounded(self._rarity(query).idf[terms.at, None] * weight)


def _open_index(bundle: "BundleFiles", name: str) -> ImpactIndex:
    settings: BM25Settings = bundle.settings(name)
    terms = bundle.analyzer.size(settings.field)
    return ImpactIndex.open(bundle, f"rankers/{name}/", terms, (settings.impacts,))


RANKER = BM25
SETTINGS = BM25Settings
