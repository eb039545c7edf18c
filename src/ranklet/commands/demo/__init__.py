"""Build a search of Python's own documentation, learn from judged queries, and answer questions."""

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
from ranklet.export.build import build
from ranklet.export.learning.learn import learn
from ranklet.export.learning.options import LearnOptions
from ranklet.export.learning.table import table
from ranklet.runtime import load
from ranklet.runtime.console import suggest_command

MEASURE = "nDCG@10"  # what is learned for
MINUTES = 3.0  # of learning, at most
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


def needs(options: argparse.Namespace) -> str:
    """Return the smallest extra that suffices."""
    return "" if options.lexical else "export"


def run(options: argparse.Namespace) -> None:
    """Run all steps on Python's documentation and print the results."""
    folder, begin = Path(options.output), perf_counter()
    models = [] if options.lexical else [_minilm()]
    judged, whole = _collect(folder)
    _headline("Build a search")
    texts = (each._asdict() for each in judged.documents())
    built = build(texts, folder / "judged.ranklet", models=models, overwrite=True)
    _headline("Learn from judged queries")
    limits = LearnOptions(minutes=MINUTES, measure=MEASURE, lexical=options.lexical)
    learned = learn(built, judged.path, folder / "learned.ranklet", limits, overwrite=True)
    show(table(learned))
    served = folder / "python-docs.ranklet"
    texts = (each._asdict() for each in whole)
    index_bundle(learned.target or built, Source(texts), served, overwrite=True)
    bundle = load(served)
    size = sum(entry.bytes for entry in bundle.manifest.files.values())
    say(f"{served}: {len(bundle):,} texts, {size / 1e6:.0f} MB")
    _headline("Ask")
    show(as_text(bundle.rank(QUESTION, k=1, explain=True)))
    found, plain = find_answers(bundle), find_answers(bundle, "bm25")
    if missed := [question for question, place in found.items() if place is None]:
        show(fill(f"No right answer among the first {FIRST}: {'; '.join(missed)}.", WIDTH))
    show(fill(conclusion(found, plain), WIDTH))
    show(f"\nThat took {perf_counter() - begin:.0f} s. Try your own question:")
    say(f"  {suggest_command('rank', served, 'sort a list of dictionaries')} --explain")


def _collect(folder: Path) -> tuple[Collection, list[Document]]:
    """Return a collection to learn from, which is written, and the documents that are served.

    Learning uses texts whose summaries were cut out and became queries, so that the words of
    queries and answers differ, as they do in practice. Whole texts are served.
    """
    docs = python_docs.collect()
    judged = write_collection(folder / "judged", *python_docs.judged(docs), overwrite=True)
    learned, test = (len(judged.queries(split)) for split in ("train", "test"))
    say(f"{len(docs):,} texts of the documentation inside this Python")
    say(f"{learned:,} of their summary lines are queries to learn from")
    say(f"{test:,} of them, from other modules, are the test")
    return judged, [Document(doc.id, doc.title, doc.text) for doc in docs]


def _minilm() -> Path:
    """Return the folder of MiniLM, which may be missing, before anything is built."""
    from ranklet.training.pretrained.backbone import wheel_folder

    return wheel_folder()


def _headline(text: str) -> None:
    show(f"\n── {text}")
