"""What a Conformer-Kernel's impacts lose: how many terms a document keeps, which, in how many bits.

Full scoring of every document by the network is the reference.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.conformer_quality import bundle_of
from benchmarks.place import Place
from benchmarks.report import table
from ranklet.export.term_impacts import Impacts, document_impacts, latent_floors
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.candidates import StoredCandidates
from ranklet.runtime.ranker import Query
from ranklet.runtime.rankers.conformer_kernel import ConformerKernel, neighbours
from ranklet.runtime.term_matching import TermMatching
from ranklet.runtime.topk import top_k
from ranklet.training.indexing import AnalysedCollection
from ranklet.training.measures import discount
from ranklet.training.splits import JudgedQuery, read_split

PACKAGES = ("onnxruntime",)
COLLECTION, FORM = "medquad", "ndrm3"
QUERIES = 150
KEPT = (100, 300, 1000)  # impacts a document
CANDIDATES = 1500  # terms a document that impacts are computed for
FLOORS = (0.0, 0.5, 0.9)  # quantiles
STORED = ("float32", "float16", "uint8")

Top = NDArray[np.intp]  # the best documents, best first


def run(place: Place) -> str:
    """Score everything by the network, then by impacts of several kinds."""
    bundle = Bundle(bundle_of(place, COLLECTION, titles=False))
    return section(place, bundle, QUERIES)


def section(place: Place, bundle: Bundle, limit: int) -> str:
    """Return the table for a bundle that holds `FORM`."""
    ranker = bundle.ranker(FORM)
    documents = bundle.documents
    if not isinstance(ranker, ConformerKernel) or documents is None:
        raise TypeError(f"{bundle.path} holds no indexed {FORM}")
    forwards = {field: documents._forward(field) for field in documents.stored_fields}
    analysed = AnalysedCollection(
        documents, bundle.analyzer, forwards, (ranker.settings.field,), titles=False
    )
    queries = read_split(place.collection(COLLECTION), "dev", limit=limit)
    asked = [_counted(ranker, bundle, query.text) for query in queries]
    reference = _by_network(ranker, bundle, asked)
    rows = [_row("the network, every document", reference, reference, queries, bundle, 0)]
    near = neighbours(bundle, FORM)
    for floor in FLOORS:
        matching = _with(ranker.matching, floor=floor, candidates=CANDIDATES, terms=CANDIDATES)
        matching.floors = latent_floors(matching, analysed)
        everything = document_impacts(matching, near, analysed)
        for kept in KEPT if floor == ranker.settings.floor else KEPT[1:2]:
            for stored in (
                STORED if kept == KEPT[1] and floor == ranker.settings.floor else ("uint8",)
            ):
                index = _largest(everything, kept).indexed(len(ranker.matching.rows), stored)
                found = [index.retrieve(*each, 100)[0].astype(np.intp) for each in asked]
                size = index.documents.nbytes + index.impacts.nbytes
                told = f"floor at {floor:.0%}, {kept} terms, {stored}"
                rows.append(_row(told, found, reference, queries, bundle, size))
    own = _with(ranker.matching, candidates=1, terms=CANDIDATES)
    own.floors = latent_floors(own, analysed)
    index = document_impacts(own, near, analysed).indexed(len(ranker.matching.rows), "uint8")
    found = [index.retrieve(*each, 100)[0].astype(np.intp) for each in asked]
    size = index.documents.nbytes + index.impacts.nbytes
    rows.append(_row("its own terms only, uint8", found, reference, queries, bundle, size))
    head = ["impacts", "nDCG@10", "R@100", "network's 10 best found", "MB"]
    return f"""
{COLLECTION}, {FORM.upper()}, {len(queries)} dev queries. A term's scores are counted from its \
floor, a quantile of what the network gives it for other documents; what is below is left out. \
Candidates are a document's own terms and those nearest by embedding, {CANDIDATES:,} at most.

{table(head, rows)}
"""


def _with(matching: TermMatching, **changes: object) -> TermMatching:
    settings = replace(matching.settings, **changes)  # type: ignore[arg-type]
    return TermMatching(
        settings, matching.rows, matching.idf_of, matching.floors, lambda: matching.session,
        matching._size,
    )  # fmt: skip


def _counted(
    ranker: ConformerKernel, bundle: Bundle, text: str
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    return ranker._known(Query(text, bundle.analyzer.begin()))


def _by_network(
    ranker: ConformerKernel,
    bundle: Bundle,
    asked: list[tuple[NDArray[np.int32], NDArray[np.float32]]],
) -> list[Top]:
    """Return the network's 100 best of all documents: each read once, for all queries' terms."""
    terms = np.unique(np.concatenate([each for each, _ in asked]))
    documents = bundle.documents
    if documents is None:
        raise TypeError(f"{bundle.path} has no collection")
    every = np.arange(len(documents), dtype=np.uint32)
    query = Query("", bundle.analyzer.begin())
    latent, explicit = ranker.matching.parts(query, terms, StoredCandidates(documents, every))
    both = latent + explicit
    return [
        top_k(counts @ both[np.searchsorted(terms, each)], 100)
        if len(each)
        else np.empty(0, np.intp)
        for each, counts in asked
    ]


def _largest(impacts: Impacts, kept: int) -> Impacts:
    """Return the largest impacts of each document."""
    lengths, terms, values = [0], [], []
    for begin, end in zip(impacts.offsets[:-1].tolist(), impacts.offsets[1:].tolist(), strict=True):
        best = np.argsort(-impacts.values[begin:end], kind="stable")[:kept] + begin
        lengths.append(lengths[-1] + len(best))
        terms.append(impacts.terms[best])
        values.append(impacts.values[best])
    return Impacts(np.array(lengths, np.int64), np.concatenate(terms), np.concatenate(values))


def _row(
    told: str,
    found: list[Top],
    reference: list[Top],
    queries: list[JudgedQuery],
    bundle: Bundle,
    size: int,
) -> list[str]:
    if bundle.documents is None:
        raise TypeError("the bundle has no documents")
    ids = bundle.documents.ids
    gains, recalls, shared = [], [], []
    for top, wanted, query in zip(found, reference, queries, strict=True):
        hit = np.array([ids[at] in query.relevant for at in top.tolist()], np.float64)
        ideal = discount(np.arange(1, min(len(query.relevant), 10) + 1)).sum()
        gains.append(float(hit[:10] @ discount(np.arange(1, len(hit[:10]) + 1))) / ideal)
        recalls.append(hit.sum() / len(query.relevant))
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
