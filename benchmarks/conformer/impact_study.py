"""A Conformer-Kernel by its exact network, and by the impacts that a bundle might have instead."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.export.rankers.conformer_kernel.floors import (
    FLOOR_DOCUMENTS,
    drawn_documents,
    quantiles,
    scores_of_all,
)
from ranklet.export.rankers.conformer_kernel.impacts import CandidateScores, candidate_scores
from ranklet.export.rankers.conformer_kernel.term_prediction import LikelyTerms, likely_terms
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.candidates import StoredCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.call.topk import top_k
from ranklet.runtime.lexical.impact_index import ImpactIndex
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.runtime.onnx.session import Session
from ranklet.runtime.rankers.conformer_kernel.matching import TermMatching
from ranklet.runtime.rankers.conformer_kernel.network import FIRST
from ranklet.runtime.rankers.conformer_kernel.ranker import ConformerKernel
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.evaluation.measures import discount
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.progress import progress

FLOORS = (0.0, 0.25, 0.5, 0.9)  # quantiles
BLOCK = 128  # documents whose scores are computed together

Top = NDArray[np.intp]  # the best documents, best first


class Line(NamedTuple):
    """A row of a table.

    Attributes:
        label: its name.
        gains: nDCG@10 of each query, (queries,).
        recall: R@100, mean.
        shared: share of the network's 10 best that are found, mean.
        size: bytes of the impacts; 0 for the network.
    """

    label: str
    gains: NDArray[np.float64]
    recall: float
    shared: float
    size: int


@dataclass(frozen=True)
class Study:
    """Some documents and queries, and how the network ranks them.

    Attributes:
        ids: of the documents.
        relevant: of each query.
        asked: of each query, its terms and their counts.
        terms: of all queries, ascending.
        by_term: what the network gives them, without floors, (terms, documents) float32.
    """

    ids: list[str]
    relevant: list[set[str]]
    asked: list[tuple[NDArray[np.int32], NDArray[np.float32]]]
    terms: NDArray[np.int32]
    by_term: NDArray[np.float32]

    @cached_property
    def reference(self) -> list[Top]:
        """The network's 100 best documents of each query."""
        return self.best(self.by_term)

    def cut(self, floors: NDArray[np.float32]) -> list[Top]:
        """Return the 100 best documents of each query if what is below a floor counts as 0."""
        return self.best(np.maximum(self.by_term - floors[self.terms, None], 0))

    def best(self, by_term: NDArray[np.float32]) -> list[Top]:
        """Return the 100 best documents of each query by the scores of terms."""
        return [
            top_k(counts @ by_term[np.searchsorted(self.terms, terms)], 100)
            if len(terms)
            else np.empty(0, np.intp)
            for terms, counts in self.asked
        ]

    def line(self, label: str, index: ImpactIndex) -> Line:
        """Return the row of some impacts."""
        found = [index.retrieve(*each, 100)[0].astype(np.intp) for each in self.asked]
        return self.measured(label, found, index.documents.nbytes + index.impacts.nbytes)

    def measured(self, label: str, found: list[Top], size: int = 0) -> Line:
        """Return the row of what was found, best first."""
        gains, recalls, shared = [], [], []
        for top, wanted, relevant in zip(found, self.reference, self.relevant, strict=True):
            hit = np.array([self.ids[at] in relevant for at in top.tolist()], np.float64)
            ideal = discount(np.arange(1, min(len(relevant), 10) + 1)).sum()
            gains.append(float(hit[:10] @ discount(np.arange(1, len(hit[:10]) + 1))) / ideal)
            recalls.append(hit.sum() / len(relevant))
            if len(wanted):
                first = {*wanted[:10].tolist()}
                shared.append(len(first & {*top[:10].tolist()}) / len(first))
        return Line(label, np.array(gains), float(np.mean(recalls)), float(np.mean(shared)), size)


class Model:
    """A form of a bundle by its exact network, over some of the documents.

    Args:
        bundle: with the form, indexed.
        form: ndrm1 or ndrm3.
        numbers: the documents, ascending, (documents,).
    """

    def __init__(self, bundle: BundleFiles, form: str, numbers: NDArray[np.uint32]) -> None:
        ranker, documents = bundle.ranker(form), bundle.documents
        if not isinstance(ranker, ConformerKernel) or documents is None:
            raise TypeError(f"{bundle.path} holds no indexed {form}")
        self.bundle, self.documents, self.numbers = bundle, documents, numbers
        self.usual, self.matching = ranker.settings, _exact(bundle, form, ranker)
        field = self.usual.field
        forwards = {"words": documents.forward("words")}  # lemmas follow from it
        self._analysed = AnalysedCollection(
            documents, bundle.analyzer, forwards, (field,), titles=False
        )
        offsets, tokens = self._analysed.offsets(field), self._analysed.tokens(field)
        lengths = np.minimum(np.diff(offsets), self.usual.max_document_terms)
        self._held = [
            np.asarray(tokens[offsets[at] :][: lengths[at]], np.int32) for at in numbers.tolist()
        ]

    @cached_property
    def floors(self) -> dict[float, NDArray[np.float32]]:
        """The floors of all terms by their quantile, (terms,) float32 each."""
        matching = self.matching
        known = np.flatnonzero(matching.rows >= FIRST)
        drawn = drawn_documents(matching, self._analysed, FLOOR_DOCUMENTS)
        scores, found = scores_of_all(matching, known, drawn, "floors of terms"), {}
        for share in FLOORS:
            matching.settings = replace(self.usual, floor=share)
            found[share] = quantiles(matching, scores)
        matching.settings = self.usual
        return found

    def candidates(self, floor: float, count: int) -> CandidateScores:
        """Return the scores of each document's candidates, which depend on the floors."""
        matching, floors = self.matching, self.floors[floor]
        matching.settings = replace(self.usual, floor=floor, candidates=count)
        matching.floors = floors
        scores = _candidates(matching, likely_terms(matching, self._analysed), self._held)
        # Whole scores of the network again, for whoever reads it next.
        matching.settings, matching.floors = self.usual, np.zeros_like(floors)
        return scores

    def index(
        self, scores: CandidateScores, floor: float, kept: int, stored: str | None = None
    ) -> ImpactIndex:
        """Return the impacts of some candidates."""
        impacts = scores.largest(self.floors[floor], kept)
        return impacts.indexed(len(self.matching.rows), stored or self.usual.impacts)

    def study(self, queries: list[JudgedQuery]) -> Study:
        """Score by the network: each document is read once, for all queries' terms."""
        matching, analysis, counted = self.matching, self.bundle.analyzer.begin(), []
        for query in queries:
            tokens = matching.query_tokens(QueryContext(query.text, analysis))
            terms, counts = np.unique(tokens, return_counts=True)
            known = terms < len(matching.rows)
            counted.append((terms[known], counts[known].astype(np.float32)))
        terms, numbers = np.unique(np.concatenate([own for own, _ in counted])), self.numbers
        parts = [
            np.add(
                *matching.parts(terms, StoredCandidates(self.documents, numbers[at : at + BLOCK]))
            )
            for at in progress(range(0, len(numbers), BLOCK), "scores by the network")
        ]
        ids = [self.documents.ids[at] for at in numbers.tolist()]
        relevant = [{*query.relevant} for query in queries]
        return Study(ids, relevant, counted, terms, np.concatenate(parts, axis=1))


def _exact(bundle: BundleFiles, form: str, ranker: ConformerKernel) -> TermMatching:
    """Return the model by its fp32 network, without floors."""
    held = ranker.matching
    name = f"rankers/{form}/{VARIANTS['fp32']}"
    return TermMatching(
        ranker.settings, held.rows, held.idf_of, np.zeros_like(held.floors),
        lambda: Session(bundle.file(name), name, device="cpu", many=True),
        bundle.manifest.documents,
    )  # fmt: skip


def drawn(documents: Documents, queries: list[JudgedQuery], most: int) -> NDArray[np.uint32]:
    """Return the documents that are relevant to a query, and others at random; ascending."""
    wanted = {name for query in queries for name in query.relevant}
    relevant = np.array([at for at, name in enumerate(documents.ids) if name in wanted], np.int64)
    others = np.setdiff1d(np.arange(len(documents)), relevant)
    drawn = np.random.default_rng(0).permutation(others)[: max(0, most - len(relevant))]
    return np.sort(np.append(relevant, drawn)).astype(np.uint32)


def _candidates(
    matching: TermMatching, likely: LikelyTerms, held: list[NDArray[np.int32]]
) -> CandidateScores:
    """Return what the network gives each document's candidates, of all documents."""
    blocks = [
        candidate_scores(matching, likely, held[at : at + BLOCK])
        for at in progress(range(0, len(held), BLOCK), "scores of candidates")
    ]
    lengths = np.concatenate([np.diff(each.offsets) for each in blocks])
    return CandidateScores(
        np.append(0, np.cumsum(lengths)).astype(np.int64),
        np.concatenate([each.own for each in blocks]),
        np.concatenate([each.terms for each in blocks]),
        np.concatenate([each.latent for each in blocks]),
        np.concatenate([each.explicit for each in blocks]),
    )


def own_terms(scores: CandidateScores) -> CandidateScores:
    """Return the scores of the documents' own terms only."""
    lengths = np.diff(scores.offsets)
    place = np.arange(len(scores.terms)) - np.repeat(scores.offsets[:-1], lengths)
    kept = place < np.repeat(scores.own, lengths)
    return CandidateScores(
        np.append(0, np.cumsum(scores.own)).astype(np.int64),
        scores.own,
        scores.terms[kept],
        scores.latent[kept],
        scores.explicit[kept],
    )
