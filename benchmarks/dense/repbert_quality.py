"""What RepBERT adds to BM25, and what its exported variants keep of PyTorch's ranking.

qa-mix: questions to passages of Wikipedia and of medical sites. MiniLM-L6 is fine-tuned on the
training split as in Zhan et al., exported, and the collection encoded with the int8 variant.
"""

from pathlib import Path
from time import perf_counter

from benchmarks.built.trained import (
    HELD_OUT,
    REPBERT_MINUTES,
    TUNING_QUERIES,
    medquad_neural_model1,
    qa_mix_dense,
    tuned_bm25,
)
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet import runtime
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.fusion import learn_weights
from ranklet.export.options import ExportOptions
from ranklet.export.proof.report import Report, read_reports
from ranklet.runtime.pipeline import Fuse, Pipeline, Retrieve
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.splits import read_split
from ranklet.training.evaluation.consistency import Consistency
from ranklet.training.evaluation.systems import MEASURES, comparisons, evaluate, mark

PACKAGES = ("torch", "transformers", "onnx", "onnxruntime")
COLLECTION = "qa-mix"
WEIGHING = 600  # held-out queries that weights of fusion are learned on
DEPTH = 100  # documents of each retriever
BASE, DENSE = "BM25 (lemmas), tuned", "RepBERT"
CONSISTENCY = 100


def run(place: Place) -> str:
    """Train or take what is kept; export, index, learn weights on held-out queries, evaluate."""
    path = qa_mix_bundle(place)
    bundle, collection = runtime.load(path), place.collection(COLLECTION)
    queries = read_split(collection, "dev")
    held_out = read_split(collection, HELD_OUT, limit=WEIGHING)
    both = ("bm25", "dense")
    weights = learn_weights(bundle, both, held_out).weights
    lists = (Retrieve("bm25", DEPTH), Retrieve("dense", DEPTH))
    recipes = {
        BASE: Pipeline(lists[:1]),
        DENSE: Pipeline(lists[1:]),
        "both, alternating (Zhan et al., eq. 6)": Pipeline((*lists, Fuse("alternate", both))),
        "both, reciprocal ranks": Pipeline((*lists, Fuse("rrf", both, (1.0, 1.0)))),
        "both, learned weights": Pipeline((*lists, Fuse("linear", both, weights))),
    }
    agreement = Consistency(CONSISTENCY)
    begin = perf_counter()
    found = evaluate(bundle, queries, recipes, depth=DEPTH, watchers=[agreement.add])
    minutes = (perf_counter() - begin) / 60
    against = {measure: comparisons(found, measure, BASE) for measure in MEASURES}
    rows = [
        [
            each.pipeline,
            *(
                f"{each.mean(measure):.4f}"
                + (mark(against[measure][each.pipeline].p_holm) if each.pipeline != BASE else "")
                for measure in MEASURES
            ),
        ]
        for each in found
    ]
    share = agreement.means()[DENSE]
    report = read_reports(path)["dense"]
    course = qa_mix_dense(place).training
    dev = ", ".join(f"{each['value']:.3f}" for each in course["evaluations"])
    return f"""
{COLLECTION}: {len(bundle):,} documents, {len(queries):,} dev queries, {DEPTH} documents of each \
retriever. BM25 tuned on {TUNING_QUERIES:,} queries of train. RepBERT: {course["backbone"]}, \
{course["steps"]:,} steps of 32 queries, in-batch negatives and one of BM25's a query, at most \
{REPBERT_MINUTES:g} minutes ({course["seconds"] / 60:.0f} taken, on all cores); \
{course["measure"]} on held-out queries as it learned: {dev}. Weights of fusion from {WEIGHING} \
held-out queries: {" : ".join(f"{weight:.3f}" for weight in weights)}.

{table(["system", *MEASURES], rows)}

Against *{BASE}*: † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction). Evaluating \
took {minutes:.1f} minutes on one thread. Of RepBERT's top {CONSISTENCY}, BM25 has {share:.1%} in \
its own top {DEPTH} (Zhan et al., eq. 5, which looks 1,000 deep).

The proof of the exported variants, {report[0].pairs:,} pairs of held-out queries and documents, \
each scored alone as on a server; error as a share of the standard deviation of PyTorch's scores:

{parity(report)}
"""


def qa_mix_bundle(place: Place) -> Path:
    """Return an indexed bundle of qa-mix: BM25, RepBERT and the neural Model 1 of medquad.

    The last is there for the benchmarks of speed that share this bundle.
    """

    def build(path: Path) -> None:
        checkpoints = {
            "bm25": Checkpoint("bm25", tuned_bm25(place, COLLECTION)),
            "dense": qa_mix_dense(place),
            "neural_model1": medquad_neural_model1(place),
        }
        rankers = path.with_name(f"{path.name}.rankers")
        options = ExportOptions(variants=("fp32", "fp16", "int8"))
        export_bundle(checkpoints, rankers, options=options, overwrite=True)
        index_bundle(rankers, place.collection(COLLECTION), path, overwrite=True)

    return place.keep(f"{COLLECTION}.ranklet", build)


def parity(reports: list[Report]) -> str:
    """Return a table of variants beside PyTorch."""
    head = ["variant", "max error", "Kendall τ", "same top 10", "same first", "nDCG@10", "loss"]
    head += ["alone or in company", "MB", "ms a document"]
    torch = ["PyTorch", "", "", "", "", f"{reports[0].torch_ndcg:.4f}", "", "", "", ""]
    rows = [
        [
            each.variant + (" (refused)" if each.refused else ""),
            f"{each.max_error:.2%}",
            f"{each.kendall:.4f}",
            f"{each.overlap:.1%}",
            f"{each.same_top:.1%}",
            f"{each.ndcg:.4f}",
            f"{each.ndcg_loss:+.2%}",
            f"{each.batch_error:.2%}",
            f"{each.bytes / 1e6:.1f}",
            f"{each.ms:.1f}",
        ]
        for each in reports
    ]
    return table(head, [torch, *rows])
