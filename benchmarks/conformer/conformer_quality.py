"""The Conformer-Kernel against BM25, TK and TKL, reranking and retrieving (Mitra et al., Table 1).

The networks learn from random pairs and BM25's, with word2vec's vectors.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.built.conformers import TK_TERMS, Conformers
from benchmarks.built.trained import TUNING_QUERIES
from benchmarks.dense.repbert_quality import parity
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet import runtime
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.onnx.graph import TorchSession
from ranklet.export.options import ExportOptions
from ranklet.export.proof.report import read_reports
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.candidates import StoredCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.pipeline import Pipeline, Rescore, Retrieve
from ranklet.runtime.rankers.conformer_kernel.matching import TermMatching
from ranklet.runtime.rankers.conformer_kernel.ranker import ConformerKernel
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.systems import Evaluation, comparisons, evaluate, mark
from ranklet.training.rankers.conformer_kernel import training as conformer_kernel

PACKAGES = ("torch", "gensim", "onnx", "onnxruntime")
COLLECTION = "medquad"  # without titles, which would give it away
DEPTH = 100  # documents reranked and measured, as in the paper
RERANKED = 500  # dev queries of the rows that run a network; the others have all
# All grades are 0 or 1, and NCG@100 is then R@100.
MEASURES = {"nDCG@10": "nDCG@10", "R@100": "NCG@100", "AP@100": "AP", "RR@100": "RR"}
BASE = "BM25 (lemmas), tuned"
LATENT, BOTH = "NDRM1, fullrank", "NDRM3, fullrank"
FORMS = ("ndrm1", "ndrm2", "ndrm3", "tk", "tkl")
PROVEN = 200  # pairs of a query and a document whose impacts are compared with PyTorch

# What an indexed bundle depends on, in addition to the checkpoints that it is made of.
BUNDLE = (
    *(f"export/{name}" for name in ("onnx", "proof", "rankers/conformer_kernel")),
    *(f"export/rankers/{name}.py" for name in ("bm25", "tk")),
    *(f"export/{name}.py" for name in ("bundles", "default_pipelines", "resumable")),
    *(f"training/rankers/{name}" for name in ("conformer_kernel", "tk")),
    "training/indexing",
    "training/data/probes.py",
    *(f"runtime/text/{name}.py" for name in ("analysis", "words")),
    *(f"runtime/lexical/{name}.py" for name in ("impact_index", "bm25")),
    "runtime/rankers/conformer_kernel",
    "runtime/rankers/tk.py",
)  # fmt: skip


def run(place: Place) -> str:
    """Train or take what is kept; export, index, evaluate."""
    return section(Conformers(place, COLLECTION))


def section(trained: Conformers, *, limit: int | None = None, few: int = RERANKED) -> str:
    """Return the tables of a collection.

    Args:
        trained: the networks.
        limit: dev queries, at most; None for all.
        few: of these, for what runs a network.
    """
    path = bundle_of(trained)
    bundle = runtime.load(path)
    documents = trained.place.collection(trained.collection)
    asked = read_split(documents, "dev", limit=limit)
    some = read_split(documents, "dev", limit=few)
    measures = tuple(MEASURES)
    found = evaluate(bundle, asked, without_network(), measures=measures, depth=DEPTH)
    reranked = evaluate(bundle, some, with_network(), measures=measures, depth=DEPTH)
    proofs = read_reports(path)
    shown = "\n\n".join(f"{name}:\n\n{parity(reports)}" for name, reports in proofs.items())
    return f"""
### {trained.collection}{"" if trained.titles else ", without titles"}

{len(bundle):,} documents, as {trained.bm25().field} for all systems; BM25 tuned on \
{TUNING_QUERIES:,} queries of train. Networks of {trained.hidden} dimensions and {trained.heads} \
heads (the paper: 256, 32) learn from {trained.queries:,} queries of train at most, on all cores, \
where NDRM1, NDRM3, TK and TKL take as many steps: {_courses(trained)}. TK reads {TK_TERMS} terms \
of a document, the others 4,000. *rerank*: on BM25's best {DEPTH}; *fullrank*: impacts alone, no \
network; *fullrank, rescored*: the model on the impacts' best {DEPTH}.

No network runs, {len(asked):,} dev queries:

{quality(found)}

{against(found, BOTH, LATENT)}

With networks, {len(some):,} of these queries:

{quality(reranked)}

{against(reranked, "NDRM1, rerank", "TK, rerank")} \
{against(reranked, "NDRM1, rerank", "TKL, rerank")} \
{against(reranked, "NDRM1, rerank", "NDRM1, fullrank")} \
{against(reranked, "NDRM3, rerank", "NDRM3, fullrank")}

Against *{BASE}*: † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction).

{independence(trained, path, some)}

Exported variants beside PyTorch, on probes; impacts beside the fp32 network, on documents of the \
collection:

{shown}"""


def without_network() -> dict[str, Pipeline]:
    """Return the systems that numpy serves, in the order of the table."""
    first = Retrieve("bm25", DEPTH)
    return {
        BASE: Pipeline((first,)),
        "NDRM2, rerank": Pipeline((first, Rescore("ndrm2"))),
        LATENT: Pipeline((Retrieve("ndrm1", DEPTH),)),
        "NDRM2, fullrank": Pipeline((Retrieve("ndrm2", DEPTH),)),
        BOTH: Pipeline((Retrieve("ndrm3", DEPTH),)),
    }


def with_network() -> dict[str, Pipeline]:
    """Return the systems that run a network over pairs, and two to compare with."""
    first = Retrieve("bm25", DEPTH)
    found = {BASE: Pipeline((first,))}
    for form in ("tk", "tkl"):
        found[f"{form.upper()}, rerank"] = Pipeline((first, Rescore(form)))
    for form in ("ndrm1", "ndrm3"):
        full = Retrieve(form, DEPTH)
        found[f"{form.upper()}, rerank"] = Pipeline((first, Rescore(form)))
        found[f"{form.upper()}, fullrank"] = Pipeline((full,))
        found[f"{form.upper()}, fullrank, rescored"] = Pipeline((full, Rescore(form)))
    return found


def quality(found: Sequence[Evaluation]) -> str:
    """Return systems by measures, with marks of significance."""
    compared = {measure: comparisons(found, measure, BASE) for measure in MEASURES}
    rows = []
    for each in found:
        cells = [each.pipeline]
        for measure in MEASURES:
            test = compared[measure].get(each.pipeline)
            cells.append(f"{each.mean(measure):.4f}{mark(test.p_holm) if test else ''}")
        rows.append(cells)
    return table(["system", *MEASURES.values()], rows)


def against(found: Sequence[Evaluation], first: str, second: str) -> str:
    """Return by how much a system is above another on each measure, with the t-test's p."""
    two = [each for each in found if each.pipeline in (first, second)]
    told = []
    for measure, name in MEASURES.items():
        test = comparisons(two, measure, second).get(first)
        if test is not None:
            told.append(f"{name} {test.difference:+.4f} (p = {test.p:.2g})")
    return f"{first} against {second}, two-sided paired t-tests: {', '.join(told) or 'no test'}."


def independence(trained: Conformers, path: Path, queries: Sequence[JudgedQuery]) -> str:
    """Compare NDRM3's stored impacts, term by term, with PyTorch's scores above the floors."""
    bundle = BundleFiles(path)
    ranker, documents = bundle.ranker("ndrm3"), bundle.documents
    if not isinstance(ranker, ConformerKernel) or documents is None:
        raise TypeError(f"{path} holds no indexed ndrm3")
    latent = conformer_kernel.load(trained.checkpoint("ndrm3")).latent
    if latent is None:
        raise TypeError("an ndrm3 has a network")
    held = ranker.matching
    matching = TermMatching(
        ranker.settings, held.rows, held.idf_of, held.floors, lambda: TorchSession(latent),
        bundle.manifest.documents,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    stored, model, allowed, lost = [], [], [], []
    for at in rng.permutation(len(queries))[:PROVEN].tolist():
        query = QueryContext(queries[at].text, bundle.analyzer.begin())
        found = ranker.retrieve(query, DEPTH).numbers
        if not len(found):
            continue
        pair = StoredCandidates(documents, found[[int(rng.integers(len(found)))]])
        terms, counts = ranker._known(query)
        impacts = ranker.index.matrix(terms, pair.stored)[:, 0]
        exact = np.add(*matching.parts(terms, pair))[:, 0]
        kept = impacts > 0
        stored.append(float(counts[kept] @ impacts[kept]))
        model.append(float(counts[kept] @ exact[kept]))
        allowed.append(float(counts[kept].sum()) * ranker.index.scale / 2)
        lost.append(float(counts[~kept] @ np.maximum(exact[~kept], 0)))
    off = np.abs(np.subtract(stored, model))
    worst = int(np.argmax(off / allowed))
    return f"""
Query term independence, {len(off)} pairs of a query and one of the {DEPTH} that NDRM3 retrieves: \
over the terms that the index holds, the sum of impacts is off PyTorch's score less the floors by \
{off.max():.4f} at most ({off[worst]:.4f} where half a step of 8 bits a term allows \
{allowed[worst]:.4f}, the nearest to its limit; {int((off > np.add(allowed, 1e-4)).sum())} above \
theirs). Scores are {np.mean(model):.2f} on average; what no impact holds would add \
{np.mean(lost):.3f}.""".strip()


def bundle_of(
    trained: Conformers, forms: Sequence[str] = FORMS, floor: float = ConformerKernelSettings.floor
) -> Path:
    """Return the bundle of BM25 and some forms, indexed.

    Args:
        trained: the networks.
        forms: of these.
        floor: quantile of a term's scores that impacts are counted from.
    """

    def build(path: Path) -> None:
        checkpoints = {"bm25": Checkpoint("bm25", trained.bm25())}
        for form in forms:
            found = trained.checkpoint(form)
            if isinstance(found.settings, ConformerKernelSettings):
                # A network that was kept may have an older default.
                found = replace(found, settings=replace(found.settings, floor=floor))
            checkpoints[form] = found
        rankers = path.with_name(f"{path.name}.rankers")
        options = ExportOptions(variants=("fp32", "fp16", "int8"))
        export_bundle(checkpoints, rankers, options, overwrite=True)
        documents = trained.place.collection(trained.collection)
        index_bundle(rankers, documents, path, titles=trained.titles, overwrite=True)

    steps = dict(trained.steps)
    named = "-".join(f"{form}.{steps[form]}" for form in forms)
    return trained.place.keep(f"{trained.name}.{named}.floor-{floor:g}.ranklet", build, BUNDLE)


def _courses(trained: Conformers) -> str:
    told = []
    for form in FORMS:
        training = trained.checkpoint(form).training
        told.append(f"{form} {training['steps']:,} steps, dev {training['best']:.3f}")
    return "; ".join(told)
