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


def own_dense(place: Place, study: Study, *, seed: int = 0) -> Checkpoint:
    """Return MiniLM, trained on the queries of a study's collection."""
    return trained.own_dense(
        place, study.collection, titles=study.titles, learn=study.learn, seed=seed
    )


RANKERS = {
    BM25: Ranker(
        "bm25", "BM25",
        lambda place, study: trained.bm25_checkpoint(
            place, study.collection, titles=study.titles
        ),
        OWN, Reads.NOTHING,
    ),
    "model1": Ranker(
        "model1", "Model 1",
        lambda place, study: trained.learned(
            place, "model1", study.collection,
            titles=study.titles, learn=study.learn, held_out=study.held_out,
        ),
        OWN, Reads.NOTHING,
    ),
    "neural_model1": Ranker(
        "neural_model1", "neural Model 1",
        lambda place, study: trained.neural_model1(place, study.collection),
        LEXICAL, Reads.NOTHING,
    ),
    "ndrm3": Ranker(
        "conformer_kernel", "NDRM3 impacts",
        lambda place, study: trained.ndrm3(place, study.collection, titles=study.titles),
        LEXICAL, Reads.NOTHING, settings={"scorer": "impacts"},
    ),
    "light": Ranker(
        "srm", "static light vectors", lambda place, _: trained.light(place), QA_MIX,
        Reads.NOTHING, needs=("colbert",),
    ),
    "minilm": Ranker(
        "dense", "MiniLM untrained",
        lambda place, study: trained.untrained_dense(place, study.collection),
        NOTHING, Reads.QUERY,
    ),
    "dense": Ranker(
        "dense", "MiniLM trained", lambda place, _: trained.dense(place), QA_MIX, Reads.QUERY
    ),
    "own": Ranker("dense", "MiniLM of its own queries", own_dense, ENCODER, Reads.QUERY),
    "epic": Ranker("epic", "EPIC", lambda place, _: trained.epic(place), QA_MIX, Reads.QUERY),
    "colbert": Ranker(
        "colbert", "ColBERT", lambda place, _: read_checkpoint(trained.colbert(place)), QA_MIX,
        Reads.QUERY,
    ),
    "cross": Ranker(
        "cross_encoder", "cross-encoder", lambda place, _: trained.cross_encoder(place), QA_MIX,
        Reads.PAIRS,
    ),
}  # fmt: skip
