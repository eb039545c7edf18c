"""An imported all-MiniLM-L6-v2, without training, alone and fused with BM25 by reciprocal ranks.

These rows are what every training has to beat. `ranklet build` makes each bundle: BM25 with its
default k1 and b, whole documents, and the model in 8 bits, which nobody has judged anything for.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.trained import all_cores
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet import runtime
from ranklet.export.build import build
from ranklet.export.imported import ranker_name
from ranklet.export.options import ExportOptions
from ranklet.runtime.pipeline.stages import Pipeline, Retrieve
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.data.collection import Collection
from ranklet.training.data.sources.options import SourceOptions
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.systems import MEASURES, comparisons, evaluate, mark
from ranklet.training.pretrained.backbone import wheel_folder

PACKAGES = ("onnxruntime", "sentence-transformers", "torch", "transformers")
# Collection, split, most queries, most documents. google-wiki's 189,814 would take 40 minutes
# on two cores, so the relevant ones and others at even distances stand for them.
COLLECTIONS = (
    ("scifact", "test", None, None),
    ("qa-mix", "dev", 2000, None),
    ("google-wiki", "dev", None, 30_000),
)
COMPARED = "scifact"  # small enough to encode in 32 bits by two libraries
DEPTH = 100
BASE = "BM25"


def run(place: Place) -> str:
    """Build each collection, evaluate, and compare with sentence-transformers' own ranking."""
    model = ranker_name(wheel_folder())
    rows = []
    for name, split, most, size in COLLECTIONS:
        collection = place.collection(name)
        queries = read_split(collection, split, limit=most)
        bundle = runtime.load(_bundle(place, name, "int8", _some(collection, queries, size)))
        recipes = {
            BASE: Pipeline((Retrieve("bm25", DEPTH),)),
            "MiniLM int8": Pipeline((Retrieve(model, DEPTH),)),
            "both, reciprocal ranks": bundle.manifest.pipelines["rrf"],
        }
        found = evaluate(bundle, queries, recipes, depth=DEPTH)
        against = {measure: comparisons(found, measure, BASE) for measure in MEASURES}
        for each in found:
            values = [
                f"{each.mean(measure):.4f}"
                + (mark(against[measure][each.pipeline].p_holm) if each.pipeline != BASE else "")
                for measure in MEASURES
            ]
            where = f"{name} {split} ({len(queries):,} of {len(bundle):,})"
            rows.append([where, each.pipeline, *values])
        if name == COMPARED:
            rows += _originals(place, collection, queries, model, split)
    return f"""
{table(["collection (queries of documents)", "system", *MEASURES], rows)}

Nothing was tuned or trained on these collections. Against BM25 of the same queries: † p < .05, \
‡ p < .01 (two-sided paired t-tests, Holm's correction). The rows of {COMPARED} in 32 bits compare \
the imported model with sentence-transformers' own vectors of the same folder; the goal is a \
difference of at most .001.
"""


def _some(
    collection: Collection, queries: Sequence[JudgedQuery], size: int | None
) -> list[dict[str, str]] | None:
    """Return the relevant documents and others at even distances; None for the whole collection."""
    if size is None:
        return None
    relevant = {document for query in queries for document in query.relevant}
    documents = list(collection.documents())
    every = max(1, len(documents) // max(1, size - len(relevant)))
    return [
        document._asdict()
        for number, document in enumerate(documents)
        if document.id in relevant or number % every == 0
    ]


def _bundle(
    place: Place, name: str, variant: str, some: list[dict[str, str]] | None = None
) -> Path:
    def make(path: Path) -> None:
        with all_cores():
            build(
                place.data / name if some is None else some,
                path,
                models=[wheel_folder()],
                options=SourceOptions(passage_words=0, overlap_words=0, skip_bad=True),
                export=ExportOptions(variants=(variant,)),
                overwrite=True,
            )

    return place.keep(f"{name}.imported.{variant}.ranklet", make)


def _originals(
    place: Place, collection: Collection, queries: list[JudgedQuery], model: str, split: str
) -> list[list[str]]:
    """Return rows of the imported model in 32 bits and of sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    bundle = runtime.load(_bundle(place, COMPARED, "fp32"))
    alone = {"alone": Pipeline((Retrieve(model, DEPTH),))}
    (ours,) = evaluate(bundle, queries, alone, depth=DEPTH)
    documents = list(collection.documents())
    theirs = SentenceTransformer(str(wheel_folder()), device="cpu", local_files_only=True)
    with all_cores():
        texts = [ranked_text(document.title, document.text, True) for document in documents]
        vectors = _unit(theirs.encode(texts, show_progress_bar=False))
        asked = _unit(theirs.encode([query.text for query in queries], show_progress_bar=False))
    order = np.argsort(-(asked @ vectors.T), axis=1, kind="stable")[:, :DEPTH]
    values = _measured(order, [document.id for document in documents], queries)
    where = f"{COMPARED} {split} ({len(queries):,} of {len(documents):,})"
    means = [ours.mean(measure) for measure in MEASURES]
    return [
        [where, "MiniLM fp32", *(f"{value:.4f}" for value in means)],
        [where, "MiniLM by sentence-transformers", *(f"{value:.4f}" for value in values)],
        [where, "difference", *(f"{a - b:+.4f}" for a, b in zip(means, values, strict=True))],
    ]


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _measured(order: NDArray[np.intp], ids: list[str], queries: list[JudgedQuery]) -> list[float]:
    """Return the measures of rankings that no bundle made, by ir-measures like all others."""
    import ir_measures

    qrels = [
        ir_measures.Qrel(query.id, document, grade)
        for query in queries
        for document, grade in query.relevant.items()
    ]
    run = [
        ir_measures.ScoredDoc(query.id, ids[number], float(DEPTH - rank))
        for query, row in zip(queries, order.tolist(), strict=True)
        for rank, number in enumerate(row)
    ]
    measures = [ir_measures.parse_measure(name.replace("MRR", "RR")) for name in MEASURES]
    values = ir_measures.calc_aggregate(measures, qrels, run)
    return [float(values[measure]) for measure in measures]
