"""What synonyms add to a document's BM25.

A synonym counts as the words that it stands for. With more than one word, it is in a document that
has all of them. Its share is the saturated frequency (`saturation`) of its rarest word there, and

    amount = weight · min(Σ idf of the words asked for, Σ idf of its own words) · share

Of the words asked for and all their synonyms, only the largest amount counts. So a document gains
nothing by having several of them, as with one term in the place of all (SynonymQuery of Lucene).
Words that were typed keep their idf, and score as they do without synonyms.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.query import Group, Side


class Gain(NamedTuple):
    """What the synonyms of a group add to documents."""

    amounts: NDArray[np.float32]  # ≥ 0, (documents,)
    sides: NDArray[np.intp]  # which one counts, (documents,)


def gain(group: Group, impacts: NDArray[np.float32], idf: NDArray[np.float32]) -> Gain:
    """Return what the best synonym of each document adds to the words that were asked for.

    Args:
        group: the words and their synonyms.
        impacts: idf · saturation of each token in each document, (tokens, documents).
        idf: of each token, (tokens,).

    >>> car = Group("car", slice(0, 1), [Side("auto", 0.5, [slice(1, 2)])])
    >>> impacts = np.array([[0.0, 1.0], [2.0, 2.0]], np.float32)
    >>> gain(car, impacts, np.array([2.0, 4.0], np.float32)).amounts.tolist()
    [0.5, 0.0]
    """
    most = float(idf[group.own].sum())
    amounts = np.array([_amount(side, impacts, idf, most) for side in group.sides], np.float32)
    sides = amounts.argmax(0)
    more = amounts.max(0) - impacts[group.own].sum(0)
    return Gain(np.maximum(more, np.float32(0)), sides)


def _amount(
    side: Side, impacts: NDArray[np.float32], idf: NDArray[np.float32], most: float
) -> NDArray[np.float32]:
    """Return the amount of a synonym in each document, (documents,)."""
    shares = [impacts[word].sum(0) / idf[word].sum() for word in side.words]
    own = sum(float(idf[word].sum()) for word in side.words)
    amount: NDArray[np.float32] = np.float32(side.weight * min(most, own)) * np.min(shares, axis=0)
    return amount
