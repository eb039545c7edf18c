"""The checkpoints that benchmarks share: each is trained once, on all cores, and kept.

A training ends after a number of steps, so that a busy machine learns as much as an idle one. One
that was interrupted goes on where it was.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.harness.place import Place
from ranklet.corpus.collections.probes import draw_probes
from ranklet.corpus.collections.splits import read_split
from ranklet.runtime.onnx.session import processors
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.imported.importing import read_model
from ranklet.training.pretrained.backbone import wheel_folder
from ranklet.training.rankers.conformer_kernel.sizes import Network
from ranklet.training.train import load_options, train

LEARN, HELD_OUT = "train[:90%]", "train[90%:]"
TUNING_QUERIES = 1000  # of train, for k1 and b, and to choose the best weights: as `ranklet train`
QA_MIX, MEDQUAD = "qa-mix", "medquad"

# Options that differ from the defaults of `ranklet train`, and how long each takes on two cores.
NEURAL_MODEL1: dict[str, dict[str, Any]] = {
    QA_MIX: {"steps": 6_000},
    MEDQUAD: {},
}  # some 10 and 15 minutes
NDRM3_STEPS = {QA_MIX: 300}
CONFORMER: dict[str, Any] = {
    "queries": 10_000,
    "steps": 700,  # some 8 minutes
    "evaluate_every": 200,
    "network": Network(hidden=128, heads=16, groups=16),  # half of the paper's: 3 × the steps
}
DENSE: dict[str, Any] = {
    "steps": 200, "evaluations": 3,
    "negatives": "mined", "mine_every": 67, "mine_among": 5_000,
}  # fmt: skip
# Of a collection's own queries: twice those of google-wiki, five times the few of scifact, whose
# abstracts are long, and as many of the others as the encoder of qa-mix has.
OWN_DENSE: dict[str, dict[str, Any]] = {
    "scifact": {"steps": 60, "max_document_tokens": 256},
    "google-wiki": {"steps": 150, "max_document_tokens": 128},
    MEDQUAD: {"max_document_tokens": 128},
    "debian-packages": {"max_document_tokens": 128},
}
EPIC: dict[str, Any] = {"steps": 200, "evaluations": 2}
# No markers, no expansion and no vectors of special tokens, like the oracle of Boualili, chapter 8.
COLBERT_FORM: dict[str, Any] = {"markers": False, "special_tokens": False, "punctuation": True}
COLBERT: dict[str, Any] = {
    **COLBERT_FORM, "learning_rate": 5e-5, "epochs": 3, "max_minutes": 18.0, "evaluate_every": 150,
}  # fmt: skip
LIGHT: dict[str, Any] = {
    "context": "neighbours", "window": 1, "idf": True,  # so that no network reads a query
    "queries": 15_000, "batch": 32, "steps": 80, "evaluations": 1,
    "distil_texts": 0, "distil_steps": 150, "distil_batch": 32,
}  # fmt: skip
CROSS: dict[str, Any] = {"learning_rate": 2e-4, "depth": 100, "evaluations": 4}
CROSS_STEPS = 1_600  # of 16 queries
SHORT_STEPS = 20  # of what is timed only, since weights do not change how long anything takes


def trained(
    place: Place,
    kind: str,
    collection: str,
    name: str = "",
    *,
    titles: bool = True,
    learn: str = LEARN,
    held_out: str = HELD_OUT,
    queries: int | None = None,
    choosing: int = TUNING_QUERIES,
    **options: Any,
) -> Path:
    """Return the folder of a ranker of a collection; it is trained, or goes on, where it is needed.

    Args:
        place: of the run.
        kind: of the ranker.
        collection: its name.
        name: that tells this training from others of the kind and collection.
        titles: whether titles are part of the text.
        learn: the split to learn from.
        held_out: the split that chooses between weights.
        queries: to learn from, at most.
        choosing: held-out queries, at most.
        options: of the kind, which differ from its defaults.
    """
    if kind != "bm25":
        options["bm25"] = tune_bm25_again(place, collection, titles=titles)
    made: Any = load_options(kind)(titles=titles, **options)
    parts = [collection, *([] if titles else ["untitled"]), kind, *([name] if name else [])]
    kept, code = ".".join(parts), code_of(kind)
    state = place.state(kept, code)

    def build(path: Path) -> None:
        documents = place.collection(collection)
        asked = read_split(documents, learn, limit=queries)
        others = read_split(documents, held_out, limit=choosing)
        with all_cores():
            checkpoint = train(kind, documents, asked, others, made, state)
        checkpoint.save(path)
        shutil.rmtree(state, ignore_errors=True)

    return place.keep(kept, build, code, f"{learn} {held_out} {queries} {choosing} {made!r}")


def learned(place: Place, kind: str, collection: str, name: str = "", **options: Any) -> Checkpoint:
    """Return the checkpoint that `trained` has the folder of."""
    return read_checkpoint(trained(place, kind, collection, name, **options))


def code_of(kind: str) -> tuple[str, ...]:
    """Return what the training of a kind depends on. The rest of training/ may change."""
    own = f"training/rankers/{kind}"
    if kind == "bm25":
        return (own,)
    if kind == "model1":
        return (own, "corpus/indexing", "corpus/collections/splits.py", "runtime/text")
    built_on = ("training/rankers/colbert",) if kind == "srm" else ()
    return (
        own,
        *built_on,
        "training/encoders",
        "training/learning",
        "training/sampling",
        "training/pretrained/backbone.py",
        "corpus/collections/splits.py",
    )


def bm25_checkpoint(place: Place, collection: str, *, titles: bool = True) -> Checkpoint:
    """Return BM25 over lemmas with k1 and b tuned for MRR@10, as `ranklet train bm25` does."""
    return learned(place, "bm25", collection, titles=titles, learn="train", queries=TUNING_QUERIES)


def tune_bm25_again(place: Place, collection: str, *, titles: bool = True) -> BM25Settings:
    """Return the settings of `bm25_checkpoint`."""
    settings = bm25_checkpoint(place, collection, titles=titles).settings
    if not isinstance(settings, BM25Settings):
        raise TypeError(f"the BM25 of {collection} has {type(settings).__name__}")
    return settings


def neural_model1(place: Place, collection: str) -> Checkpoint:
    """Return neural Model 1, of medquad without titles or of qa-mix."""
    titles = collection != MEDQUAD
    own = NEURAL_MODEL1[collection]
    return learned(place, "neural_model1", collection, titles=titles, **own)


def short(place: Place, kind: str, **options: Any) -> Path:
    """Return the folder of a ranker of qa-mix that learned for a minute, for timings."""
    options |= {"steps": SHORT_STEPS, "evaluations": 1}
    return trained(place, kind, QA_MIX, "short", queries=500, choosing=50, **options)


def ndrm3(place: Place, collection: str, *, titles: bool = True) -> Checkpoint:
    """Return NDRM3, whose training is shorter where other systems matter more."""
    field = tune_bm25_again(place, collection, titles=titles).field
    settings = ConformerKernelSettings(field=field, architecture="ndrm3", scorer="onnx")
    own = CONFORMER | {"steps": NDRM3_STEPS.get(collection, CONFORMER["steps"])}
    return learned(place, "conformer_kernel", collection, titles=titles, settings=settings, **own)


def untrained(place: Place, collection: str, folder: Path, kind: str | None = None) -> Checkpoint:
    """Return a model as it comes, with the probes that a training would set aside."""
    documents = place.collection(collection)
    held_out = read_split(documents, HELD_OUT, limit=TUNING_QUERIES)
    probes = draw_probes(documents.documents(), held_out)
    return replace(read_model(folder, kind=kind), probes=probes)


def untrained_dense(place: Place, collection: str) -> Checkpoint:
    """Return MiniLM as it comes."""
    return untrained(place, collection, wheel_folder())


def dense(place: Place) -> Checkpoint:
    """Return MiniLM, trained on qa-mix with negatives that it finds itself."""
    return learned(place, "dense", QA_MIX, **DENSE)


def own_dense(
    place: Place, collection: str, *, titles: bool = True, learn: str = LEARN, seed: int = 0
) -> Checkpoint:
    """Return MiniLM, trained on a collection's own queries with negatives that it finds itself."""
    own = DENSE | OWN_DENSE[collection]
    return learned(
        place, "dense", collection, f"own.{seed}", titles=titles, learn=learn, seed=seed, **own
    )


def epic(place: Place) -> Checkpoint:
    """Return EPIC of qa-mix, some 5 minutes."""
    return learned(place, "epic", QA_MIX, **EPIC)


def colbert(place: Place) -> Path:
    """Return the folder of a ColBERT of qa-mix, the oracle of light vectors."""
    return trained(place, "colbert", QA_MIX, **COLBERT)


def light(place: Place) -> Checkpoint:
    """Return light vectors of qa-mix."""
    return learned(place, "srm", QA_MIX, oracle=colbert(place), **LIGHT)


def cross_encoder(place: Place) -> Checkpoint:
    """Return a vanilla cross-encoder of qa-mix."""
    return learned(place, "cross_encoder", QA_MIX, f"{CROSS_STEPS}", steps=CROSS_STEPS, **CROSS)


@contextmanager
def all_cores() -> Iterator[None]:
    """Train on all cores that this process may use, though benchmarks run on one."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(processors())
    try:
        yield
    finally:
        torch.set_num_threads(before)
