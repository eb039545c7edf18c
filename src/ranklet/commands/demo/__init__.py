"""Train, export, serve and evaluate once, on Python's own documentation."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from time import perf_counter

from ranklet.commands.demo import python_docs
from ranklet.commands.demo.results import FIRST, answered, conclusion, results_table
from ranklet.commands.output import say, show
from ranklet.commands.rank.answers import as_text
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.fusion import fuse_bundle
from ranklet.export.options import ExportOptions
from ranklet.export.proof.report import STORED, read_reports
from ranklet.runtime import load
from ranklet.runtime.console import suggested
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection, Document, write_collection
from ranklet.training.data.splits import read_split
from ranklet.training.evaluation.systems import evaluate
from ranklet.training.outcome import summary
from ranklet.training.progress import warn
from ranklet.training.rankers.bm25 import training as bm25
from ranklet.training.rankers.bm25.options import Options as BM25Options
from ranklet.training.rankers.model1 import training as model1
from ranklet.training.rankers.model1.options import Options as Model1Options

MEASURE = "nDCG@10"  # what is tuned for
# The systems that are compared, each with the rankers that it fuses. The last one is served.
LEXICAL = {"BM25": ("bm25",), "BM25, Model 1": ("bm25", "model1")}
NEURAL = {
    "BM25, Model 1, MiniLM": ("bm25", "model1", "minilm"),
    "all four": ("bm25", "model1", "minilm", "trained"),
}
# Of the training, in steps and not in minutes, so that a slow machine learns the same encoder.
STEPS, RATE = 40, 5e-5
DOCUMENT_TOKENS = 48  # that the encoders read, because docstrings begin with their subject
WIDTH = 100  # characters of a line of prose
QUESTION = "run another program and capture its output"  # the one that is explained


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("-o", "--output", default="demo", help="folder to write to")
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
    folder, begin = Path(options.output), perf_counter()
    systems = LEXICAL if options.lexical else {**LEXICAL, **NEURAL}
    minilm = None if options.lexical else _minilm()
    judged, whole = _collect(folder)
    checkpoints = _train_lexical(judged)
    if minilm is not None:
        checkpoints |= _train_neural(judged, checkpoints, minilm)
    for name, checkpoint in checkpoints.items():
        checkpoint.save(folder / name)
    tested, served = _bundles(folder, judged, whole, checkpoints, systems)
    _report(judged, tested, served, systems)
    show(f"\nThat took {perf_counter() - begin:.0f} s. Try your own question:")
    say(f"  {suggested('rank', served, 'sort a list of dictionaries')} --explain")


def _collect(folder: Path) -> tuple[Collection, Collection]:
    """Write and return the collection to learn from, and the one that is served.

    Training and evaluation use texts whose summaries were cut out and became queries, so that the
    words of queries and answers differ, as they do in practice. Whole texts are served.
    """
    docs = python_docs.collect()
    judged = write_collection(folder / "judged", *python_docs.judged(docs), overwrite=True)
    texts = [Document(doc.id, doc.title, doc.text) for doc in docs]
    whole = write_collection(folder / "whole", texts, {}, overwrite=True)
    learn, test = (len(judged.queries(split)) for split in ("train", "test"))
    say(f"{len(docs):,} texts of the documentation inside this Python")
    say(f"{learn:,} of their summary lines are queries to learn from")
    say(f"{test:,} of them, from other modules, are the test")
    return judged, whole


def _train_lexical(judged: Collection) -> dict[str, Checkpoint]:
    _headline("Train BM25 and Model 1")
    queries, dev = (read_split(judged, split) for split in ("train", "dev"))
    tuned = bm25.train(judged, queries, [], BM25Options(measure=MEASURE))
    say(f"BM25 has k1 = {tuned.settings.k1:g} and b = {tuned.settings.b:g}")
    options = Model1Options(bm25=tuned.settings, measure=MEASURE)
    learned = model1.train(judged, queries, dev, options)
    say(f"Model 1 has learned {learned.training['pairs']:,} pairs of words")
    return {"bm25": tuned, "model1": learned}


def _minilm() -> Path:
    """Return the folder of MiniLM, which may be missing, before anything is trained."""
    from ranklet.training.pretrained.backbone import wheel_folder

    return wheel_folder()


def _train_neural(
    judged: Collection, lexical: Mapping[str, Checkpoint], folder: Path
) -> dict[str, Checkpoint]:
    """Return the sentence encoder MiniLM as it is in a folder, and trained on the queries."""
    from ranklet.training.imported.importing import read_model
    from ranklet.training.learning.device import one_thread
    from ranklet.training.rankers.dense import training as dense
    from ranklet.training.rankers.dense.options import Options as DenseOptions

    _headline("Import MiniLM, and train it")
    queries, dev = (read_split(judged, split) for split in ("train", "dev"))
    options = DenseOptions(
        bm25=lexical["bm25"].settings,
        similarity="cosine",
        steps=STEPS,
        learning_rate=RATE,
        max_document_tokens=DOCUMENT_TOKENS,
        evaluations=1,
    )
    with one_thread():
        trained = dense.train(judged, queries, dev, options)
    show(summary(trained.training))
    if warning := trained.training["warning"]:
        warn(warning)
    minilm = read_model(folder)
    settings = replace(minilm.settings, max_document_tokens=DOCUMENT_TOKENS)
    minilm = replace(minilm, settings=settings, probes=trained.probes)
    return {"minilm": minilm, "trained": trained}


def _bundles(
    folder: Path,
    judged: Collection,
    whole: Collection,
    checkpoints: Mapping[str, Checkpoint],
    systems: Mapping[str, Sequence[str]],
) -> tuple[Path, Path]:
    """Write and return two bundles with the same rankers, of the judged and of the whole texts."""
    _headline("Export, verify, index, and learn the weights of the fusions")
    served = folder / "python-docs.ranklet"
    exported = export_bundle(
        checkpoints, folder / "rankers.ranklet", ExportOptions(variants=("int8",)), overwrite=True
    )
    for name, reports in read_reports(exported).items():
        for report in reports:
            if report.variant.startswith(STORED):  # a form of vectors, and no file
                continue
            say(
                f"{name} {report.variant}: verified, {report.bytes / 1e6:.0f} MB; it keeps "
                f"{1 - report.ndcg_loss:.1%} of PyTorch's nDCG@10 (Kendall τ {report.kendall:.2f})"
            )
    tested = index_bundle(exported, judged, folder / "judged.ranklet", overwrite=True)
    # "dev" has chosen two settings of Model 1 and the training's best step. That is little, so it
    # can still help to learn the weights.
    queries = read_split(judged, "fusion") + read_split(judged, "dev")
    for rankers in systems.values():
        if len(rankers) > 1:
            fuse_bundle(
                tested, tested, queries, rankers=rankers, measure=MEASURE,
                name="-".join(rankers), overwrite=True,
            )  # fmt: skip
    index_bundle(tested, whole, served, overwrite=True)
    manifest = load(served).manifest
    size = sum(entry.bytes for entry in manifest.files.values())
    say(f"{served}: {manifest.documents:,} texts, {size / 1e6:.0f} MB")
    return tested, served


def _report(
    judged: Collection, tested: Path, served: Path, systems: Mapping[str, Sequence[str]]
) -> None:
    """Print how the systems do on the test and on a newcomer's questions."""
    pipelines = {name: "-".join(rankers) for name, rankers in systems.items()}
    queries, bundle = read_split(judged, "test"), load(served)
    evaluations = evaluate(load(tested), queries, pipelines, measures=(MEASURE,), depth=100)
    found = {name: answered(bundle, pipeline) for name, pipeline in pipelines.items()}
    best = list(systems)[-1]
    _headline("Ask")
    show(as_text(bundle.rank(QUESTION, k=1, explain=True)))
    missed = [question for question, place in found[best].items() if place is None]
    if missed:
        show(fill(f"No right answer among the first {FIRST}: {'; '.join(missed)}.", WIDTH))
    _headline("Results")
    show(results_table(evaluations, found))
    show(fill(conclusion(evaluations, found), WIDTH))


def _headline(text: str) -> None:
    show(f"\n── {text}")
