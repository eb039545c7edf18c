"""The Conformer-Kernel against BM25 and TK, reranking and retrieving, as paper 002's Table 1.

Every network learns for the same time, from random pairs and BM25's, with word2vec's vectors.
"""

from pathlib import Path
from typing import Any

from benchmarks.place import Place
from benchmarks.repbert_quality import parity
from benchmarks.report import table
from benchmarks.trained import (
    CONFORMER_MINUTES,
    CONFORMER_SIZES,
    TUNING_QUERIES,
    conformer,
    tuned_bm25,
)
from ranklet import runtime
from ranklet.export.exporting import export_bundle, index_bundle
from ranklet.export.options import ExportOptions
from ranklet.export.report import read_reports
from ranklet.runtime.pipeline import Pipeline, Rescore, Retrieve
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.evaluation import Evaluation, comparisons, evaluate, mark
from ranklet.training.splits import read_split

PACKAGES = ("torch", "gensim", "onnx", "onnxruntime")
COLLECTIONS = {"medquad": False, "qa-mix": True}  # with titles; medquad's would give it away
DEPTH = 100  # documents reranked and measured, as in the paper
QUERIES = 1000  # of dev, drawn once
# All grades are 0 or 1, and NCG@100 is then R@100.
MEASURES = {"nDCG@10": "nDCG@10", "R@100": "NCG@100", "AP@100": "AP", "RR@100": "RR"}
BASE = "BM25 (lemmas), tuned"
FORMS = ("ndrm1", "ndrm2", "ndrm3", "tk")


def run(place: Place) -> str:
    """Train or take what is kept; export, index, evaluate."""
    return "\n\n".join(section(place, name, titles) for name, titles in COLLECTIONS.items())


def section(
    place: Place, collection: str, titles: bool, *, queries: int = QUERIES, **changes: Any
) -> str:
    """Return the table of a collection.

    Args:
        place: where things are kept.
        collection: its name.
        titles: whether titles are ranked.
        queries: of dev, at most.
        changes: of the trainings, see `conformer`.
    """
    path = bundle_of(place, collection, titles, **changes)
    bundle = runtime.load(path)
    asked = read_split(place.collection(collection), "dev", limit=queries)
    found = evaluate(bundle, asked, recipes(), measures=tuple(MEASURES), depth=DEPTH)
    proofs = read_reports(path)
    shown = "\n\n".join(f"{name}:\n\n{parity(reports)}" for name, reports in proofs.items())
    return f"""
### {collection}{"" if titles else ", without titles"}

{len(bundle):,} documents, {len(asked):,} dev queries; BM25 tuned on {TUNING_QUERIES:,} queries of \
train. Networks of {CONFORMER_SIZES["hidden"]} dimensions and {CONFORMER_SIZES["heads"]} heads \
(the paper: 256, 32) learn for {CONFORMER_MINUTES:g} minutes each, on all cores: \
{_courses(place, collection, titles, **changes)}. *rerank*: the network on BM25's best {DEPTH}; \
*fullrank*: impacts alone, no network; *fullrank, rescored*: the network on the impacts' best \
{DEPTH}.

{quality(found)}

Against *{BASE}*: † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction).

Exported variants beside PyTorch, on probes; impacts beside the fp32 network, on documents of the \
collection:

{shown}"""


def recipes() -> dict[str, Pipeline]:
    """Return the systems in the order of the table."""
    first = Retrieve("bm25", DEPTH)
    found = {BASE: Pipeline((first,)), "TK, rerank": Pipeline((first, Rescore("tk")))}
    for form in FORMS[:3]:
        full = Retrieve(form, DEPTH)
        found[f"{form.upper()}, rerank"] = Pipeline((first, Rescore(form)))
        found[f"{form.upper()}, fullrank"] = Pipeline((full,))
        found[f"{form.upper()}, fullrank, rescored"] = Pipeline((full, Rescore(form)))
    return found


def quality(found: list[Evaluation]) -> str:
    """Return systems by measures, with marks of significance."""
    against = {measure: comparisons(found, measure, BASE) for measure in MEASURES}
    rows = []
    for each in found:
        cells = [each.pipeline]
        for measure in MEASURES:
            compared = against[measure].get(each.pipeline)
            cells.append(f"{each.mean(measure):.4f}{mark(compared.p_holm) if compared else ''}")
        rows.append(cells)
    return table(["system", *MEASURES.values()], rows)


def bundle_of(place: Place, collection: str, titles: bool, **changes: Any) -> Path:
    """Return the bundle of BM25 and all forms, indexed."""

    def build(path: Path) -> None:
        checkpoints = {"bm25": Checkpoint("bm25", tuned_bm25(place, collection, titles=titles))}
        for form in FORMS:
            checkpoints[form] = conformer(place, collection, form, titles=titles, **changes)
        rankers = path.with_name(f"{path.name}.rankers")
        options = ExportOptions(variants=("fp32", "fp16", "int8"))
        export_bundle(checkpoints, rankers, options, overwrite=True)
        index_bundle(rankers, place.collection(collection), path, titles=titles, overwrite=True)

    return place.keep(f"{collection}.conformer.ranklet", build)


def _courses(place: Place, collection: str, titles: bool, **changes: Any) -> str:
    told = []
    for form in FORMS:
        training = conformer(place, collection, form, titles=titles, **changes).training
        told.append(f"{form} {training['steps']:,} steps, dev {training['best']:.3f}")
    return "; ".join(told)
