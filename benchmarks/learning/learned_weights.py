"""What `ranklet learn` gains over an untrained hybrid whose weights alone are learned.

Bundles and judgements are those of `learned`; the weights are `ranklet fuse`'s.
"""

from pathlib import Path

from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from benchmarks.learning.learned import MEASURE, STUDIES, Study, prepared
from ranklet import runtime
from ranklet.export.fusion import fuse_bundle
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import read_split
from ranklet.training.evaluation.significance import holm, interval, paired_t_test
from ranklet.training.evaluation.systems import evaluate

PACKAGES = ("onnxruntime",)
QUERIES = 1_000  # of train that weights are learned on, `ranklet fuse`'s default
PAIRS = (("weights", "default"), ("learn", "default"), ("learn", "weights"))


def run(place: Place) -> str:
    """Learn the weights of each hybrid, and compare on the reported queries."""
    rows = []
    for study in STUDIES:
        if study.model:
            rows += rows_of(place, study, *prepared(place, study)[:2])
    head = ["collection", "weights", "system", "next to", "queries", "its value", "the other's"]
    head += ["difference (95 %)", "p"]
    return f"""
{MEASURE} on the queries that `learned` reports. *default*: the hybrid of `ranklet build --model`. \
*weights*: its weights learned by `ranklet fuse` on {QUERIES:,} queries of train, nothing else. \
*learn*: what `ranklet learn` wrote. Paired t-tests, Holm's correction per collection.

{table(head, rows)}
"""


def rows_of(place: Place, study: Study, bundle: Path, judged: Path) -> list[list[str]]:
    """Return the comparisons of one collection."""
    files = runtime.load(bundle)
    names = tuple(files.manifest.rankers)
    fused = place.work / f"weights.{study.name}{study.titles}{study.model}.ranklet"
    learned = fuse_bundle(
        bundle, fused, read_split(Collection(judged), "train", limit=QUERIES), rankers=names,
        measure=MEASURE, name="linear", overwrite=True,
    )  # fmt: skip
    queries = read_split(Collection(judged), "test")
    told = "-".join(study.label.replace(",", "").replace("--", "").split())
    places = {"default": bundle, "weights": fused,
              "learn": place.work / f"learned.{told}.ranklet"}  # fmt: skip
    values = {}
    for name, path in places.items():
        loaded = runtime.load(path if path.exists() else bundle)  # what learns nothing writes none
        standard = loaded.manifest.pipelines[loaded.manifest.default_pipeline]
        found = evaluate(loaded, queries, {name: standard}, measures=(MEASURE,), depth=10)
        values[name] = found[0].values[MEASURE]
    corrected = holm([paired_t_test(values[one], values[two]) for one, two in PAIRS])
    weights = ", ".join(f"{weight:.2f} {name}" for name, weight in
                        zip(names, learned.weights, strict=True))  # fmt: skip
    return [
        [study.label, weights, one, two, f"{len(queries):,}", f"{values[one].mean():.4f}",
         f"{values[two].mean():.4f}", str(interval(values[one], values[two])), f"{p:.2g}"]
        for (one, two), p in zip(PAIRS, corrected, strict=True)
    ]  # fmt: skip
