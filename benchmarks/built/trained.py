"""The networks that several benchmarks share: trained once, on all cores, and kept."""

import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.harness.place import Place
from ranklet.runtime.onnx.session import processors
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.cross_encoder import ranker as cross
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.learning.state import STATE
from ranklet.training.rankers.bm25 import training as bm25
from ranklet.training.rankers.bm25.options import Options as BM25Options
from ranklet.training.rankers.cross_encoder import training as cross_encoder
from ranklet.training.rankers.cross_encoder.options import Options as CrossEncoderOptions
from ranklet.training.rankers.dense import training as dense_training
from ranklet.training.rankers.dense.options import Options as DenseOptions
from ranklet.training.rankers.epic import training as epic
from ranklet.training.rankers.epic.options import Options as EPICOptions
from ranklet.training.rankers.neural_model1 import training as neural_model1
from ranklet.training.rankers.neural_model1.options import Options as NeuralModel1Options

LEARN, HELD_OUT = "train[:90%]", "train[90%:]"
TUNING_QUERIES = 1000  # of train, for k1 and b, and to choose the best weights: as `ranklet train`
REPBERT_MINUTES = 16.0
# Trainings end after a number of steps, so that a busy machine learns as much as an idle one.
EPIC_STEPS = 600  # some 14 minutes
# EPIC goes on with scifact: first titles find their abstracts, of which there are 5,183; then its
# claims, of which there are 809. Abstracts have some 300 tokens.
TITLES_TOKENS = 128
SCIFACT_EPOCHS, SCIFACT_TOKENS = 3, 256
CROSS_STEP = 16  # queries, as in Boytsov & Kolter
# Boytsov & Kolter have 2e-5 for BERT-base. MiniLM's layers want more. First for the body that all
# systems begin with, then for each system.
CROSS_RATES = 1e-4, 5e-5
CROSS_BODY_MINUTES = 10.0

# What a trained network depends on. The rest of training/ may change without a new training.
LEARNING = (
    "training/learning",
    "training/sampling",
    "training/pretrained/backbone.py",
    "training/data/splits.py",
)
NEURAL_MODEL1 = (*LEARNING, "training/rankers/neural_model1")
EPIC = (*LEARNING, "training/rankers/epic")
DENSE = (*LEARNING, "training/rankers/dense")
CROSS = (*LEARNING, "training/rankers/cross_encoder")


def tuned_bm25(place: Place, collection: str, *, titles: bool = True) -> BM25Settings:
    """Return the settings of `bm25_checkpoint`."""
    settings = bm25_checkpoint(place, collection, titles=titles).settings
    if not isinstance(settings, BM25Settings):
        raise TypeError(f"the BM25 of {collection} has {type(settings).__name__}")
    return settings


def bm25_checkpoint(place: Place, collection: str, *, titles: bool = True) -> Checkpoint:
    """Return BM25 over lemmas with k1 and b tuned for MRR@10, as `ranklet train bm25` does."""

    def build(path: Path) -> None:
        documents = place.collection(collection)
        queries = read_split(documents, "train", limit=TUNING_QUERIES)
        bm25.train(documents, queries, [], BM25Options(titles=titles)).save(path)

    name = f"{collection}{'' if titles else '.untitled'}.bm25"
    return read_checkpoint(place.keep(name, build, ("training/rankers/bm25",)))


def with_seed(name: str, seed: int) -> str:
    """Return what a training with a seed is kept as; the first seed has no suffix.

    >>> with_seed("medquad.neural_model1", 0), with_seed("medquad.neural_model1", 2)
    ('medquad.neural_model1', 'medquad.neural_model1.2')
    """
    return f"{name}.{seed}" if seed else name


def medquad_neural_model1(place: Place, seed: int = 0) -> Checkpoint:
    """Return neural Model 1, learned from medquad without titles (some 15 minutes)."""
    collection = place.collection("medquad")
    base = tuned_bm25(place, "medquad", titles=False)

    def build(path: Path) -> None:
        options = NeuralModel1Options(bm25=base, titles=False, seed=seed)
        with all_cores():
            neural_model1.train(
                collection,
                read_split(collection, LEARN),
                read_split(collection, HELD_OUT, limit=TUNING_QUERIES),
                options,
            ).save(path)

    name = with_seed("medquad.neural_model1", seed)
    return read_checkpoint(place.keep(name, build, NEURAL_MODEL1))


def qa_mix_dense(place: Place) -> Checkpoint:
    """Return RepBERT, MiniLM-L6 fine-tuned on qa-mix for `REPBERT_MINUTES`."""
    collection = place.collection("qa-mix")

    def build(path: Path) -> None:
        options = DenseOptions(
            loss="margin",
            similarity="dot",
            segments="distinct",
            max_minutes=REPBERT_MINUTES,
            evaluate_every=120,
            negatives="bm25",
            bm25=tuned_bm25(place, "qa-mix"),
        )
        with all_cores():
            dense_training.train(
                collection,
                read_split(collection, LEARN),
                read_split(collection, HELD_OUT, limit=TUNING_QUERIES),
                options,
            ).save(path)

    return read_checkpoint(place.keep("qa-mix.dense", build, DENSE))


def qa_mix_epic(place: Place, steps: int = EPIC_STEPS) -> Checkpoint:
    """Return EPIC, MiniLM-L6 fine-tuned on qa-mix for some steps; resumed if interrupted."""
    return read_checkpoint(_qa_mix_epic(place, steps))


def scifact_titles_epic(place: Place) -> Checkpoint:
    """Return `qa_mix_epic` gone on with on titles of scifact, whose answers are their abstracts."""
    return read_checkpoint(_scifact_titles_epic(place))


def scifact_epic(place: Place) -> Checkpoint:
    """Return `scifact_titles_epic` gone on with on scifact's train."""
    options = EPICOptions(
        epochs=SCIFACT_EPOCHS,
        evaluate_every=70,
        max_document_tokens=SCIFACT_TOKENS,
        start=_scifact_titles_epic(place),
    )
    return read_checkpoint(_epic(place, "scifact", "scifact", options))


def _scifact_titles_epic(place: Place) -> Path:
    titles = [
        JudgedQuery(f"title of {each.id}", each.title, {each.id: 1})
        for each in place.collection("scifact").documents()
        if each.title
    ]
    options = EPICOptions(
        epochs=1,
        evaluate_every=70,
        max_document_tokens=TITLES_TOKENS,
        titles=False,
        start=_qa_mix_epic(place),
    )
    return _epic(place, "scifact", "scifact-titles", options, titles)


def _qa_mix_epic(place: Place, steps: int = EPIC_STEPS) -> Path:
    options = EPICOptions(steps=steps, evaluate_every=200)
    name = "qa-mix" if steps == EPIC_STEPS else f"qa-mix.{steps}"
    return _epic(place, "qa-mix", name, options)


def _epic(
    place: Place,
    collection_name: str,
    name: str,
    options: EPICOptions,
    queries: Sequence[JudgedQuery] = (),
) -> Path:
    """Return the folder of an EPIC of a collection, trained on its train if on no other queries."""

    def build(path: Path) -> None:
        state = place.state(f"{name}.epic", EPIC)
        learn_and_save(place, collection_name, epic.train, options, path, state, queries)

    return place.keep(f"{name}.epic", build, EPIC)


def learn_and_save(
    place: Place,
    collection: str,
    train: Callable[..., Checkpoint],
    options: Any,
    path: Path,
    state: Path,
    queries: Sequence[JudgedQuery] = (),
) -> None:
    """Train on all cores and save the checkpoint; a training that was interrupted goes on.

    Args:
        place: of the run.
        collection: its name.
        train: of the kind.
        options: of the kind; the BM25 is the collection's tuned one.
        path: of the checkpoint.
        state: folder of the training's state, which is removed at the end.
        queries: to learn from; those of `LEARN` if there are none.
    """
    documents = place.collection(collection)
    learn = queries or read_split(documents, LEARN)
    held_out = read_split(documents, HELD_OUT, limit=TUNING_QUERIES)
    against = replace(options, bm25=tuned_bm25(place, collection))
    train_resumably(train, documents, learn, held_out, against, path, state)


def train_resumably(
    train: Callable[..., Checkpoint],
    documents: Collection,
    learn: Sequence[JudgedQuery],
    held_out: Sequence[JudgedQuery],
    options: Any,
    path: Path,
    state: Path,
) -> None:
    """Train on all cores and save the checkpoint; a training that was interrupted goes on.

    Args:
        train: of the kind.
        documents: the collection.
        learn: queries to learn from.
        held_out: queries that choose between weights.
        options: of the kind.
        path: of the checkpoint.
        state: folder of the training's state, which is removed at the end.
    """
    options = replace(options, folder=state, resume=(state / STATE).is_file())
    with all_cores():
        train(documents, learn, held_out, options).save(path)
    shutil.rmtree(state, ignore_errors=True)


def cross_body(place: Place) -> Path:
    """Return the folder of a vanilla cross-encoder of qa-mix: what all others begin with.

    So a table of many systems fits into hours: the long training is shared, and each system learns
    its own head and marks from there (a second phase, as in Boualili, §7.4).
    """

    def build(path: Path) -> None:
        documents = place.collection("qa-mix")
        options = CrossEncoderOptions(
            learning_rate=CROSS_RATES[0],
            max_minutes=CROSS_BODY_MINUTES,
            evaluate_every=150,
            bm25=tuned_bm25(place, "qa-mix"),
        )
        with all_cores():
            cross_encoder.train(
                documents,
                read_split(documents, LEARN),
                read_split(documents, HELD_OUT, limit=TUNING_QUERIES),
                options,
            ).save(path)

    return place.keep("qa-mix.cross_body", build, CROSS)


def cross_checkpoint(
    place: Place,
    collection: str,
    name: str,
    settings: cross.CrossEncoderSettings,
    *,
    titles: bool,
    learn: int,
) -> Path:
    """Return the folder of a cross-encoder: `cross_body`, then one epoch of `learn` queries.

    Args:
        place: of the run.
        collection: its name.
        name: of the system.
        settings: of the cross-encoder.
        titles: whether titles are part of the text.
        learn: queries of train.
    """
    body = cross_body(place)

    def build(path: Path) -> None:
        documents = place.collection(collection)
        options = CrossEncoderOptions(
            backbone=body,
            settings=settings,
            learning_rate=CROSS_RATES[1],
            evaluate_every=math.ceil(learn / CROSS_STEP),  # at the end
            bm25=tuned_bm25(place, collection, titles=titles),
            titles=titles,
        )
        with all_cores():
            cross_encoder.train(
                documents,
                read_split(documents, LEARN, limit=learn),
                read_split(documents, HELD_OUT, limit=TUNING_QUERIES),
                options,
            ).save(path)

    return place.keep(f"{collection}.cross.{name}", build, CROSS)


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
