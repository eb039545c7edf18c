"""NDRM1 and NDRM3 after as many steps each: reranking, and retrieving by impacts.

Each is exported and indexed, so what is measured is what is served (Mitra et al., Table 1).
"""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.built.trained import CONFORMER, MEDQUAD, learned, tuned_bm25
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet import runtime
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.runtime.pipeline import Pipeline, Rescore, Retrieve
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.splits import read_split
from ranklet.training.evaluation.significance import holm, interval, paired_t_test
from ranklet.training.evaluation.systems import Evaluation, evaluate

PACKAGES = ("torch", "gensim", "onnx", "onnxruntime")
DEPTH = 100  # of BM25's documents that are reranked, as in the paper
RERANKED = 500  # dev queries of what runs a network; the others have all
MEASURE = "nDCG@10"
BM25 = "BM25"
RETRIEVING = (("NDRM1 retrieves", BM25), ("NDRM3 retrieves", BM25),
              ("NDRM3 retrieves", "NDRM1 retrieves"))  # fmt: skip
RERANKING = (
    ("NDRM1 reranks", BM25), ("NDRM3 reranks", BM25),
    ("NDRM1 reranks", "NDRM1 retrieves"), ("NDRM3 reranks", "NDRM3 retrieves"),
    ("NDRM1 reranks", "NDRM3 reranks"),
)  # fmt: skip


def run(place: Place) -> str:
    """Train what is not kept, index it, and compare."""
    rankers = checkpoints(place)
    bundle = runtime.load(bundle_of(place, rankers))
    first = Retrieve("bm25", DEPTH)
    retrieving = {
        BM25: Pipeline((first,)),
        **{f"{each.upper()} retrieves": Pipeline((Retrieve(each, DEPTH),))
           for each in ("ndrm1", "ndrm3")},
    }  # fmt: skip
    reranking = {
        f"{each.upper()} reranks": Pipeline((first, Rescore(each))) for each in ("ndrm1", "ndrm3")
    }
    queries = read_split(place.collection(MEDQUAD), "dev")
    found = evaluate(bundle, queries, retrieving, measures=(MEASURE,), depth=DEPTH)
    few = evaluate(
        bundle, queries[:RERANKED], retrieving | reranking, measures=(MEASURE,), depth=DEPTH
    )
    steps = [[name, f"{each.training['steps']:,}", f"{each.training['seconds'] / 60:.0f}"]
             for name, each in rankers.items() if name != "bm25"]  # fmt: skip
    return f"""
{MEDQUAD} without titles, {len(bundle):,} passages. Networks of 128 dimensions learn from 10,000 \
queries of train. {MEASURE}; paired t-tests over queries with Holm's correction per table.

{table(["ranker", "steps", "minutes"], steps)}

{compared(found, RETRIEVING)}

{compared(few, RERANKING)}
"""


def checkpoints(place: Place) -> dict[str, Checkpoint]:
    """Return BM25 and the networks by name."""
    bm25 = tuned_bm25(place, MEDQUAD, titles=False)
    settings = {
        name: ConformerKernelSettings(field=bm25.field, architecture=name, scorer="onnx")
        for name in ("ndrm1", "ndrm3")
    }
    found = {
        name: learned(place, "conformer_kernel", MEDQUAD, name, titles=False, settings=each,
                      **CONFORMER)
        for name, each in settings.items()
    }  # fmt: skip
    return {"bm25": Checkpoint("bm25", bm25), **found}


def bundle_of(place: Place, rankers: dict[str, Checkpoint]) -> Path:
    """Return the bundle of all of them, indexed."""

    def build(path: Path) -> None:
        made = path.with_name(f"{path.name}.rankers")
        export_bundle(rankers, made, None, overwrite=True)
        index_bundle(made, place.collection(MEDQUAD), path, titles=False, overwrite=True)

    return place.keep(f"{MEDQUAD}.terms.ranklet", build)


def compared(found: Sequence[Evaluation], pairs: Sequence[tuple[str, str]]) -> str:
    """Return a table of pairs of systems."""
    values = {each.pipeline: each.values[MEASURE] for each in found}
    corrected = holm([paired_t_test(values[one], values[two]) for one, two in pairs])
    rows = [
        [one, two, f"{found[0].queries:,}", f"{values[one].mean():.4f}",
         f"{values[two].mean():.4f}", str(interval(values[one], values[two])), f"{p:.2g}"]
        for (one, two), p in zip(pairs, corrected, strict=True)
    ]  # fmt: skip
    head = ["ranker", "next to", "queries", "its value", "the other's", "difference", "p"]
    return table(head, rows)
