"""The rankers: where their checkpoints come from, and what networks read for a query."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.all_systems.studies import (
    BM25,
    ENCODER,
    LEXICAL,
    NOTHING,
    OWN,
    QA_MIX,
    Ranker,
    Reads,
    Study,
)
from benchmarks.built import dense, light, model1
from benchmarks.built.conformers import CONFORMER, Conformers
from benchmarks.built.late_interaction import COLBERT, qa_mix_colbert
from benchmarks.built.trained import (
    CROSS,
    DENSE,
    EPIC,
    HELD_OUT,
    NEURAL_MODEL1,
    TUNING_QUERIES,
    bm25_checkpoint,
    learn_and_save,
    medquad_neural_model1,
    with_seed,
)
from benchmarks.harness.place import Place
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.probes import draw_probes
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.rankers.cross_encoder import training as cross_encoder
from ranklet.training.rankers.cross_encoder.options import Options as CrossEncoderOptions
from ranklet.training.rankers.dense import training as dense_training
from ranklet.training.rankers.dense.options import Options as DenseOptions
from ranklet.training.rankers.epic import training as epic_training
from ranklet.training.rankers.epic.options import Options as EPICOptions
from ranklet.training.rankers.neural_model1 import training as neural_training
from ranklet.training.rankers.neural_model1.options import Options as NeuralModel1Options

DENSE_WAY = next(iter(dense.WAYS))  # mined negatives
NEURAL_MODEL1_STEPS = 6_000  # on qa-mix, some 10 minutes
# The longer training of `longer_training`; a step has 32 pairs.
CROSS_STEPS, CROSS_RATE, CROSS_DEPTH = 1_600, 2e-4, 100
EPIC_STEPS = 200
NDRM3_STEPS = {QA_MIX: 300}
LEFT_OUT: dict[str, str] = {}  # what a run does not cover, and why
LIGHT_NAME = "H1: SRM-LCM, static, IDF"
LIGHT: dict[str, Any] = {"context": "neighbours", "window": 1, "idf": True}


class Length(NamedTuple):
    """How long an encoder learns from a collection.

    Attributes:
        steps: of 32 queries.
        tokens: of a document, at most.
    """

    steps: int
    tokens: int


# Twice the queries of google-wiki, five times the few of scifact, whose abstracts are long, and as
# many of medquad as the encoder of qa-mix has.
LENGTHS = {
    "scifact": Length(60, 256),
    "google-wiki": Length(150, 128),
    "medquad": Length(dense.STEPS, 128),
}


def own_bm25(place: Place, study: Study) -> Checkpoint:
    """Return BM25, tuned on train."""
    return bm25_checkpoint(place, study.collection, titles=study.titles)


def own_model1(place: Place, study: Study) -> Checkpoint:
    """Return Model 1 over words, learned by EM."""
    return model1.learned(place, study.collection, study.learn, study.held_out, titles=study.titles)


def neural_model1(place: Place, study: Study, *, seed: int = 0) -> Checkpoint:
    """Return neural Model 1 of medquad without titles, or else of qa-mix."""
    if study.collection == "medquad":
        return medquad_neural_model1(place, seed)
    options = NeuralModel1Options(steps=NEURAL_MODEL1_STEPS, seed=seed)
    name = with_seed("neural_model1", seed)
    return learned(place, QA_MIX, name, neural_training.train, options, NEURAL_MODEL1)


def ndrm3(place: Place, study: Study, *, seed: int = 0) -> Checkpoint:
    """Return NDRM3, whose training is shorter where other systems matter more."""
    whole = Conformers(place, study.collection, titles=study.titles, seed=seed)
    steps = NDRM3_STEPS.get(study.collection)
    return (replace(whole, steps=(("ndrm3", steps),)) if steps else whole).checkpoint("ndrm3")


def light_vectors(place: Place, _: Study) -> Checkpoint:
    """Return SRM-LCM whose context is the neighbours, so that no network reads anything."""
    path = light.learned(place, LIGHT_NAME, 0, LIGHT)
    light.material.cache_clear()  # vectors of whole collections
    light.judged.cache_clear()
    return read_checkpoint(path)


def untrained_dense(place: Place, study: Study) -> Checkpoint:
    """Return MiniLM as it comes, with the probes that a training would set aside."""
    documents = place.collection(study.collection)
    held_out = read_split(documents, HELD_OUT, limit=TUNING_QUERIES)
    return replace(dense.untrained(), probes=draw_probes(documents.documents(), held_out))


def trained_dense(place: Place, _: Study) -> Checkpoint:
    """Return MiniLM, trained with negatives that it finds itself."""
    return dense.learned(place, DENSE_WAY)


def own_dense(place: Place, study: Study, *, seed: int = 0) -> Checkpoint:
    """Return MiniLM, trained on a collection's own queries with negatives that it finds itself."""
    steps, tokens = LENGTHS[study.collection]
    options = DenseOptions(
        steps=steps, seed=seed, evaluations=3, max_document_tokens=tokens, titles=study.titles,
        **dense.WAYS[DENSE_WAY],
    )  # fmt: skip
    name = f"own.dense.{steps}.{seed}"
    queries = read_split(place.collection(study.collection), study.learn)
    return learned(place, study.collection, name, dense_training.train, options, DENSE, queries)


def epic(place: Place, _: Study) -> Checkpoint:
    """Return EPIC, which learns for a third of the steps that `epic_quality`'s has."""
    options = EPICOptions(steps=EPIC_STEPS, evaluations=2)
    return learned(place, QA_MIX, "epic.short", epic_training.train, options, EPIC)


def colbert(place: Place, _: Study) -> Checkpoint:
    """Return ColBERT."""
    return read_checkpoint(qa_mix_colbert(place))


def vanilla(place: Place, _: Study) -> Checkpoint:
    """Return the vanilla cross-encoder."""
    options = CrossEncoderOptions(
        learning_rate=CROSS_RATE, steps=CROSS_STEPS, depth=CROSS_DEPTH, evaluations=4
    )
    name = f"cross_encoder.{CROSS_STEPS}"
    return learned(place, QA_MIX, name, cross_encoder.train, options, CROSS)


def learned(
    place: Place,
    collection: str,
    name: str,
    train: Callable[..., Checkpoint],
    options: Any,
    code: tuple[str, ...],
    queries: Sequence[JudgedQuery] = (),
) -> Checkpoint:
    """Return a ranker of a collection; it is trained, or goes on, where it is not kept.

    Args:
        place: of the run.
        collection: its name.
        name: what it is kept as.
        train: of the kind.
        options: of the kind.
        code: that the training depends on.
        queries: to learn from; without any, those that all trainings learn from.
    """
    kept = f"{collection}.{name}"

    def build(path: Path) -> None:
        learn_and_save(place, collection, train, options, path, place.state(kept, code), queries)

    return read_checkpoint(place.keep(kept, build, code, repr(options)))


RANKERS = {
    BM25: Ranker("bm25", "BM25", own_bm25, OWN, Reads.NOTHING, ("training/rankers/bm25",)),
    "model1": Ranker("model1", "Model 1", own_model1, OWN, Reads.NOTHING, model1.CODE),
    "neural_model1": Ranker(
        "neural_model1", "neural Model 1", neural_model1, LEXICAL, Reads.NOTHING, NEURAL_MODEL1
    ),
    "ndrm3": Ranker(
        "conformer_kernel", "NDRM3 impacts", ndrm3, LEXICAL, Reads.NOTHING, CONFORMER,
        settings={"scorer": "impacts"},
    ),
    "light": Ranker(
        "srm", "static light vectors", light_vectors, QA_MIX, Reads.NOTHING, light.LIGHT,
        encodes=True, needs=("colbert",),
    ),
    "minilm": Ranker(
        "dense", "MiniLM untrained", untrained_dense, NOTHING, Reads.QUERY, dense.CODE,
        encodes=True,
    ),
    "dense": Ranker(
        "dense", "MiniLM trained", trained_dense, QA_MIX, Reads.QUERY, dense.CODE, encodes=True
    ),
    "own": Ranker(
        "dense", "MiniLM of its own queries", own_dense, ENCODER, Reads.QUERY, DENSE, encodes=True
    ),
    "epic": Ranker("epic", "EPIC", epic, QA_MIX, Reads.QUERY, EPIC, encodes=True),
    "colbert": Ranker(
        "colbert", "ColBERT", colbert, QA_MIX, Reads.QUERY, COLBERT, encodes=True
    ),
    "cross": Ranker("cross_encoder", "cross-encoder", vanilla, QA_MIX, Reads.PAIRS, CROSS),
}  # fmt: skip
