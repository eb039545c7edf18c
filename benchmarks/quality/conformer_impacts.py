"""What a Conformer-Kernel's impacts lose: how many terms a document keeps, which, in how many bits.

Full scoring of every document by the network is the reference. NDRM1's impacts rank better than its
network. So the network is also measured with its scores below the floors counted as 0, which is
what impacts do with every term, and impacts with all candidates kept. The floors and the candidates
of a bundle are choices. Held-out queries of train make them, and dev queries report them, in the
end over all documents.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.conformers import Conformers
from benchmarks.built.trained import HELD_OUT
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from benchmarks.quality.conformer_quality import BASE, DEPTH, MEASURES, bundle_of, quality
from ranklet import runtime
from ranklet.export.rankers.conformer_kernel.floors import (
    FLOOR_DOCUMENTS,
    drawn_documents,
    quantiles,
    scores_of_all,
)
from ranklet.export.rankers.conformer_kernel.impacts import CandidateScores, candidate_scores
from ranklet.export.rankers.conformer_kernel.term_prediction import LikelyTerms, likely_terms
from ranklet.runtime.lexical.impact_index import ImpactIndex
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.runtime.onnx.session import Session
from ranklet.runtime.pipeline.candidates import StoredCandidates
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.pipeline.stages import Pipeline, Retrieve
from ranklet.runtime.pipeline.topk import top_k
from ranklet.runtime.rankers.conformer_kernel.matching import TermMatching
from ranklet.runtime.rankers.conformer_kernel.network import FIRST
from ranklet.runtime.rankers.conformer_kernel.ranker import ConformerKernel
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.storage.documents import Documents
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.measures import discount
from ranklet.training.evaluation.systems import Evaluation, evaluate
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.progress import progress

PACKAGES = ("onnxruntime",)
COLLECTION, FORMS = "medquad", ("ndrm3", "ndrm1")
QUERIES = 300
DOCUMENTS = 4000  # all that are relevant to these among them
KEPT = (100, 200, 500)  # impacts a document
CANDIDATES = (400, 1500)  # terms a document that impacts are computed for
FLOORS = (0.0, 0.25, 0.5, 0.9)  # quantiles
SERVED = (ConformerKernelSettings.floor, 0.25)  # what a bundle has, and what it had before
AS_MADE, RANKED_BY = "as it is made", "nDCG@10"
STORED = ("float32", "float16")
BLOCK = 128  # documents whose scores are computed together

Top = NDArray[np.intp]  # the best documents, best first


def run(place: Place) -> str:
    """Score everything by the network, then by impacts of several kinds."""
    trained = Conformers(place, COLLECTION)
    bundle = BundleFiles(bundle_of(trained, FORMS))
    collection = place.collection(COLLECTION)
    choose, report = (read_split(collection, each, limit=QUERIES) for each in (HELD_OUT, "dev"))
    parts = [section(bundle, form, choose, report) for form in FORMS]
    return "\n\n".join([_intro(), *parts, over_all(trained)])


def over_all(trained: Conformers, limit: int | None = None) -> str:
    """Return what floors bring over the whole collection, on dev queries.

    Args:
        trained: the networks.
        limit: dev queries, at most; None for all.
    """
    queries = read_split(trained.place.collection(trained.collection), "dev", limit=limit)
    found: list[Evaluation] = []
    for floor in SERVED:
        bundle = runtime.load(bundle_of(trained, FORMS, floor))
        recipes = {f"{form.upper()}, floor at {floor:.0%}": _alone(form) for form in FORMS}
        if not found:
            recipes = {BASE: _alone("bm25"), **recipes}
        found += evaluate(bundle, queries, recipes, measures=tuple(MEASURES), depth=DEPTH)
    base, *others = found
    usual = {form: each.values[RANKED_BY] for form, each in zip(FORMS, others, strict=False)}
    gaps = [
        f"{form.upper()} {shown(difference(each.values[RANKED_BY], usual[form]))}"
        for form, each in zip(FORMS, others[len(FORMS) :], strict=True)
    ]
    return f"""\
### All {len(bundle):,} documents, {len(queries):,} dev queries

{quality([base, *others])}

Against *{BASE}*: † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction). \
{RANKED_BY} with the floor at {SERVED[1]:.0%} less that at {SERVED[0]:.0%}: {"; ".join(gaps)}."""


def _alone(ranker: str) -> Pipeline:
    return Pipeline((Retrieve(ranker, DEPTH),))


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


def section(
    bundle: BundleFiles,
    form: str,
    choose: list[JudgedQuery],
    report: list[JudgedQuery],
    most: int = DOCUMENTS,
) -> str:
    """Return the tables of a form.

    Args:
        bundle: with the form, and the collection that the queries are of.
        form: ndrm1 or ndrm3.
        choose: judged queries that choose.
        report: judged queries that have no part in a choice.
        most: documents; those that are relevant to a query are always among them.
    """
    documents = bundle.documents
    if documents is None:
        raise TypeError(f"{bundle.path} is not indexed")
    model = Model(bundle, form, _drawn(documents, [*choose, *report], most))
    usual, study, reported = model.usual, model.study(choose), model.study(report)
    lines = [study.measured("the network, every document", study.reference)]
    again = [reported.measured("the network, every document", reported.reference)]
    for share in FLOORS[1:]:
        cut = study.cut(model.floors[share])
        lines.append(study.measured(f"the network, below {share:.0%} as 0", cut))
    scores = model.candidates(usual.floor, usual.candidates)
    made = model.index(scores, usual.floor, usual.terms)
    lines.append(study.line(AS_MADE, made))
    again.append(reported.line(AS_MADE, made))
    for share in FLOORS:
        if share != usual.floor:
            own = model.candidates(share, usual.candidates)
            index = model.index(own, share, usual.terms)
            lines.append(study.line(f"floor at {share:.0%}", index))
            again.append(reported.line(f"floor at {share:.0%}", index))
    for count in CANDIDATES:
        index = model.index(model.candidates(usual.floor, count), usual.floor, usual.terms)
        lines.append(study.line(f"{count:,} candidates", index))
    every = len(model.matching.rows)
    lines.append(study.line("its own terms only", model.index(_own(scores), usual.floor, every)))
    counts = {**{f"{kept:,} terms": kept for kept in KEPT}, "all candidates": every}
    for label, kept in counts.items():
        index = model.index(scores, usual.floor, kept)
        lines.append(study.line(f"{label} kept", index))
    for stored in STORED:
        index = model.index(scores, usual.floor, usual.terms, stored)
        lines.append(study.line(stored, index))
    return f"""\
### {form.upper()}: {len(model.numbers):,} documents

{len(choose):,} held-out queries of train:

{_table(lines)}

{len(report):,} dev queries:

{_table(again)}

A bundle is made with {usual.candidates} candidates, floors at {usual.floor:.0%}, {usual.terms} \
terms kept, {usual.impacts}."""


def _table(lines: list[Line]) -> str:
    """Return rows with their differences to *as it is made*."""
    (made,) = (line.gains for line in lines if line.label == AS_MADE)
    head = ["impacts", "nDCG@10", f"− {AS_MADE} (95 %)", "R@100", "network's 10 best found", "MB"]
    rows = [
        [
            line.label,
            f"{line.gains.mean():.4f}",
            "" if line.label == AS_MADE else shown(difference(line.gains, made)),
            f"{line.recall:.4f}",
            f"{line.shared:.1%}",
            f"{line.size / 1e6:.1f}" if line.size else "",
        ]
        for line in lines
    ]
    return table(head, rows)


def _intro() -> str:
    return f"""\
{COLLECTION} without titles. Searched are all documents that are relevant to a query, and others \
at random. A term's scores are counted from its floor, a quantile of what the network gives it for \
other documents; what is below is left out. Candidates are a document's own terms and those that \
the network is likely to give most. Each row of impacts changes one thing of *{AS_MADE}*. *Below \
25% as 0* cuts the network's own scores at the same floors, for every term and every document. \
Intervals are the paired t-test's, without a correction."""


def _exact(bundle: BundleFiles, form: str, ranker: ConformerKernel) -> TermMatching:
    """Return the model by its fp32 network, without floors."""
    held = ranker.matching
    name = f"rankers/{form}/{VARIANTS['fp32']}"
    return TermMatching(
        ranker.settings, held.rows, held.idf_of, np.zeros_like(held.floors),
        lambda: Session(bundle.file(name), name, device="cpu", many=True),
        bundle.manifest.documents,
    )  # fmt: skip


def _drawn(documents: Documents, queries: list[JudgedQuery], most: int) -> NDArray[np.uint32]:
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


def _own(scores: CandidateScores) -> CandidateScores:
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
