"""Lists of BM25 and of an encoder that take turns, from either on, next to BM25 (Zhan et al.).

The encoders are as they come. Collections, queries and bundles are those of `default_fusion`.
"""

from benchmarks.fusion.collections import BM25, COMPARED, MINILM, QUERIES, _answered, bundle_of
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.runtime.pipeline import Fuse, Pipeline, Retrieve
from ranklet.training.evaluation.significance import holm, interval, paired_t_test
from ranklet.training.evaluation.systems import evaluate
from ranklet.training.pretrained.backbone import wheel_folder

PACKAGES = ("onnxruntime",)
MEASURES = ("MRR@10", "R@1000")
DEPTH = 1000
ENCODER, FROM_BM25, FROM_ENCODER = "the encoder", "turns from BM25 on", "turns from the encoder on"
PAIRS = (
    (FROM_BM25, BM25), (FROM_ENCODER, BM25), (FROM_ENCODER, FROM_BM25), (FROM_BM25, ENCODER),
)  # fmt: skip


def run(place: Place) -> str:
    """Rank the queries of each collection by both lists and both merges."""
    rows = []
    for each in COMPARED:
        if each.model != MINILM:
            continue
        bundle = bundle_of(place, each, wheel_folder())
        lists = [Retrieve(BM25, DEPTH), Retrieve(each.model, DEPTH)]
        turns = [Fuse("alternate", two) for two in ((BM25, each.model), (each.model, BM25))]
        systems = {
            BM25: Pipeline((lists[0],)), ENCODER: Pipeline((lists[1],)),
            FROM_BM25: Pipeline((*lists, turns[0])), FROM_ENCODER: Pipeline((*lists, turns[1])),
        }  # fmt: skip
        queries = _answered(place, each, each.split, QUERIES)
        found = evaluate(bundle, queries, systems, measures=MEASURES, depth=DEPTH)
        values = {one.pipeline: one.values for one in found}
        for measure in MEASURES:
            own = {name: of[measure] for name, of in values.items()}
            corrected = holm([paired_t_test(own[one], own[two]) for one, two in PAIRS])
            rows += [
                [f"{each.name}, {each.model}", measure, one, two, f"{len(queries):,}",
                 f"{own[one].mean():.4f}", f"{own[two].mean():.4f}",
                 str(interval(own[one], own[two])), f"{p:.2g}"]
                for (one, two), p in zip(PAIRS, corrected, strict=True)
            ]  # fmt: skip
    head = ["collection", "measure", "merge", "next to", "queries", "its value", "the other's",
            "difference (95 %)", "p"]  # fmt: skip
    return f"""
Each list has {DEPTH:,} documents. Paired t-tests over queries, with Holm's correction over the \
rows of a collection and measure.

{table(head, rows)}
"""
