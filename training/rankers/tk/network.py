"""The network of TK: a transformer over both texts, and kernels over the whole document.

Source: Hofstätter et al. 2020. Terms are rows of the embeddings, as in a Conformer-Kernel.
"""

import math

import torch
from torch import Tensor

from ranklet.runtime.rankers.conformer_kernel.network import PADDING
from ranklet.training.learning.device import full_precision
from ranklet.training.rankers.conformer_kernel.network import Encoder, LatentMatch, Pairs, TermModel
from ranklet.training.rankers.conformer_kernel.sizes import TKNetwork


class TransformerEncoder(Encoder):
    """An encoder whose query terms have contextual vectors and whose terms have positions."""

    def placed(self, states: Tensor, rows: Tensor) -> Tensor:
        """Return the states plus positional encodings."""
        return states + positions(rows.shape[1], states.shape[2], states)

    def queries(self, rows: Tensor) -> Tensor:
        """Return vectors of query terms in their text, (batch, n, hidden)."""
        return self.contextual(rows)


class TransformerKernel(LatentMatch):
    """Kernel pooling over one window, with one score for the summed features of all terms."""

    def forward(self, query_rows: Tensor, document_rows: Tensor) -> Tensor:
        """Return the score of each pair, (batch, 1) float32; arguments as for `LatentMatch`."""
        features, _ = self.features(query_rows, document_rows)
        mask = (query_rows != PADDING).to(features.dtype)
        with full_precision(features.device):
            score: Tensor = self.dense((features[:, :, 0] * mask.unsqueeze(2)).sum(1))
        return score


class TK(TermModel):
    """The score of a pair."""

    latent: TransformerKernel

    def __init__(self, network: TKNetwork) -> None:
        kernel = TransformerKernel(TransformerEncoder(network), network)
        super().__init__(network, kernel)
        self.latent = kernel

    def forward(self, pairs: Pairs) -> Tensor:
        """Return the score of each pair, (pairs,) float32."""
        return self.latent_scores(pairs).sum(1)


def positions(n: int, hidden: int, like: Tensor) -> Tensor:
    """Return sinusoidal encodings of n positions, (n, hidden) (Vaswani et al. 2017, §3.5).

    `hidden` is even, and the result has the type and device of `like`.
    """
    rates = torch.exp(torch.arange(0, hidden, 2, device=like.device) * (-math.log(1e4) / hidden))
    angles = torch.arange(n, device=like.device).unsqueeze(1) * rates  # (n, hidden / 2)
    return torch.stack([torch.sin(angles), torch.cos(angles)], 2).reshape(n, hidden).to(like.dtype)
