"""The ColBERT of qa-mix, the oracle that lighter encoders learn from, and its bundle."""

from collections.abc import Collection as Sized
from pathlib import Path
from typing import NamedTuple

from benchmarks.all_systems.studies import drawn
from benchmarks.built.trained import CROSS_RATES, learn_and_save, tuned_bm25
from benchmarks.harness.place import Place
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.runtime.bundles.manifest import Splitting
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.collection import Document
from ranklet.training.rankers.colbert import training as colbert
from ranklet.training.rankers.colbert.options import Options as ColBERTOptions

COLBERT_MINUTES = 18.0
COLBERT = (
    "training/learning",
    "training/sampling",
    "training/pretrained/backbone.py",
    "training/data/splits.py",
    "training/rankers/colbert",
)

# What its bundle depends on. The rest of training/, export/ and runtime/ may change.
BUNDLE = (
    *COLBERT,
    "training/indexing",
    "training/rankers/bm25",
    "export/onnx",
    "export/rankers/bm25.py",
    "export/rankers/colbert",
    *(f"export/{name}.py" for name in ("bundles", "document_encoding", "options", "writer")),
    "runtime/rankers/bm25.py",
    "runtime/rankers/colbert",
    "runtime/dense/maxsim.py",
    "runtime/bundles/manifest.py",
    "runtime/onnx",
    "runtime/lexical",
    "runtime/text",
)


def qa_mix_colbert(place: Place) -> Path:
    """Return the folder of a ColBERT of qa-mix, MiniLM-L6 trained for `COLBERT_MINUTES`.

    It has no markers, no expansion and no vectors of special tokens, like the oracle of Boualili,
    chapter 8. That one has inner products of 768 numbers and learned by Margin-MSE. With inner
    products of untrained states, the first losses were erratic, so this one has the cosine.
    """

    def build(path: Path) -> None:
        train_colbert(place, path, "colbert", COLBERT_MINUTES)

    return place.keep("qa-mix.colbert", build, COLBERT)


def train_colbert(
    place: Place, path: Path, name: str, minutes: float, *, start: Path | None = None
) -> None:
    """Train a ColBERT of qa-mix, and save it at a path; resumed if it was interrupted.

    Args:
        place: of the run.
        path: of the new checkpoint.
        name: of the training's state.
        minutes: of training.
        start: the checkpoint of a ColBERT to go on with; None for a new one of MiniLM-L6.
    """
    options = ColBERTOptions(
        start=start,
        dimension=ColBERTOptions.dimension if start is None else 0,
        markers=False,
        special_tokens=False,
        punctuation=True,
        batch=16,
        learning_rate=CROSS_RATES[1],
        epochs=3,
        max_minutes=minutes,
        evaluate_every=150,
    )
    state = place.state(f"qa-mix.{name}", COLBERT)
    learn_and_save(place, "qa-mix", colbert.train, options, path, state)


def qa_mix_colbert_bundle(place: Place) -> Path:
    """Return an indexed bundle of qa-mix: BM25, tuned, and the ColBERT, encoded and stored in int8.

    Encoding takes some 10 minutes of one core. Blocks of documents that are encoded are kept, so an
    interrupted build continues.
    """
    learned = qa_mix_colbert(place)

    def build(path: Path) -> None:
        checkpoints = {
            "bm25": Checkpoint("bm25", tuned_bm25(place, "qa-mix")),
            "colbert": read_checkpoint(learned),
        }
        rankers = path.with_name(f"{path.name}.rankers")
        export_bundle(checkpoints, rankers, overwrite=True)
        index_bundle(rankers, place.collection("qa-mix"), path, overwrite=True)

    return place.keep("qa-mix-colbert.ranklet", build, BUNDLE)


class Cut(NamedTuple):
    """A part of a collection, with what an index needs of one."""

    name: str
    passages: list[Document]

    def documents(self) -> list[Document]:
        """Return the passages."""
        return self.passages

    @property
    def splitting(self) -> Splitting:
        """How the passages are split: no further."""
        return Splitting(0, 0)


def cut_qa_mix_colbert_bundle(place: Place, needed: Sized[str], passages: int) -> Path:
    """Return the same bundle of a part of qa-mix.

    Args:
        place: of the run.
        needed: ids of documents that must be there.
        passages: how many documents, those that are needed and others at random.
    """

    def build(path: Path) -> None:
        documents = drawn(list(place.collection("qa-mix").documents()), set(needed), passages)
        index_bundle(qa_mix_colbert_bundle(place), Cut("qa-mix", documents), path, overwrite=True)

    return place.keep(f"qa-mix-colbert.{passages}.ranklet", build, BUNDLE)
