"""The networks that several benchmarks share: trained once, on all cores, and kept."""

import math
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.place import Place
from ranklet.runtime.rankers import cross_encoder as cross
from ranklet.runtime.rankers.bm25 import Settings
from ranklet.runtime.text.words import words
from ranklet.training.backbone import load_backbone
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.indexing import AnalysedCollection, analyse
from ranklet.training.rankers import (
    bm25,
    conformer_kernel,
    cross_encoder,
    epic,
    neural_model1,
    repbert,
)
from ranklet.training.resume import STATE
from ranklet.training.splits import read_split
from ranklet.training.text_pairs import BatchOptions

LEARN, HELD_OUT = "train[:90%]", "train[90%:]"
TUNING_QUERIES = 1000  # of train, for k1 and b, and to choose the best weights: as `ranklet train`
REPBERT_MINUTES = 16.0
EPIC_MINUTES = 14.0
CROSS_STEP = 16  # queries, as in paper 000
# Paper 000 has 2e-5 for BERT-base; MiniLM's small layers want more. First for the body that all
# systems begin with, then for each system.
CROSS_RATES = 1e-4, 5e-5
CROSS_BODY_MINUTES = 10.0
CONFORMER_MINUTES = 12.0  # for each form, on each collection
EVALUATE_EVERY = 200  # steps of theirs
CONFORMER_SIZES = {"hidden": 128, "heads": 16, "groups": 16}  # half of the paper's: 3 × the steps

# What a trained network depends on. The rest of training/ may change without a training anew.
_LOOP = tuple(
    f"training/{name}.py"
    for name in ("loop", "plan", "device", "samplers", "padding", "backbone", "splits")
)
_NEURAL_MODEL1 = (
    *_LOOP,
    "training/rankers/neural_model1.py",
    "training/translation_network.py",
    "training/translation_pairs.py",
)
EPIC = (
    *_LOOP,
    "training/rankers/epic.py",
    "training/epic_network.py",
    "training/expansion_start.py",
    "training/text_pairs.py",
)
_REPBERT = (*_LOOP, "training/rankers/repbert.py", "training/text_pairs.py")
CROSS = (
    *_LOOP,
    "training/rankers/cross_encoder.py",
    "training/cross_network.py",
    "training/cross_pairs.py",
    "training/heads",
)
_CONFORMER = (
    *_LOOP,
    *(
        f"training/{name}.py"
        for name in (
            "rankers/conformer_kernel", "conformer_network", "conformer_layers", "kernel_pooling",
            "batch_statistics", "ranknet_pairs", "term_rows", "word2vec",
        )
    ),
)  # fmt: skip


def tuned_bm25(place: Place, collection: str, *, titles: bool = True) -> Settings:
    """Return BM25 over lemmas with k1 and b tuned for MRR@10, as `ranklet train bm25` does."""

    def build(path: Path) -> None:
        documents = place.collection(collection)
        analysed = analyse(documents.documents(), ["lemmas"], titles=titles)
        queries = read_split(documents, "train", limit=TUNING_QUERIES)
        bm25.train(analysed, queries, field="lemmas").save(path)

    kept = place.keep(f"{collection}.bm25", build, ("training/rankers/bm25.py",))
    settings = read_checkpoint(kept).settings
    if not isinstance(settings, Settings):
        raise TypeError(f"{kept} holds {type(settings).__name__}")
    return settings


def medquad_neural_model1(place: Place) -> Checkpoint:
    """Return neural Model 1, learned from medquad without titles (some 15 minutes)."""
    collection = place.collection("medquad")
    base = tuned_bm25(place, "medquad", titles=False)

    def build(path: Path) -> None:
        backbone = load_backbone(None)
        analysed = analyse(
            collection.documents(),
            ["wordpieces", base.field],
            tokenizer=backbone.tokenizer,
            titles=False,
        )
        with all_cores():
            neural_model1.train(
                analysed,
                read_split(collection, LEARN),
                read_split(collection, HELD_OUT, limit=TUNING_QUERIES),
                bm25=base,
                embeddings=backbone.word_vectors(),
            ).save(path)

    return read_checkpoint(place.keep("medquad.neural_model1", build, _NEURAL_MODEL1))


def qa_mix_repbert(place: Place) -> Checkpoint:
    """Return RepBERT, MiniLM-L6 fine-tuned on qa-mix for `REPBERT_MINUTES`."""
    collection = place.collection("qa-mix")

    def build(path: Path) -> None:
        with all_cores():
            repbert.train(
                collection,
                read_split(collection, LEARN),
                read_split(collection, HELD_OUT, limit=TUNING_QUERIES),
                backbone=load_backbone(None),
                plan=replace(repbert.PLAN, max_minutes=REPBERT_MINUTES, evaluate_every=120),
                data=BatchOptions(negatives="bm25"),
                bm25=tuned_bm25(place, "qa-mix"),
            ).save(path)

    return read_checkpoint(place.keep("qa-mix.repbert", build, _REPBERT))


def qa_mix_epic(place: Place) -> Checkpoint:
    """Return EPIC, MiniLM-L6 fine-tuned on qa-mix for `EPIC_MINUTES`; resumed if interrupted."""
    collection = place.collection("qa-mix")
    state = place.state("qa-mix.epic", EPIC)

    def build(path: Path) -> None:
        with all_cores():
            epic.train(
                collection,
                read_split(collection, LEARN),
                read_split(collection, HELD_OUT, limit=TUNING_QUERIES),
                backbone=load_backbone(None),
                plan=replace(epic.PLAN, max_minutes=EPIC_MINUTES, evaluate_every=240),
                bm25=tuned_bm25(place, "qa-mix"),
                folder=state,
                resume=(state / STATE).is_file(),
            ).save(path)
        shutil.rmtree(state, ignore_errors=True)

    return read_checkpoint(place.keep("qa-mix.epic", build, EPIC))


def cross_body(place: Place) -> Path:
    """Return the folder of a vanilla cross-encoder of qa-mix: what all others begin with.

    So a table of many systems fits into hours: the long training is shared, and each system learns
    its own head and marks from there (a second phase, as in paper 001, §7.4).
    """
    bm25 = tuned_bm25(place, "qa-mix")

    def build(path: Path) -> None:
        documents = place.collection("qa-mix")
        tokenizer = load_backbone(None).tokenizer
        analysed = analyse(
            documents.documents(), ["wordpieces", bm25.field], tokenizer=tokenizer, titles=True
        )
        with all_cores():
            cross_encoder.train(
                analysed,
                read_split(documents, LEARN),
                read_split(documents, HELD_OUT, limit=TUNING_QUERIES),
                backbone=load_backbone(None),
                plan=replace(
                    cross_encoder.PLAN,
                    learning_rate=CROSS_RATES[0],
                    max_minutes=CROSS_BODY_MINUTES,
                    evaluate_every=150,
                ),
                bm25=bm25,
            ).save(path)

    return place.keep("qa-mix.cross_body", build, CROSS)


def cross_checkpoint(
    place: Place,
    collection: str,
    name: str,
    settings: cross.Settings,
    *,
    analysed: AnalysedCollection,
    learn: int,
) -> Path:
    """Return the folder of a cross-encoder: `cross_body`, then one epoch of `learn` queries.

    Args:
        place: of the run.
        collection: its name.
        name: of the system.
        settings: of the cross-encoder.
        analysed: the collection, with word pieces and BM25's field.
        learn: queries of train.
    """
    body = cross_body(place)

    def build(path: Path) -> None:
        documents = place.collection(collection)
        with all_cores():
            cross_encoder.train(
                analysed,
                read_split(documents, LEARN, limit=learn),
                read_split(documents, HELD_OUT, limit=TUNING_QUERIES),
                backbone=load_backbone(body),
                settings=settings,
                plan=replace(
                    cross_encoder.PLAN,
                    learning_rate=CROSS_RATES[1],
                    evaluate_every=math.ceil(learn / CROSS_STEP),  # at the end
                ),
                bm25=tuned_bm25(place, collection, titles=analysed.titles),
            ).save(path)

    return place.keep(f"{collection}.cross.{name}", build, CROSS)


def conformer(
    place: Place,
    collection: str,
    form: str,
    *,
    titles: bool,
    minutes: float = CONFORMER_MINUTES,
    **changes: Any,
) -> Checkpoint:
    """Return a Conformer-Kernel of a form, or TK, learned in `minutes`.

    Args:
        place: where it is kept.
        collection: what it learns from.
        form: ndrm1, ndrm2, ndrm3 or tk.
        titles: whether titles are part of the text.
        minutes: of training, the same for every form.
        changes: further arguments of its training.
    """
    documents = place.collection(collection)
    base = tuned_bm25(place, collection, titles=titles)
    learn = read_split(documents, LEARN)

    def build(path: Path) -> None:
        analysed = analyse(
            documents.documents(),
            ["words", base.field],
            titles=titles,
            known_words={word for query in learn for word in words(query.text)},
        )
        settings = replace(conformer_kernel.SETTINGS, form=form, scorer="onnx")
        plan = replace(
            conformer_kernel.PLAN, epochs=1000, max_minutes=minutes, evaluate_every=EVALUATE_EVERY
        )
        given = {"plan": plan, "vectors": "word2vec", "network": CONFORMER_SIZES, **changes}
        with all_cores():
            conformer_kernel.train(
                analysed,
                learn,
                read_split(documents, HELD_OUT, limit=TUNING_QUERIES),
                settings=settings,
                bm25=base,
                **given,
            ).save(path)

    return read_checkpoint(place.keep(f"{collection}.{form}", build, _CONFORMER))


@contextmanager
def all_cores() -> Iterator[None]:
    """Train on all cores, though benchmarks run on one."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(os.cpu_count() or 1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
