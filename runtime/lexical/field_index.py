"""Impact index of BM25F, which has one posting per word and document and keeps what fields add."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.lexical.bm25 import field_amount, idf, saturate_sum
from ranklet.runtime.lexical.impact_index import ImpactIndex
from ranklet.runtime.lexical.max_score import Impacts, Numbers
from ranklet.runtime.storage.block_array import fetch_rows, is_absent

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles

TEXT, TITLE = "text", "title"  # the field of all that no other has, and that of titles

# The files of the fields, in a folder of the index's; N is a field's place in the settings.
FOLDER = "fields/"
TEXT_AMOUNTS = FOLDER + "text.npy"  # a word's `field_amount` in the text, (postings,) float32
AVERAGES = FOLDER + "averages.npy"  # mean tokens where there are any, (fields,) float64
COUNTS, LENGTHS = FOLDER + "{}.counts.npy", FOLDER + "{}.lengths.npy"  # see `Column`
UNSIGNED = (np.uint8, np.uint16, np.uint32)


class Column(NamedTuple):
    """What an index has of one field."""

    counts: Numbers  # how often the word is in the document's field, (postings,) of `UNSIGNED`
    lengths: Numbers  # number of tokens of each document's field, (documents,) of `UNSIGNED`
    average: float  # mean of the lengths above 0


class Formula(NamedTuple):
    """How the amounts of fields become an impact."""

    weights: Mapping[str, float]  # of the text, which is first, and of the fields
    k1: float
    b: float


class FieldIndex(ImpactIndex):
    """The impacts of the fields' own weights, and what others need.

    Args:
        index: the impacts.
        formula: how they were computed.
        text: a word's `field_amount` in the text, (postings,) float32.
        columns: what there is of each field, in the order of the weights.
    """

    def __init__(
        self,
        index: ImpactIndex,
        formula: Formula,
        text: NDArray[np.float32],
        columns: Sequence[Column],
    ) -> None:
        super().__init__(index.offsets, index.documents, index.impacts, index.largest, index.size)
        self.formula, self.text, self.columns = formula, text, columns

    @classmethod
    def of_bundle(
        cls,
        bundle: "BundleFiles",
        folder: str,
        index: ImpactIndex,
        formula: Formula,
        averages: Sequence[float] | None = None,
    ) -> Self:
        """Map what a bundle has of the fields of an index.

        Args:
            bundle: a bundle with a collection.
            folder: the index's folder in the bundle, with a final slash.
            index: the impacts.
            formula: how they were computed.
            averages: the mean lengths that are meant; None for the bundle's own.

        Raises:
            BundleError: an array is missing or has another type or shape.
        """
        postings, count = len(index.documents), len(formula.weights) - 1
        own = bundle.array(folder + AVERAGES, np.float64, (count,)).tolist()
        if not all(0 <= each < float("inf") for each in own):
            raise BundleError(f"{folder + AVERAGES}: a mean length is negative or not finite")
        first, *others = UNSIGNED
        columns = [
            Column(
                bundle.array(folder + COUNTS.format(at), first, (postings,), *others),
                bundle.array(folder + LENGTHS.format(at), first, (index.size,), *others),
                (own if averages is None else averages)[at],
            )
            for at in range(count)
        ]
        text = bundle.array(folder + TEXT_AMOUNTS, np.float32, (postings,))
        return cls(index, formula, text, columns)

    @property
    def averages(self) -> list[float]:
        """The mean length of each field."""
        return [each.average for each in self.columns]

    def weighed(self, weights: Mapping[str, float] | None) -> ImpactIndex:
        """Return an index of the same postings in which some fields have other weights."""
        if not weights or {**self.formula.weights, **weights} == self.formula.weights:
            return self
        return _Weighed(self, self.formula._replace(weights={**self.formula.weights, **weights}))

    def amounts(self, begin: int, end: int) -> list[NDArray[np.float32]]:
        """Return the amount of each field in some postings, the text's first, (postings,) each."""
        documents, b = self.documents[begin:end], self.formula.b
        return [
            self.text[begin:end],
            *(
                field_amount(each.counts[begin:end], each.lengths[documents], each.average, b)
                for each in self.columns
            ),
        ]

    def amounts_in(self, term: int, document: int) -> list[float]:
        """Return the amount of each field in a document, the text's first; [] without the term."""
        begin, end = self._span(term)
        documents = self.documents[begin:end]
        at = begin + int(np.searchsorted(documents, np.array(document, documents.dtype)))
        if at == end or self.documents[at] != document:
            return []
        return [float(each[0]) for each in self.amounts(at, at + 1)]

    def documents_in(self, field: str, term: int) -> Numbers:
        """Return the documents that have a term in a field, ascending."""
        begin, end = self._span(term)
        at = list(self.formula.weights).index(field)
        counts = self.columns[at - 1].counts if at else self.text
        return self.documents[begin:end][counts[begin:end] > 0]

    def _span(self, term: int) -> tuple[int, int]:
        """Return where the postings of a term begin and end; a term past the index has none."""
        if not 0 <= term < len(self.offsets) - 1:
            return 0, 0
        return int(self.offsets[term]), int(self.offsets[term + 1])

    def fetch_fields(self, terms: NDArray[np.int32]) -> None:
        """Fetch what fields add to all postings of some terms at once; others need only impacts."""
        if is_absent(self.text):
            known = terms[(terms >= 0) & (terms < len(self.offsets) - 1)]
            counts = [each.counts for each in self.columns]
            fetch_rows(known, ragged=[(self.offsets, self.text, *counts)])

    def verify(self, name: str) -> None:
        """Check every posting and what fields add to it; see `ImpactIndex.verify`."""
        super().verify(name)
        if not (np.isfinite(self.text) & (self.text >= 0)).all():
            raise BundleError(f"{name}: an amount of the text is negative or not finite")
        counted = np.asarray(self.text) > 0
        for each in self.columns:
            counted |= np.asarray(each.counts) > 0
        if not counted.all():
            raise BundleError(f"{name}: a word of a posting is in no field of the document")


class _Weighed(FieldIndex):
    """An index whose impacts are computed when they are read, by other weights of fields.

    Args:
        index: the index that has the postings.
        formula: how the amounts of fields become impacts.
    """

    def __init__(self, index: FieldIndex, formula: Formula) -> None:
        self.__dict__.update(copy(index).__dict__)
        self.formula, self.largest = formula, self.largest[:0]

    def postings(self, term: int) -> tuple[Numbers, Impacts]:
        """Return the documents of a term and its impacts, above 0."""
        begin, end = self._span(term)
        weights, k1, _ = self.formula
        shares = saturate_sum(self.amounts(begin, end), weights.values(), k1)
        impacts = shares * idf(np.array(end - begin), self.size)
        kept = impacts > 0
        return self.documents[begin:end][kept], impacts[kept]

    def rounded(
        self,
        impacts: NDArray[np.float32],
        terms: NDArray[np.int32],  # noqa: ARG002
    ) -> NDArray[np.float32]:
        """Return the impacts, because none of these is stored."""
        return impacts

    def fetch(self, terms: NDArray[np.int32], *others: NDArray[np.float32]) -> None:
        """Fetch all postings of some terms at once, with what fields add to them."""
        super().fetch(terms, *others)
        self.fetch_fields(terms)

    def _bound(self, term: int, impacts: Impacts) -> float:  # noqa: ARG002
        return float(impacts.max())
