"""Scores of a teacher that counts common words, so that trainings need no cross-encoder."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.runtime.text.words import words
from ranklet.training.distilling.options import ScoreOptions
from ranklet.training.distilling.score_file import ScoreFile
from ranklet.training.distilling.scoring import score
from ranklet.training.distilling.teacher import Score, Teacher


def common_words(pairs: Any) -> NDArray[np.float32]:
    """Return the number of words that each pair's texts have in common, (pairs,) float32."""
    found = [len(set(words(query)) & set(words(document))) for query, document in pairs]
    return np.array(found, np.float32)


def teacher(scorer: Score = common_words) -> Teacher:
    return Teacher("common words", "digest of common words", lambda: scorer)


def scored(collection: Collection, split: str = "train", **changes: Any) -> ScoreFile:
    """Return the scores of a split's candidates."""
    options = replace(ScoreOptions(depth=6), **changes)
    return score(teacher(), collection, read_split(collection, split), options)


def scores_at(path: Path, collection: Collection, split: str = "train", **changes: Any) -> Path:
    """Return a file of scores in which relevant documents have 3 more, so there is what to learn.

    Words alone say nothing, because queries of the tiny collection have other names for things.
    """
    held = scored(collection, split, **changes)
    relevant = {query.id: query.relevant for query in read_split(collection, split)}
    rows = np.repeat(np.arange(len(held.queries)), np.diff(held.offsets)).tolist()
    more = [
        3.0 * (held.documents[number] in relevant[held.queries[row]])
        for row, number in zip(rows, held.numbers.tolist(), strict=True)
    ]
    return replace(held, scores=held.scores + np.array(more, np.float32)).save(path)
