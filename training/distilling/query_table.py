"""Learn a table with one vector per token that says of queries what a network says.

It is a distillation (Hinton et al. 2015) into the smallest student: a bag of vectors, as those of
model2vec, but only for queries. Documents keep the network, as in LEAF (Vujanic & Rueckstiess
2025), whose students are networks. It is least squares near a beginning, so there are no steps to
tune and no seed:

    min over E  |X E − s ∘ T|² + λ |E − E₀|²

X counts the tokens of each text, or has 1 plus the logarithm of each count. T has the network's
vectors, and s is the length of each row of X E along its vector, because only directions count.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding_bag, normalize

NEAR = 3.0  # λ: a token that occurs in three texts moves half of its way
ROUNDS, STEPS = 2, 6  # of new lengths s, and of conjugate gradients in each
LENGTHS = 0.3, 2.0  # least and most of s
LEAST_HELD, MOST_HELD = 100, 4_000  # texts by which the result is known, one in fifty

Halves = NDArray[np.float16 | np.float32]


class _Counts(NamedTuple):
    """A matrix that counts tokens of texts, (rows, columns), as the columns of each row."""

    columns: Tensor
    begins: Tensor
    weights: Tensor | None = None  # of each entry; None for 1

    def times(self, values: Tensor) -> Tensor:
        """Return its product with a matrix, (rows, dimension)."""
        weights = self.weights
        return embedding_bag(
            self.columns, values, self.begins, mode="sum", per_sample_weights=weights
        )


def learn(
    tokens: Sequence[Sequence[int]],
    vectors: Halves,
    begin: NDArray[np.float32],
    after: Callable[[int, float], object] = lambda *_: None,
    *,
    near: float = NEAR,
    steps: int = STEPS,
    dampened: bool = False,
    more: tuple[Sequence[Sequence[int]], Halves] | None = None,
) -> tuple[NDArray[np.float32], float]:
    """Return a table, and the mean cosine to the network's vectors of texts that it has not seen.

    Args:
        tokens: the token ids of each text, without special tokens.
        vectors: the network's, of length 1, (texts, dimension).
        begin: what it begins with and stays near, E₀ but for a factor, (vocabulary, dimension);
            zeros where nothing is known.
        after: is called after each round with its number and that cosine.
        near: λ.
        steps: of conjugate gradients in each round.
        dampened: whether X has 1 plus the logarithm of each count, as for long texts.
        more: tokens and vectors of further texts to learn from, none of which is held out.
    """
    held, seen = hold_out(tokens)
    taught, targets = [tokens[at] for at in seen], vectors[seen].astype(np.float32)
    if more is not None:
        taught, targets = [*taught, *more[0]], np.concatenate([targets, more[1]])
    if not len(seen):
        return begin.copy(), 0.0
    wanted = normalize(torch.from_numpy(targets), dim=1)
    used, flat = np.unique(_flat(taught), return_inverse=True)
    with torch.inference_mode():
        counts, turned = _counts(flat, [*map(len, taught)], len(used), dampened)
        first = torch.from_numpy(begin[used])
        found = counts.times(first)
        factor = float((found * wanted).sum() / found.square().sum().clamp(min=1e-9))
        first, rows, cosine = first * factor, begin * np.float32(factor), 0.0
        learned = first.clone()
        for turn in range(ROUNDS):
            found = counts.times(learned)
            lengths = (found * wanted).sum(1, keepdim=True).clamp(*LENGTHS)
            if not learned.any():
                lengths = torch.ones_like(lengths)
            rest = turned.times(lengths * wanted - found) - near * (learned - first)
            learned += _solved(counts, turned, rest, near, steps)
            rows[used] = learned.numpy()
            cosine = _cosine(rows, [tokens[at] for at in held], vectors[held])
            after(turn + 1, cosine)
    return rows, cosine


def hold_out(tokens: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of texts from which a table does not learn, and of those it learns from.

    Texts without a token are none of them.
    """
    known = np.array([at for at, ids in enumerate(tokens) if len(ids)], np.int64)
    order = np.random.default_rng(0).permutation(known)
    held, seen = np.split(order, [_held(len(order))])
    return held, seen


def _solved(counts: _Counts, turned: _Counts, rest: Tensor, near: float, steps: int) -> Tensor:
    """Return Z with (XᵀX + λ) Z ≈ rest, by some steps of conjugate gradients.

    Each column has its own steps. The diagonal is the preconditioner (Shewchuk 1994, B3).
    """
    occurs = torch.diff(turned.begins, append=torch.tensor([len(turned.columns)])).float()
    if turned.weights is not None:
        occurs = _Counts(*turned._replace(weights=turned.weights**2)).times(
            torch.ones(len(counts.begins), 1)
        )[:, 0]
    diagonal = occurs[:, None] + near
    solved, ahead = torch.zeros_like(rest), rest / diagonal
    along, size = ahead.clone(), (rest * ahead).sum(0)
    for _ in range(steps):
        image = turned.times(counts.times(along)) + near * along
        step = size / (along * image).sum(0).clamp(min=1e-12)
        solved += step * along
        rest = rest - step * image
        ahead = rest / diagonal
        before, size = size, (rest * ahead).sum(0)
        along = ahead + size / before.clamp(min=1e-12) * along
    return solved


def _counts(
    flat: NDArray[np.int64], lengths: Sequence[int], tokens: int, dampened: bool
) -> tuple[_Counts, _Counts]:
    """Return the counts of tokens by text, and of texts by token.

    Args:
        flat: the tokens of all texts, end to end, numbered from 0.
        lengths: of each text.
        tokens: how many there are.
        dampened: see `learn`.
    """
    text, weights = np.repeat(np.arange(len(lengths)), lengths), None
    if dampened:
        pairs, times = np.unique(text * tokens + flat, return_counts=True)
        text, flat = np.divmod(pairs, tokens)
        weights = torch.from_numpy((1 + np.log(times)).astype(np.float32))
    by_token = np.argsort(flat, kind="stable")
    begins = np.searchsorted(flat[by_token], np.arange(tokens))
    starts = np.searchsorted(text, np.arange(len(lengths)))
    return (
        _Counts(torch.from_numpy(flat), torch.from_numpy(starts), weights),
        _Counts(
            torch.from_numpy(text[by_token]), torch.from_numpy(begins),
            None if weights is None else weights[by_token],
        ),
    )  # fmt: skip


def _flat(tokens: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    return np.concatenate([np.asarray(ids, np.int64) for ids in tokens])


def _cosine(rows: NDArray[np.float32], tokens: Sequence[Sequence[int]], vectors: Halves) -> float:
    """Return the mean cosine to the network's vectors of some texts; 0 if there are none."""
    if not tokens:
        return 0.0
    found = np.array([rows[np.asarray(ids)].sum(0) for ids in tokens])
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(vectors.astype(np.float32), axis=1)
    return float(((found * vectors).sum(1) / np.maximum(lengths, 1e-9)).mean())


def _held(texts: int) -> int:
    """Return how many of some texts a table does not learn from, at most a fifth."""
    return min(MOST_HELD, max(texts // 50, min(LEAST_HELD, texts // 5)))
