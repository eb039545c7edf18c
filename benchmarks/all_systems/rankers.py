"""The rankers: where their checkpoints come from, and what networks read for a query."""

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
from benchmarks.built import trained
from benchmarks.harness.place import Place
from ranklet.training.checkpoint import Checkpoint, read_checkpoint


def own_bm25(place: Place, study: Study) -> Checkpoint:
    """Return BM25, tuned on train."""
    return trained.bm25_checkpoint(place, study.collection, titles=study.titles)


def own_model1(place: Place, study: Study) -> Checkpoint:
    """Return Model 1 over words, learned by EM."""
    return trained.learned(
        place, "model1", study.collection,
        titles=study.titles, learn=study.learn, held_out=study.held_out,
    )  # fmt: skip


def neural_model1(place: Place, study: Study) -> Checkpoint:
    """Return neural Model 1."""
    return trained.neural_model1(place, study.collection)


def ndrm3(place: Place, study: Study) -> Checkpoint:
    """Return NDRM3."""
    return trained.ndrm3(place, study.collection, titles=study.titles)


def own_dense(place: Place, study: Study, *, seed: int = 0) -> Checkpoint:
    """Return MiniLM, trained on the queries of a study's collection."""
    return trained.own_dense(
        place, study.collection, titles=study.titles, learn=study.learn, seed=seed
    )


def light(place: Place, _: Study) -> Checkpoint:
    """Return SRM-LCM whose context is the neighbours, so that no network reads anything."""
    return trained.light(place)


def untrained_dense(place: Place, study: Study) -> Checkpoint:
    """Return MiniLM as it comes."""
    return trained.untrained_dense(place, study.collection)


def dense(place: Place, _: Study) -> Checkpoint:
    """Return MiniLM, trained on qa-mix."""
    return trained.dense(place)


def epic(place: Place, _: Study) -> Checkpoint:
    """Return EPIC."""
    return trained.epic(place)


def colbert(place: Place, _: Study) -> Checkpoint:
    """Return ColBERT."""
    return read_checkpoint(trained.colbert(place))


def vanilla(place: Place, _: Study) -> Checkpoint:
    """Return the vanilla cross-encoder."""
    return trained.cross_encoder(place)


RANKERS = {
    BM25: Ranker("bm25", "BM25", own_bm25, OWN, Reads.NOTHING),
    "model1": Ranker("model1", "Model 1", own_model1, OWN, Reads.NOTHING),
    "neural_model1": Ranker(
        "neural_model1", "neural Model 1", neural_model1, LEXICAL, Reads.NOTHING
    ),
    "ndrm3": Ranker(
        "conformer_kernel", "NDRM3 impacts", ndrm3, LEXICAL, Reads.NOTHING,
        settings={"scorer": "impacts"},
    ),
    "light": Ranker(
        "srm", "static light vectors", light, QA_MIX, Reads.NOTHING, encodes=True,
        needs=("colbert",),
    ),
    "minilm": Ranker(
        "dense", "MiniLM untrained", untrained_dense, NOTHING, Reads.QUERY, encodes=True
    ),
    "dense": Ranker("dense", "MiniLM trained", dense, QA_MIX, Reads.QUERY, encodes=True),
    "own": Ranker(
        "dense", "MiniLM of its own queries", own_dense, ENCODER, Reads.QUERY, encodes=True
    ),
    "epic": Ranker("epic", "EPIC", epic, QA_MIX, Reads.QUERY, encodes=True),
    "colbert": Ranker("colbert", "ColBERT", colbert, QA_MIX, Reads.QUERY, encodes=True),
    "cross": Ranker("cross_encoder", "cross-encoder", vanilla, QA_MIX, Reads.PAIRS),
}  # fmt: skip
