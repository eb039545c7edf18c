"""Runs of a teacher that counts common words, so that trainings need no cross-encoder."""

from pathlib import Path

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.collections.trec import write_run
from ranklet.runtime.text.words import words

Run = dict[str, dict[str, float]]


def common_words(collection: Collection, split: str = "train", depth: int = 6) -> Run:
    """Return the number of words that queries have in common with their best documents.

    A relevant document is always among them, and has 3 more, so that there is what to learn: words
    alone say nothing, because queries of the tiny collection have other names for things.
    """
    run: Run = {}
    documents = list(collection.documents())
    for query in read_split(collection, split):
        own = set(words(query.text))
        scores = {
            each.id: len(own & set(words(each.text))) + 3.0 * (each.id in query.relevant)
            for each in documents
        }
        best = sorted(scores.items(), key=lambda item: -item[1])[:depth]
        run[query.id] = dict(best)
    return run


def run_at(path: Path, collection: Collection, split: str = "train", depth: int = 6) -> Path:
    """Write such a run."""
    run = common_words(collection, split, depth)
    write_run(path, {name: [*scores.items()] for name, scores in run.items()}, "teacher")
    return path
