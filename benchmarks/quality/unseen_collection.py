"""What the systems reach on a collection on which nothing was ever chosen: Debian's packages.

All other collections have helped to choose options, defaults or candidates at some time. Here
every option is a default or one that another collection chose, and the first run is reported.
"""

from collections.abc import Mapping

from benchmarks.all_systems.bundles import Scope
from benchmarks.all_systems.comparing import RANKED_BY, Studied, goals, paired
from benchmarks.all_systems.measuring import studied
from benchmarks.all_systems.pipelines import BASE, BEST, CROSS, HYBRID
from benchmarks.all_systems.rankers import NEURAL_MODEL1_STEPS, RANKERS, learned
from benchmarks.all_systems.studies import BM25, OWN, Ranker, Reads, Study
from benchmarks.all_systems.tables import chosen, last_against, quality
from benchmarks.built.conformers import CONFORMER_QUERIES, CONFORMER_STEPS
from benchmarks.built.trained import CROSS as CROSS_CODE
from benchmarks.built.trained import DENSE, NEURAL_MODEL1
from benchmarks.harness.intervals import difference, ratio, shown
from benchmarks.harness.place import Place
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.evaluation.significance import paired_t_test
from ranklet.training.rankers.cross_encoder import training as cross_training
from ranklet.training.rankers.cross_encoder.options import Options as CrossEncoderOptions
from ranklet.training.rankers.dense import training as dense_training
from ranklet.training.rankers.dense.options import Options as DenseOptions
from ranklet.training.rankers.neural_model1 import training as neural_training
from ranklet.training.rankers.neural_model1.options import Options as NeuralModel1Options

PACKAGES = ("torch", "transformers", "onnxruntime", "tokenizers", "gensim", "simplemma")
COLLECTION = "debian-packages"
# All queries of dev, of which a cross-encoder reads some.
STUDY = Study(COLLECTION, lexical=COLLECTION, passages=0, queries=10_000, read=300, pairs=300)


def neural_model1(place: Place, study: Study) -> Checkpoint:
    """Return neural Model 1 with the steps that it has on qa-mix, some 10 minutes."""
    options = NeuralModel1Options(steps=NEURAL_MODEL1_STEPS)
    train = neural_training.train
    return learned(place, study.collection, "neural_model1", train, options, NEURAL_MODEL1)


def dense(place: Place, study: Study) -> Checkpoint:
    """Return MiniLM, trained as `ranklet train dense` does without options, one epoch."""
    train, options = dense_training.train, DenseOptions()
    return learned(place, study.collection, "dense.default", train, options, DENSE)


def cross(place: Place, study: Study) -> Checkpoint:
    """Return a vanilla cross-encoder, trained as `ranklet train cross_encoder` does, one epoch."""
    train, options = cross_training.train, CrossEncoderOptions()
    return learned(place, study.collection, "cross.default", train, options, CROSS_CODE)


USED = {
    BM25: RANKERS[BM25],
    "model1": RANKERS["model1"],
    "neural_model1": Ranker(
        "neural_model1", "neural Model 1", neural_model1, OWN, Reads.NOTHING, NEURAL_MODEL1
    ),
    "ndrm3": RANKERS["ndrm3"],
    "minilm": RANKERS["minilm"],
    "own": Ranker(
        "dense", "MiniLM of its own queries", dense, OWN, Reads.QUERY, DENSE, encodes=True
    ),
    CROSS: Ranker("cross_encoder", "cross-encoder", cross, OWN, Reads.PAIRS, CROSS_CODE),
}
START, LEARNED = (f"{USED[name].label} retrieves" for name in ("minilm", "own"))


def run(place: Place) -> str:
    """Train, export, index, choose and measure what is not kept."""
    scope = Scope(place, {COLLECTION: STUDY}, USED, name="unseen", parts="unseen")
    return section({COLLECTION: studied(scope, COLLECTION)})


def section(found: Mapping[str, Studied]) -> str:
    """Return the tables and the goals of the one collection."""
    (each,) = found.values()
    return f"""
{each.passages:,} descriptions of packages, {each.queries:,} queries of dev, {each.held_out} held \
out. A query is the one line with which a package's author sums it up, and its description is the \
only relevant one, so this is titles that find their texts and not questions of people. A source \
package is in one split only.

No option was chosen on this collection. k1, b, p_self, λ, stopping points, members and weights \
come from its train, as a user's would. *{USED["own"].label}* and the cross-encoder have the \
defaults of `ranklet train`, one epoch, and the tuned BM25 (`--bm25`). Neural Model 1 has \
{NEURAL_MODEL1_STEPS:,} steps, and NDRM3 {CONFORMER_STEPS["ndrm3"]} steps of \
{CONFORMER_QUERIES:,} queries, as on other collections; their defaults are longer. All networks \
have 8 bits as they are served. The cross-encoder reads {STUDY.read} queries, and next to its \
means BM25's on these are in brackets.

{chr(10).join(_goals(found))}

{last_row(found)}

{chosen(found)}

Against BM25: † p < .05, ‡ p < .01; a chosen pipeline against *{HYBRID}*: * p < .05, ** p < .01; − \
says that it is below (two-sided paired t-tests, Holm's correction in each family). Intervals are \
95 %.

{quality(each)}
"""


def last_row(found: Mapping[str, Studied]) -> str:
    """Return what training adds to the encoder alone, in a sentence."""
    ((_, untrained, trained, gain),) = last_against(found, (START, LEARNED))
    return (
        f"Retrieving alone, the untrained encoder has {RANKED_BY} {untrained} and the trained one "
        f"{trained}: {gain}."
    )


def _goals(found: Mapping[str, Studied]) -> list[str]:
    """Return the project's goals, and what has no goal here."""
    (each,) = found.values()
    factors = [
        f"{name} {reached.value:.3f} × ({reached.low:.3f} to {reached.high:.3f})"
        for name in BEST.values()
        for reached in [ratio(*paired(each, name, BASE, RANKED_BY))]
    ]
    last = paired(each, BEST[Reads.PAIRS], BEST[Reads.QUERY], RANKED_BY)
    return [
        *goals(found),
        f"- {RANKED_BY} over BM25's: {'; '.join(factors)}.",
        f"- {BEST[Reads.PAIRS]} − {BEST[Reads.QUERY]}: {shown(difference(*last))}, "
        f"p = {paired_t_test(*last):.2g} ({len(last[0])} queries).",
    ]
