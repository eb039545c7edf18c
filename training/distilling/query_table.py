"""Learn a table with one vector per token that says of queries what a network says.

It is a distillation (Hinton et al. 2015) into the smallest student: a bag of vectors, as those of
model2vec, but only for queries. Documents keep the network, as in LEAF (Vujanic & Rueckstiess 2025,
§3), whose students are networks. With n(x) = x / |x| the student is

    q = n(n(A · Σ E[token]) + b),

and A, which lets all rows move at once, is multiplied into them when the learning is done.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy, normalize

SCALE = 20.0  # of the cosines of a batch, before the softmax
LEAST_HELD, MOST_HELD = 100, 4_000  # texts by which the result is known, one in fifty


@dataclass(frozen=True)
class Learning:
    """How a table learns.

    Attributes:
        epochs: passes over the texts.
        batch: texts per step.
        row_rate: step size of Adam for the rows.
        rate: the same for A and b; 0 leaves both as they are.
        decay: factor of both after each pass.
        contrast: weight of telling a text's vector from those of its batch, beside 1 - cosine.
    """

    epochs: int = 8
    batch: int = 1024
    row_rate: float = 4e-3
    rate: float = 1e-3
    decay: float = 0.75
    contrast: float = 0.05


AGAIN = Learning(epochs=6, row_rate=2e-3, rate=0.0)  # of a table that has learned other texts


class Table(NamedTuple):
    """A table for `QueryTable`."""

    rows: NDArray[np.float32]  # (vocabulary, dimension)
    constant: NDArray[np.float32]  # (dimension,)


def learn(
    tokens: Sequence[Sequence[int]],
    vectors: NDArray[np.float16 | np.float32],
    begin: Table,
    learning: Learning,
    after: Callable[[int, float], object] = lambda *_: None,
) -> tuple[Table, float]:
    """Return a table, and the mean cosine to the network's vectors of texts that it has not seen.

    Args:
        tokens: the token ids of each text, without special tokens.
        vectors: the network's, of length 1, (texts, dimension).
        begin: what it begins with.
        learning: how it learns.
        after: is called after each pass with its number and that cosine.
    """
    torch.manual_seed(0)
    draw = np.random.default_rng(0)
    known = np.array([at for at, ids in enumerate(tokens) if len(ids)])
    order = draw.permutation(known)
    held, seen = np.split(order, [_held(len(order))])
    student = _Student(begin)
    sparse = torch.optim.SparseAdam([student.rows], lr=learning.row_rate)
    dense = torch.optim.Adam([student.matrix, student.constant], lr=learning.rate)
    cosine = student.cosine(tokens, vectors, held)
    for epoch in range(learning.epochs):
        draw.shuffle(seen)
        for first in range(0, len(seen), learning.batch):
            some = seen[first : first + learning.batch]
            wanted, found = _tensor(vectors[some]), student([tokens[at] for at in some])
            loss = (1 - (found * wanted).sum(1)).mean()
            if learning.contrast:
                own = torch.arange(len(some))
                loss = loss + learning.contrast * cross_entropy(found @ wanted.T * SCALE, own)
            sparse.zero_grad()
            dense.zero_grad()
            loss.backward()
            sparse.step()  # type: ignore[no-untyped-call]
            if learning.rate:
                dense.step()
        for group in (*sparse.param_groups, *dense.param_groups):
            group["lr"] *= learning.decay
        cosine = student.cosine(tokens, vectors, held)
        after(epoch + 1, cosine)
    return student.table(), cosine


class _Student(torch.nn.Module):
    def __init__(self, begin: Table) -> None:
        super().__init__()
        self.rows = torch.nn.Parameter(torch.from_numpy(begin.rows.copy()))
        self.matrix = torch.nn.Parameter(torch.eye(begin.rows.shape[1]))
        self.constant = torch.nn.Parameter(torch.from_numpy(begin.constant.copy()))

    def forward(self, tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        """Return the vectors of texts, (texts, dimension) float32."""
        begins = np.cumsum([0, *(len(ids) for ids in tokens[:-1])])
        flat = torch.from_numpy(np.concatenate([*map(np.asarray, tokens)]).astype(np.int64))
        total = torch.nn.functional.embedding_bag(
            flat, self.rows, torch.from_numpy(begins), mode="sum", sparse=True
        )
        return normalize(normalize(total @ self.matrix.T, dim=1) + self.constant, dim=1)

    @torch.inference_mode()
    def cosine(
        self,
        tokens: Sequence[Sequence[int]],
        vectors: NDArray[np.float16 | np.float32],
        which: NDArray[np.int64],
    ) -> float:
        """Return the mean cosine to the network's vectors of some texts; 0 if there are none."""
        if not len(which):
            return 0.0
        found = self([tokens[at] for at in which])
        return float((found * _tensor(vectors[which])).sum(1).mean())

    @torch.inference_mode()
    def table(self) -> Table:
        rows = self.rows @ self.matrix.T
        return Table(rows.numpy(), self.constant.numpy().copy())


def _held(texts: int) -> int:
    """Return how many of some texts a table does not learn from, at most a fifth."""
    return min(MOST_HELD, max(texts // 50, min(LEAST_HELD, texts // 5)))


def _tensor(vectors: NDArray[np.float16 | np.float32]) -> torch.Tensor:
    return normalize(torch.from_numpy(vectors.astype(np.float32)), dim=1)
