"""Synthetic passages whose words are as frequent, and as often repeated, as those of real ones.

The n-th most frequent word has a probability proportional to (n + q)⁻ˢ (Zipf 1949; Mandelbrot
1953), with a larger s for rare words (Ferrer i Cancho & Solé 2001). The constants were chosen so
that half of all words are among the 150 most frequent, and that 550,000, 20 million and 550 million
words have some 43,000, 330,000 and 1.8 million different ones. google-wiki's some 19 million have
207,000. With one exponent there would be two to four times as many.

A word is spelled as the n-th most frequent word of a real collection, as long as that has one, so
stop words and inflections are where they are in real texts. A passage repeats its own words, too
(Katz 1996): without that, its words would be more diverse than a real passage's.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.text.words import stop_words, words

FORMS = 4_000_000  # different words that there are
EXPONENT, SHIFT = 1.05, 2.7  # s and q
RARE, RARE_EXPONENT = 5_000, 1.7  # words that are less frequent than so many others, and their s
REPEATED = 0.2  # share of the words that are drawn from the words before them in their passage
MEAN = 55.0  # words of a passage
AT_ONCE = 10_000  # passages that are drawn at a time


class Model(NamedTuple):
    """What passages are drawn from."""

    spellings: list[str]  # most frequent first
    below: NDArray[np.float64]  # probability of a word that is not rarer than each, ascending
    lengths: NDArray[np.int64]  # of real passages, scaled to the mean, ≥ 1


class Passages(NamedTuple):
    """Some passages as numbers of words, which are their ranks."""

    tokens: NDArray[np.int64]  # end to end, (tokens,)
    ends: NDArray[np.int64]  # where each passage ends, (passages,)


def learned(texts: Iterable[str], forms: int = FORMS) -> Model:
    """Return a model with the words of real texts and their lengths.

    Args:
        texts: of a collection in English.
        forms: different words that there are; those that the collection lacks are made up.
    """
    counts: Counter[str] = Counter()
    lengths = []
    for text in texts:
        found = words(text)
        if found:
            counts.update(found)
            lengths.append(len(found))
    real = sorted(counts, key=lambda word: (-counts[word], word))[:forms]
    ranks = np.arange(1, forms + 1) + SHIFT
    weights = ranks**-EXPONENT
    weights[RARE:] = RARE**-EXPONENT * (ranks[RARE:] / RARE) ** -RARE_EXPONENT
    scaled = np.array(lengths) * (MEAN / np.mean(lengths))
    return Model(
        real + [f"w{at:x}x" for at in range(len(real), forms)],
        np.cumsum(weights / weights.sum()),
        np.maximum(np.rint(scaled), 1).astype(np.int64),
    )


def passages(model: Model, count: int, seed: int, length: int | None = None) -> Iterator[Passages]:
    """Yield passages, `AT_ONCE` at a time; the first ones are the same for every count.

    Args:
        model: what they are drawn from.
        count: how many.
        seed: of the random numbers.
        length: words of each; None draws from the model's lengths.
    """
    rng = np.random.default_rng(seed)
    for begin in range(0, count, AT_ONCE):
        lengths = rng.choice(model.lengths, AT_ONCE) if length is None else np.full(AT_ONCE, length)
        ends = np.cumsum(lengths)
        draws, repeats, places = (rng.random(int(ends[-1])) for _ in range(3))
        tokens = np.minimum(np.searchsorted(model.below, draws), len(model.spellings) - 1)
        begins = np.repeat(ends - lengths, lengths)
        at = np.arange(len(tokens)) - begins  # place in its passage
        again = np.flatnonzero((repeats < REPEATED) & (at > 0))
        # What is repeated may be a repetition itself. A chain of them ends at a word that was
        # drawn, so places are followed until all have arrived at one.
        source = np.arange(len(tokens))
        source[again] = begins[again] + (places[again] * at[again]).astype(np.int64)
        while not np.array_equal(further := source[source], source):
            source = further
        kept = min(AT_ONCE, count - begin)
        yield Passages(tokens[source][: ends[kept - 1]], ends[:kept])


def texts(model: Model, drawn: Passages) -> list[str]:
    """Return passages as texts."""
    spelled = [model.spellings[token] for token in drawn.tokens.tolist()]
    begins = [0, *drawn.ends.tolist()]
    return [" ".join(spelled[b:e]) for b, e in pairwise(begins)]


def write(
    model: Model, count: int, path: Path, *, seed: int = 0, length: int | None = None
) -> None:
    """Write passages into a CSV file with the columns id and text."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text"])
        number = 0
        for drawn in passages(model, count, seed, length):
            for text in texts(model, drawn):
                writer.writerow([f"p{number}", text])
                number += 1


def questions(model: Model, count: int, *, terms: int = 5, seed: int = 0) -> list[str]:
    """Return queries, each of different words of one passage that are no stop words.

    The passages are the first ones of every collection that is drawn with the same seed.
    """
    drawn = next(passages(model, AT_ONCE, seed))
    rng, stopped, found = np.random.default_rng(seed + 1), stop_words(), list[str]()
    for text in texts(model, drawn):
        own = [word for word in dict.fromkeys(text.split()) if word not in stopped]
        if len(own) >= terms:
            found.append(" ".join(own[at] for at in rng.permutation(len(own))[:terms]))
        if len(found) == count:
            break
    return found
