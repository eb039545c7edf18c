"""Passages and queries of invented words that are as frequent and as long as those of real texts.

Words follow the law of Zipf and Mandelbrot, and the lengths of passages are lognormal, as those of
web passages are. The most frequent words are English stop words, which no index has. So posting
lists are as long as real ones, and the vocabulary is as large.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.text.words import stop_words

WORDS = 700_000  # different words, some of which no text has
EXPONENT, SHIFT = 1.07, 2.7  # of Zipf and Mandelbrot
MEAN, SPREAD = 90, 0.45  # words of a passage, and the standard deviation of their logarithm
TITLE = 4  # words
BATCH = 20_000  # passages that are drawn at a time
QUERY = (3, 4, 5, 6)  # words of a query
_ONSETS = (*"bdfgklmnprstvz", "br", "st", "tr", "pl")
_VOWELS = (*"aeiou", "ai", "ou", "ea")


def words() -> list[str]:
    """Return the words, most frequent first."""
    syllables = [onset + vowel for onset in _ONSETS for vowel in _VOWELS]
    made = sorted(stop_words())
    for number in range(WORDS - len(made)):
        word, left = "", number + len(syllables)  # at least two syllables
        while left:
            left, syllable = divmod(left, len(syllables))
            word += syllables[syllable]
        made.append(word)
    return made


def shares(count: int) -> NDArray[np.float64]:
    """Return the cumulative share of all words in a text, by rank, (words,) float64."""
    weights = 1 / (np.arange(count) + 1 + SHIFT) ** EXPONENT
    cumulative: NDArray[np.float64] = np.cumsum(weights / weights.sum())
    return cumulative


def passages(count: int, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Yield titles and texts."""
    spelled = np.array(words(), object)
    cumulative, rng = shares(len(spelled)), np.random.default_rng(seed)
    for begin in range(0, count, BATCH):
        size = min(BATCH, count - begin)
        drawn = rng.lognormal(np.log(MEAN) - SPREAD**2 / 2, SPREAD, size)
        lengths = drawn.astype(np.int64) + TITLE + 1
        ranks = np.searchsorted(cumulative, rng.random(int(lengths.sum())) * cumulative[-1])
        for part in np.split(spelled[ranks], np.cumsum(lengths)[:-1]):
            yield " ".join(part[:TITLE]), " ".join(part[TITLE:])


def queries(count: int, seed: int = 1) -> list[str]:
    """Return queries without stop words, in which rare words are preferred as people do it."""
    spelled, rng = words(), np.random.default_rng(seed)
    first = len(stop_words())
    weights = 1 / (np.arange(first, 60_000) + 1 + SHIFT) ** (EXPONENT / 2)
    weights /= weights.sum()
    made = []
    for _ in range(count):
        ranks = rng.choice(len(weights), rng.choice(QUERY), replace=False, p=weights) + first
        made.append(" ".join(spelled[rank] for rank in ranks.tolist()))
    return made


def write(path: Path, count: int) -> None:
    """Write passages as a CSV file that `ranklet build` reads."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "title", "text"])
        for number, (title, text) in enumerate(passages(count)):
            writer.writerow([f"p{number}", title, text])
