"""The whole way once, on the documentation inside this Python: from collecting it to answers.

A document's summary line is its query: for training and evaluation it is taken out of the document,
so that the words which people search by and the words of the answer differ, as they do in life.
"""

import argparse
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ranklet.training.evaluation import Evaluation
    from ranklet.training.splits import JudgedQuery

QUESTIONS = (
    "how to remove leading whitespace from a multiline string",
    "run another program and capture what it prints",
    "pick random elements without repeating any",
    "keep the most recently used results of a function",
    "read a spreadsheet exported as comma separated text",
)
TUNING_QUERIES = 600  # of 1,600; more change neither k1 nor b


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "-o", "--output", default="demo", help="folder to write to (default: %(default)s)"
    )
    parser.add_argument("-k", type=int, default=3, help="answers to each question")


def run(options: argparse.Namespace) -> None:
    """Carry Python's documentation through all of ranklet."""
    folder = Path(options.output)
    begin = perf_counter()
    _collect(folder)
    _train(folder)
    _bundle(folder)
    _evaluate(folder)
    _ask(folder, options.k)
    print(f"\nDone in {perf_counter() - begin:.0f} s. Ask it yourself:")
    print(f'  ranklet rank {folder}/python-docs.ranklet "sort a list of dictionaries" --explain')


def _collect(folder: Path) -> None:
    from ranklet.training import python_docs
    from ranklet.training.collection import write_collection

    _headline("1. Collect Python's own documentation")
    docs = python_docs.collect()
    # Two collections: one to learn and evaluate on, with the summaries taken out as queries, and
    # one to serve, with all of the text.
    judged = write_collection(
        folder / "judged", *python_docs.as_collection(docs, summaries=False), overwrite=True
    )
    write_collection(
        folder / "whole", *python_docs.as_collection(docs, summaries=True), overwrite=True
    )
    counts = {split: len(judged.queries(split)) for split in judged.splits()}
    told = ", ".join(f"{count} {split}" for split, count in counts.items())
    print(f"{len(docs):,} documents; summary lines as queries, split by module: {told}")


def _train(folder: Path) -> None:
    from ranklet.runtime.rankers.bm25 import Settings
    from ranklet.runtime.text.words import words
    from ranklet.training.checkpoint import Checkpoint
    from ranklet.training.collection import Collection
    from ranklet.training.indexing import analyse
    from ranklet.training.rankers import bm25, model1
    from ranklet.training.splits import read_split

    _headline("2. Train: k1 and b of BM25, Model 1 by EM")
    collection = Collection(folder / "judged")
    queries = read_split(collection, "train")
    asked = {word for query in queries for word in words(query.text)}
    analysed = analyse(collection.documents(), ["lemmas", "words"], known_words=asked)
    Checkpoint("bm25", Settings()).save(folder / "plain")
    tuned = bm25.train(
        analysed, read_split(collection, "train", limit=TUNING_QUERIES), measure="nDCG@10"
    )
    tuned.save(folder / "bm25")
    learned = model1.train(
        analysed,
        queries,
        read_split(collection, "dev"),
        bm25=tuned.settings,
        measure="nDCG@10",
    )
    learned.save(folder / "model1")
    print(f"{tuned.settings}\n{learned.settings}, {learned.training['pairs']:,} translations")


def _bundle(folder: Path) -> None:
    from ranklet.export.exporting import export_bundle, index_bundle
    from ranklet.export.fusing import fuse_bundle
    from ranklet.runtime import load
    from ranklet.training.checkpoint import read_checkpoint
    from ranklet.training.collection import Collection
    from ranklet.training.splits import read_split

    _headline("3. Export, index, learn the fusion's weights")
    judged = Collection(folder / "judged")
    for name, parts in (("plain", ["plain"]), ("fused", ["bm25", "model1"])):
        checkpoints = {part: read_checkpoint(folder / part) for part in parts}
        export_bundle(checkpoints, folder / f"{name}.rankers", overwrite=True)
        target = folder / f"{name}.ranklet"
        index_bundle(folder / f"{name}.rankers", judged, target, overwrite=True)
    fused = folder / "fused.ranklet"
    # "dev" chose two settings of Model 1, no more: it still helps to weigh it.
    queries = read_split(judged, "fusion") + read_split(judged, "dev")
    fuse_bundle(fused, fused, queries, measure="nDCG@10", overwrite=True)
    whole = Collection(folder / "whole")
    served = index_bundle(fused, whole, folder / "python-docs.ranklet", overwrite=True)
    manifest = load(served).manifest
    size = sum(entry.bytes for entry in manifest.files.values())
    print(f"{served}: {manifest.documents:,} documents, {size / 1e6:.0f} MB")
    print(f"default pipeline: {manifest.pipelines[manifest.default_pipeline]}")


def _evaluate(folder: Path) -> None:
    from ranklet.training.collection import Collection
    from ranklet.training.evaluation import table
    from ranklet.training.splits import read_split

    _headline("4. Evaluate on modules that nothing was trained on")
    queries = read_split(Collection(folder / "judged"), "test")
    found = [
        *_evaluated(folder / "plain.ranklet", queries, {"plain BM25": "plain"}),
        *_evaluated(
            folder / "fused.ranklet",
            queries,
            {"tuned BM25": "bm25", "+ Model 1 (RRF)": "rrf", "+ Model 1 (linear)": "linear"},
        ),
    ]
    print(table(found, "plain BM25"))


def _evaluated(
    bundle: Path, queries: "list[JudgedQuery]", pipelines: dict[str, str]
) -> "list[Evaluation]":
    from ranklet.runtime import load
    from ranklet.training.evaluation import evaluate

    return evaluate(load(bundle), queries, pipelines, depth=100)


def _ask(folder: Path, k: int) -> None:
    from ranklet.commands.rank import as_text
    from ranklet.runtime import load

    _headline("5. Ask: ranked and explained, without any of the training code")
    bundle = load(folder / "python-docs.ranklet")
    for at, question in enumerate(QUESTIONS):
        print(f"\n? {question}")
        print(as_text(bundle.rank(question, k=k, explain=at == 0)))


def _headline(text: str) -> None:
    print(f"\n── {text}", flush=True)
