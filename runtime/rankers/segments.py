"""A ranker over the parts of a collection: a base and its additions.

Each part has a ranker of the same kind. Numbers are shifted, lists are merged, and candidates are
handed to the part that has them. So no kind of ranker knows of parts, but how to open itself over
one (`Ranker.over`).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.answers.explanation import Explanation
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.segments import SegmentedDocuments
from ranklet.runtime.call.candidates import Candidates, StoredCandidates, TextCandidates
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.protocol import Ranker, Retrieved, Retriever, Scores
from ranklet.runtime.call.query import QueryContext, SegmentQuery
from ranklet.runtime.ground.sets import distinct


class _Share(NamedTuple):
    """The candidates of one part, and what scores them."""

    places: NDArray[np.intp]  # among all candidates
    ranker: Ranker
    query: QueryContext
    candidates: Candidates


class SegmentedRanker(Ranker):
    """A ranker over several parts.

    Args:
        base: the ranker over the base.
        files: the base and the additions.
        documents: the documents of all parts.
        field: the field of the text that it reads.
    """

    def __init__(
        self, base: Ranker, files: Sequence[BundleFiles], documents: SegmentedDocuments, field: str
    ) -> None:
        self._parts, self._documents, self._field = base.over(files), documents, field
        self.base = self._parts[0] or base
        self.slice_size, self.analyzer = base.slice_size, base.analyzer
        self.encodes_queries = base.encodes_queries

    @property
    def provider(self) -> str:
        """The provider that its model runs on; empty if it has no model."""
        return self.base.provider

    def first_slice(self, *, texts: bool) -> int:
        """Return `slice_size` of stored candidates, or of the caller's texts."""
        return self.base.first_slice(texts=texts)

    def encode_query(self, query: QueryContext) -> object:
        """Run the model on the query alone and store the result in the query."""
        return self.base.encode_query(query)

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        """Return the score of each candidate, which is independent of the other candidates."""
        values, cut = np.empty(len(candidates), np.float32), False
        for places, ranker, own, part in self._shares(query, candidates):
            scores = ranker.score(own, part)
            values[places], cut = scores.values, cut or scores.query_truncated
        return Scores(values, (), cut)

    def scale(self, query: QueryContext) -> float:
        """Return the factor that a linear fusion multiplies scores by, before its weight."""
        return self.base.scale(query)

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain the score of a single candidate, which is the sum of the parts."""
        ((_, ranker, own, part),) = self._shares(query, candidate)
        return ranker.explain(own, part)

    def verify(self) -> None:
        """Check every number of every part."""
        for ranker in filter(None, self._parts):
            ranker.verify()

    def _shares(self, query: QueryContext, candidates: Candidates) -> Iterator[_Share]:
        """Yield the candidates of each part that has some."""
        if candidates.stored is None:
            yield _Share(np.arange(len(candidates)), self.base, query, candidates)
            return
        for part, places, numbers in self._documents.shifts.shares(candidates.stored):
            ranker, own = self._parts[part], query.everywhere[part]
            if ranker is not None:
                stored = StoredCandidates(self._documents.parts[part], numbers)
                yield _Share(places, ranker, own, stored)
            else:
                yield _Share(places, self.base, query, self._texts(own, part, numbers))

    def _texts(self, query: QueryContext, part: int, numbers: NDArray[np.uint32]) -> TextCandidates:
        """Return documents of an addition as texts, whose stored tokens are not read again."""
        documents, known = self._documents.parts[part], dict[str, dict[int, NDArray[np.int32]]]()
        if self._field:
            tokens, lengths = documents.tokens(self._field, numbers)
            if self._field != "wordpieces" and isinstance(query, SegmentQuery):
                tokens = query.own.in_whole(tokens)
            pieces = np.split(tokens.astype(np.int32), np.cumsum(lengths)[:-1])
            known[self._field] = dict(enumerate(pieces))
        titles = [documents.titles[n] for n in numbers.tolist()] if documents.titled else None
        texts = documents.read_ranked_texts(numbers.tolist())
        analysis = query.everywhere[0].analysis
        return TextCandidates(texts, analysis, titles=titles, known=known)


class SegmentedRetriever(SegmentedRanker, Retriever):
    """A ranker with an index in every part."""

    @property
    def nested(self) -> bool:
        """Whether its k best documents are always the first k of a longer list."""
        return all(each.nested for each in self._parts if isinstance(each, Retriever))

    def retrieve(self, query: QueryContext, k: int, allowed: Mask | None = None) -> Retrieved:
        """Return the k best documents of all parts, or of those that a mask allows."""
        begins, found = self._documents.shifts.begins.tolist(), list[Retrieved]()
        for part, ranker in enumerate(self._parts):
            begin, end = begins[part : part + 2]
            mask = None if allowed is None else allowed[begin:end]
            if mask is not None and not mask.any():
                continue
            if isinstance(ranker, Retriever):
                own = ranker.retrieve(query.everywhere[part], k, mask)
            else:
                own = self._scan(query, part, mask)
            if len(own.numbers) or own.query_truncated:
                found.append(own._replace(numbers=own.numbers + np.uint32(begin)))
        numbers = np.concatenate([np.empty(0, np.uint32), *(each.numbers for each in found)])
        scores = np.concatenate([np.empty(0, np.float32), *(each.scores for each in found)])
        # Ties are in the order of numbers in each part, and so are the parts.
        best = np.argsort(-scores, kind="stable")[: max(k, 0)]
        return Retrieved(numbers[best], scores[best], any(each.query_truncated for each in found))

    def matching(self, query: QueryContext) -> Mask | None:
        """Return which documents of all parts have a score above 0; None as in `Retriever`."""
        masks, begins = list[Mask](), self._documents.shifts.begins.tolist()
        for part, ranker in enumerate(self._parts):
            if isinstance(ranker, Retriever):
                mask = ranker.matching(query.everywhere[part])
                if mask is None:
                    return None
            else:
                mask = np.zeros(begins[part + 1] - begins[part], np.bool_)
                mask[self._scan(query, part, None).numbers] = True
            masks.append(mask)
        return np.concatenate(masks)

    def read_vectors(self, numbers: NDArray[np.uint32]) -> NDArray[np.float32] | None:
        """Return stored vectors of some documents, (numbers, dimension); None if it has none."""
        found: NDArray[np.float32] | None = None
        for part, places, own in self._documents.shifts.shares(numbers):
            ranker = self._parts[part]
            vectors = ranker.read_vectors(own) if isinstance(ranker, Retriever) else None
            if vectors is None:
                return None
            if found is None:
                found = np.empty((len(numbers), vectors.shape[1]), np.float32)
            found[places] = vectors
        return found

    def _scan(self, query: QueryContext, part: int, mask: Mask | None) -> Retrieved:
        """Return the documents of a part without an index that have a word of the query."""
        documents, own = self._documents.parts[part], query.everywhere[part]
        numbers = np.arange(len(documents), dtype=np.uint32)
        numbers = numbers if mask is None else numbers[mask]
        gathered = documents.tokens(self._field, numbers)
        having = gathered.owner[np.isin(gathered.tokens, own.tokens(self._field))]
        numbers = numbers[distinct(having)]
        scores = self.base.score(query, self._texts(own, part, numbers))
        above = scores.values > 0
        return Retrieved(numbers[above], scores.values[above], scores.query_truncated)

    def explain_retrieved(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain the score of a retrieved document, which may differ from the score by `score`."""
        ((_, ranker, own, part),) = self._shares(query, candidate)
        if isinstance(ranker, Retriever) and part.stored is not None:
            return ranker.explain_retrieved(own, part)
        return ranker.explain(own, part)
