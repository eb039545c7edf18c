"""What a Conformer-Kernel's impacts lose: how many terms a document keeps, which, in how many bits.

Full scoring of every document by the network is the reference. The network runs once for all rows.
NDRM1's impacts rank better than its network. So the network is also measured with its scores below
the floors counted as 0, which is what impacts do with every term, whichever terms they keep.
The floors and the candidates of a bundle are choices, so held-out queries of train make them here.
No query that `conformer_quality` reports has a part in it.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.conformers import Conformers
from benchmarks.built.trained import HELD_OUT
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from benchmarks.quality.conformer_quality import bundle_of
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
from ranklet.runtime.pipeline.topk import top_k
from ranklet.runtime.rankers.conformer_kernel.matching import TermMatching
from ranklet.runtime.rankers.conformer_kernel.network import FIRST
from ranklet.runtime.rankers.conformer_kernel.ranker import ConformerKernel
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.storage.documents import Documents
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.measures import discount
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.progress import progress

PACKAGES = ("onnxruntime",)
COLLECTION, FORMS = "medquad", ("ndrm3", "ndrm1")
QUERIES = 300
DOCUMENTS = 4000  # all that are relevant to these among them
KEPT = (100, 200, 500)  # impacts a document
CANDIDATES = (400, 1500)  # terms a document that impacts are computed for
FLOORS = (0.0, 0.25, 0.5, 0.9)  # quantiles
STORED = ("float32", "float16")
BLOCK = 128  # documents whose scores are computed together

Top = NDArray[np.intp]  # the best documents, best first


def run(place: Place) -> str:
    """Score everything by the network, then by impacts of several kinds."""
    bundle = BundleFiles(bundle_of(Conformers(place, COLLECTION), FORMS))
    queries = read_split(place.collection(COLLECTION), HELD_OUT, limit=QUERIES)
    return "\n\n".join([_intro(), *(section(bundle, form, queries) for form in FORMS)])


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

    def row(self, told: str, index: ImpactIndex) -> list[str]:
        """Return a row of the table."""
        found = [index.retrieve(*each, 100)[0].astype(np.intp) for each in self.asked]
        return self.measured(told, found, index.documents.nbytes + index.impacts.nbytes)

    def measured(self, told: str, found: list[Top], size: int) -> list[str]:
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
        return [
            told,
            f"{np.mean(gains):.4f}",
            f"{np.mean(recalls):.4f}",
            f"{np.mean(shared):.1%}",
            f"{size / 1e6:.1f}" if size else "",
        ]


def section(
    bundle: BundleFiles, form: str, queries: list[JudgedQuery], most: int = DOCUMENTS
) -> str:
    """Return the table of a form.

    Args:
        bundle: with the form, and the collection that the queries are of.
        form: ndrm1 or ndrm3.
        queries: judged ones.
        most: documents; those that are relevant to a query are always among them.
    """
    ranker, documents = bundle.ranker(form), bundle.documents
    if not isinstance(ranker, ConformerKernel) or documents is None:
        raise TypeError(f"{bundle.path} holds no indexed {form}")
    forwards = {"words": documents.forward("words")}  # lemmas follow from it
    field = ranker.settings.field
    analysed = AnalysedCollection(documents, bundle.analyzer, forwards, (field,), titles=False)
    matching = _exact(bundle, form, ranker)
    usual, words = ranker.settings, len(matching.rows)
    numbers = _drawn(documents, queries, most)
    study = _study(bundle, documents, matching, queries, numbers)
    offsets, tokens = analysed.offsets(field), analysed.tokens(field)
    most_terms = usual.max_document_terms
    lengths = np.minimum(np.diff(offsets), most_terms)
    held = [np.asarray(tokens[offsets[at] :][: lengths[at]], np.int32) for at in numbers.tolist()]
    known = np.flatnonzero(matching.rows >= FIRST)
    drawn = drawn_documents(matching, analysed, FLOOR_DOCUMENTS)
    of_floors = scores_of_all(matching, known, drawn, "floors of terms")
    floors = {}
    for share in FLOORS:
        matching.settings = replace(usual, floor=share)
        floors[share] = quantiles(matching, of_floors)
    matching.settings, matching.floors = usual, floors[usual.floor]
    likely = likely_terms(matching, analysed)
    scores, usual_floors = _candidates(matching, likely, held), floors[usual.floor]
    kinds = {"as it is made": scores}
    for count in CANDIDATES:
        matching.settings = replace(usual, candidates=count)
        kinds[f"{count:,} candidates"] = _candidates(matching, likely, held)
    rows = [study.measured("the network, every document", study.reference, 0)]
    for share in FLOORS[1:]:
        told = f"the network, below {share:.0%} as 0"
        rows.append(study.measured(told, study.cut(floors[share]), 0))
    for told, each in kinds.items():
        index = each.largest(usual_floors, usual.terms).indexed(words, usual.impacts)
        rows.append(study.row(told, index))
    own = _own(scores).largest(usual_floors, words).indexed(words, usual.impacts)
    rows.append(study.row("its own terms only", own))
    for share in FLOORS:
        if share != usual.floor:
            index = scores.largest(floors[share], usual.terms).indexed(words, usual.impacts)
            rows.append(study.row(f"floor at {share:.0%}", index))
    for kept in KEPT:
        index = scores.largest(usual_floors, kept).indexed(words, usual.impacts)
        rows.append(study.row(f"{kept:,} terms kept", index))
    for stored in STORED:
        index = scores.largest(usual_floors, usual.terms).indexed(words, stored)
        rows.append(study.row(stored, index))
    head = ["impacts", "nDCG@10", "R@100", "network's 10 best found", "MB"]
    return f"""\
### {form.upper()}: {len(queries)} queries, {len(numbers):,} documents

{table(head, rows)}

Likely terms are foretold for {len(likely.terms):,} common terms from {len(likely.anchors)} of \
them. A bundle is made with {usual.candidates} candidates, floors at {usual.floor:.0%}, \
{usual.terms} terms kept, {usual.impacts}."""


def _intro() -> str:
    return f"""\
{COLLECTION} without titles. Held-out queries of train choose, because dev queries are reported \
elsewhere. Searched are all documents that are relevant to a query, and others at random. A \
term's scores are counted from its floor, a quantile of what the network gives it for other \
documents; what is below is left out. Candidates are a document's own terms and those that the \
network is likely to give most. Each row of impacts changes one thing of *as it is made*. *Below \
25% as 0* cuts the network's own scores at the same floors, for every term and every document."""


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


def _study(
    bundle: BundleFiles,
    documents: Documents,
    matching: TermMatching,
    queries: list[JudgedQuery],
    numbers: NDArray[np.uint32],
) -> Study:
    """Score by the network: each document is read once, for all queries' terms."""
    analysis = bundle.analyzer.begin()
    counted = []
    for query in queries:
        tokens = matching.query_tokens(QueryContext(query.text, analysis))
        terms, counts = np.unique(tokens, return_counts=True)
        known = terms < len(matching.rows)
        counted.append((terms[known], counts[known].astype(np.float32)))
    terms = np.unique(np.concatenate([own for own, _ in counted]))
    parts = [
        np.add(*matching.parts(terms, StoredCandidates(documents, numbers[at : at + BLOCK])))
        for at in progress(range(0, len(numbers), BLOCK), "scores by the network")
    ]
    ids = [documents.ids[at] for at in numbers.tolist()]
    relevant = [{*query.relevant} for query in queries]
    return Study(ids, relevant, counted, terms, np.concatenate(parts, axis=1))


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
