"""Collect, train, export, index and evaluate once, on Python's own documentation."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from ranklet.commands import run as run_command
from ranklet.commands.demo import python_docs
from ranklet.commands.rank import as_text
from ranklet.commands.train import FELL_SHORT
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.fusion import fuse_bundle
from ranklet.export.proof.report import read_reports, report_table
from ranklet.runtime import load
from ranklet.runtime.arguments import check_k
from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.collection import Collection, Document, write_collection
from ranklet.training.data.splits import read_split
from ranklet.training.evaluation.systems import evaluate, table
from ranklet.training.rankers.bm25 import training as bm25
from ranklet.training.rankers.bm25.options import Options as BM25Options
from ranklet.training.rankers.model1 import training as model1
from ranklet.training.rankers.model1.options import Options as Model1Options

QUESTIONS = (
    "how to remove leading whitespace from a multiline string",
    "run another program and capture its output",
    "choose random elements from a list without repeating any",
    "keep the most recently used results of a function",
    "read a CSV file that a spreadsheet has written",
)
MEASURE = "nDCG@10"  # to tune for
LEXICAL, NEURAL = ("bm25", "model1"), ("neural_model1", "dense")
NEURAL_MINUTES, DENSE_MINUTES = 1.0, 1.5  # training time, long enough for a gain
DOCUMENT_TOKENS = 64  # for the neural rankers, because docstrings begin with their subject


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("-o", "--output", default="demo", help="folder to write to")
    parser.add_argument("-k", type=int, default=3, help="number of answers per question")
    parser.add_argument(
        "--lexical",
        action="store_true",
        help="train only BM25 and Model 1, which takes seconds and needs no PyTorch",
    )


def needs(options: argparse.Namespace) -> str:
    """Return the smallest extra that suffices."""
    return "lexical" if options.lexical else "export"


def run(options: argparse.Namespace) -> None:
    """Run all steps on Python's documentation and print the results."""
    check_k(options.k)  # before minutes of training, not after them
    folder = Path(options.output)
    begin = perf_counter()
    rankers = LEXICAL if options.lexical else (*LEXICAL, *NEURAL)
    _collect(folder)
    _train_lexical(folder)
    if not options.lexical:
        _train_neural(folder)
    _bundle(folder, rankers)
    _evaluate(folder, rankers)
    _ask(folder, options.k)
    print(f"\nDone in {perf_counter() - begin:.0f} s. Ask it yourself:")
    print(f'  ranklet rank {folder}/python-docs.ranklet "sort a list of dictionaries" --explain')


def _collect(folder: Path) -> None:
    _headline("Collect Python's own documentation")
    docs = python_docs.collect()
    # Training and evaluation use a collection whose summaries are removed and become queries, so
    # that the words of queries and answers differ, as they do in practice. Serving has whole texts.
    judged = write_collection(folder / "judged", *python_docs.judged(docs), overwrite=True)
    whole = [Document(doc.id, doc.title, doc.text) for doc in docs]
    write_collection(folder / "whole", whole, {}, overwrite=True)
    counts = {split: len(judged.queries(split)) for split in judged.splits()}
    sizes = ", ".join(f"{count} {split}" for split, count in counts.items())
    print(f"{len(docs):,} documents; summary lines as queries, split by module: {sizes}")


def _train_lexical(folder: Path) -> None:
    _headline("Train: k1 and b of BM25, Model 1 by EM")
    collection = Collection(folder / "judged")
    Checkpoint("bm25", BM25Settings()).save(folder / "plain")
    queries, dev = (read_split(collection, split) for split in ("train", "dev"))
    tuned = bm25.train(collection, queries, [], BM25Options(measure=MEASURE))
    tuned.save(folder / "bm25")
    options = Model1Options(bm25=tuned.settings, measure=MEASURE)
    learned = model1.train(collection, queries, dev, options)
    learned.save(folder / "model1")
    print(f"{tuned.settings}\n{learned.settings}, {learned.training['pairs']:,} translations")


def _train_neural(folder: Path) -> None:
    _headline("Train: T(q|d) by a network, and RepBERT from MiniLM")
    data = [str(folder / "judged"), "--split", "train", "--tune", "dev"]
    data += ["--max-document-tokens", str(DOCUMENT_TOKENS)]
    tuned = ["--bm25", str(folder / "bm25"), "--measure", MEASURE]
    neural = ["neural_model1", *data, *tuned, "--minutes", str(NEURAL_MINUTES)]
    dense = ["dense", *data, "--minutes", str(DENSE_MINUTES)]
    for arguments in (neural, dense):
        status = run_command("train", [*arguments, "-o", str(folder / arguments[0])])
        if status not in (0, FELL_SHORT):
            raise InputError(f"the demo cannot continue without {arguments[0]}; see above")


def _bundle(folder: Path, rankers: Sequence[str]) -> None:
    _headline("Export, prove, index, learn the fusions' weights")
    judged = Collection(folder / "judged")
    for name, parts in (("plain", ("plain",)), ("fused", rankers)):
        checkpoints = {part: read_checkpoint(folder / part) for part in parts}
        exported = export_bundle(checkpoints, folder / f"{name}.rankers", overwrite=True)
        for ranker, reports in read_reports(exported).items():
            print(f"{ranker}\n{report_table(reports)}")
        index_bundle(exported, judged, folder / f"{name}.ranklet", overwrite=True)
    fused = folder / "fused.ranklet"
    # "dev" chose only two settings of Model 1, so it can still help to learn the weights.
    queries = read_split(judged, "fusion") + read_split(judged, "dev")
    for name, parts in _fusions(rankers).items():
        fuse_bundle(
            fused, fused, queries, rankers=parts, measure=MEASURE, name=name, overwrite=True
        )
    whole = Collection(folder / "whole")
    served = index_bundle(fused, whole, folder / "python-docs.ranklet", overwrite=True)
    manifest = load(served).manifest
    size = sum(entry.bytes for entry in manifest.files.values())
    print(f"{served}: {manifest.documents:,} documents, {size / 1e6:.0f} MB")
    print(f"default pipeline: {manifest.pipelines[manifest.default_pipeline]}")


def _fusions(rankers: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the rankers of the fusions to compare, by name; the last fusion is served."""
    first, *others = rankers
    pairs: dict[str, Sequence[str]] = {f"{first}-{each}": (first, each) for each in others}
    return pairs if len(pairs) == 1 else pairs | {"all": tuple(rankers)}


def _evaluate(folder: Path, rankers: Sequence[str]) -> None:
    _headline("Evaluate on modules that nothing was trained on")
    queries = read_split(Collection(folder / "judged"), "test")
    fusions = {f"+ {name.removeprefix('bm25-')}": name for name in _fusions(rankers)}
    alone = {"dense alone": "dense"} if "dense" in rankers else {}
    systems = {"tuned BM25": "bm25", **alone, **fusions}
    plain, fused = (load(folder / f"{name}.ranklet") for name in ("plain", "fused"))
    evaluations = evaluate(plain, queries, {"plain BM25": "plain"}, depth=100)
    evaluations += evaluate(fused, queries, systems, depth=100)
    print(table(evaluations, "plain BM25"))


def _ask(folder: Path, k: int) -> None:
    _headline("Ask: ranked and explained, without any of the training code")
    bundle = load(folder / "python-docs.ranklet")
    for number, question in enumerate(QUESTIONS):
        print(f"\n? {question}")
        print(as_text(bundle.rank(question, k=k, explain=number == 0)))


def _headline(text: str) -> None:
    print(f"\n── {text}", flush=True)
