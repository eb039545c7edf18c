"""What students learn of a teacher's scores: their margins, or their softmax.

Sources: Hofstätter et al. 2020, "Improving Efficient Neural Ranking Models with Cross-Architecture
Knowledge Distillation" (arXiv 2010.02666); Lassance et al. 2024, SPLADE-v3 (arXiv 2403.06789).
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ranklet.training.distilling.taught import TaughtQueries
from ranklet.training.learning.losses import margin_mse, softmax_kl
from ranklet.training.learning.options import KL, TaughtOptions
from ranklet.training.sampling.negatives import Numbers


class TeacherMargins:
    """What a student learns of a teacher.

    Args:
        scores: returns the teacher's scores of documents of some queries, (queries,) int64 and
            (queries, documents) int64 → (queries, documents) float32.
        scale: factor of the teacher's scores.
        facts: what the report of a training says of the teacher; a training can only be resumed
            with the same ones.
        by_softmax: whether students learn the softmax over a query's documents, not the margins.
    """

    def __init__(
        self,
        scores: Callable[[Numbers, Numbers], NDArray[np.float32]],
        scale: float,
        facts: Mapping[str, Any],
        *,
        by_softmax: bool = False,
    ) -> None:
        self._scores, self._scale, self.by_softmax = scores, scale, by_softmax
        self.made_of = {"teacher": dict(facts)}

    def of(self, queries: Numbers, documents: Numbers) -> NDArray[np.float32]:
        """Return the margins of each query's first document over the others.

        Args:
            queries: (queries,) int64.
            documents: (queries, documents) int64.

        Returns:
            (queries, documents − 1) float32.
        """
        scores = self._scores(queries, documents)
        return np.asarray(self._scale * (scores[:, :1] - scores[:, 1:]), np.float32)

    def loss(self, queries: Numbers, documents: Numbers, scores: Tensor) -> Tensor:
        """Return the error of a student's margins or softmax; see `margin_mse`, `softmax_kl`.

        Args:
            queries: (queries,) int64.
            documents: (queries, documents) int64.
            scores: the student's, (queries, documents) float32.
        """
        if self.by_softmax:
            wanted = torch.from_numpy(self._scale * self._scores(queries, documents))
            return softmax_kl(scores, wanted.to(scores.device))
        teacher_margins = torch.from_numpy(self.of(queries, documents)).to(scores.device)
        return margin_mse(scores[:, :1] - scores[:, 1:], teacher_margins)


def read_margins(taught: TaughtQueries | None, options: TaughtOptions) -> TeacherMargins | None:
    """Return the margins of a teacher's run; None without one."""
    if taught is None:
        return None
    by_softmax = options.teacher_loss == KL
    return TeacherMargins(taught.of, options.teacher_scale, taught.facts, by_softmax=by_softmax)
