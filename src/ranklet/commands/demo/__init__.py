"""Build a search of Python's own documentation, and answer questions.

With --learn it then learns from judged queries, and asks again if that surely made it better.
"""

import argparse
from pathlib import Path
from textwrap import fill
from time import perf_counter

from ranklet.commands.demo import python_docs
from ranklet.commands.demo.results import FIRST, conclusion, find_answers
from ranklet.commands.output import say, show
from ranklet.commands.rank.answers import as_text
from ranklet.corpus.collections.collection import Collection, Document, write_collection
from ranklet.corpus.index import index_bundle
from ranklet.corpus.sources.source import Source
from ranklet.runtime import load
from ranklet.runtime.answers.console import suggest_command
from ranklet.workflows.build import build
from ranklet.workflows.learn.learn import learn
from ranklet.workflows.learn.options import LearnOptions
from ranklet.workflows.learn.result import table

MEASURE, MINUTES = "nDCG@10", 3.0  # what --learn learns for, and how long at most
WIDTH = 100  # characters of a line of prose
QUESTION = "run another program and capture its output"  # the one that is explained


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("-o", "--output", default="demo", help="folder to write to")
    parser.add_argument(
        "--lexical",
        action="store_true",
        help="rank by words alone, which takes seconds and needs no PyTorch",
    )
    parser.add_argument(
        "--learn", action="store_true", help="also learn from judged queries, some minutes more"
    )


def needs(options: argparse.Namespace) -> str:
    """Return the smallest extra that suffices."""
    return "" if options.lexical else "export"


def run(options: argparse.Namespace) -> None:
    """Build a search of Python's documentation, ask it, and print the results."""
    folder, begin = Path(options.output), perf_counter()
    models = [] if options.lexical else [_minilm()]
    judged, documents = _collect(folder)
    _headline("Build a search")
    served = folder / "python-docs.ranklet"
    texts = [each._asdict() for each in documents]
    build(texts, served, models=models, overwrite=True)
    _ask(served)
    if options.learn:
        _headline("Learn from judged queries")
        texts_of_judged = (each._asdict() for each in judged.documents())
        built = build(texts_of_judged, folder / "judged.ranklet", models=models, overwrite=True)
        limits = LearnOptions(minutes=MINUTES, measure=MEASURE, lexical=options.lexical)
        learned = learn(built, judged.path, folder / "learned.ranklet", limits, overwrite=True)
        show(table(learned))
        if learned.target is not None:
            index_bundle(learned.target, Source(texts), served, overwrite=True)
            _ask(served)
    show(f"\nThat took {perf_counter() - begin:.0f} s. Try your own question:")
    say(f"  {suggest_command('rank', served, 'sort a list of dictionaries')} --explain")


def _ask(served: Path) -> None:
    """Explain the best answer to one question, and count the questions that are answered."""
    bundle = load(served)
    size = sum(entry.bytes for entry in bundle.manifest.files.values())
    say(f"{served}: {len(bundle):,} texts, {size / 1e6:.0f} MB")
    _headline("Ask")
    show(as_text(bundle.rank(QUESTION, k=1, explain=True)))
    found, plain = find_answers(bundle), find_answers(bundle, "bm25")
    if missed := [question for question, place in found.items() if place is None]:
        show(fill(f"No right answer among the first {FIRST}: {'; '.join(missed)}.", WIDTH))
    show(fill(conclusion(found, plain), WIDTH))


def _collect(folder: Path) -> tuple[Collection, list[Document]]:
    """Write judged texts to learn from; return them, and the documents that are served.

    Judged texts are those whose summaries were cut out and became queries, so that the words of
    queries and answers differ, as they do in practice. Whole texts are served.
    """
    docs = python_docs.collect()
    judged = write_collection(folder / "judged", *python_docs.judged(docs), overwrite=True)
    count = sum(len(judged.queries(split)) for split in ("train", "dev", "test"))
    say(f"{len(docs):,} texts of the documentation inside this Python")
    say(f"{judged.path}: {count:,} of their summary lines, as judged queries to learn from")
    return judged, [Document(doc.id, doc.title, doc.text) for doc in docs]


def _minilm() -> Path:
    """Return the folder of MiniLM, which may be missing, before anything is built."""
    from ranklet.training.pretrained.backbone import wheel_folder

    return wheel_folder()


def _headline(text: str) -> None:
    show(f"\n── {text}")
