"""The likelihood of a query given a document, with T(q|d) from a network.

Source: Boytsov & Kolter 2021, §3.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ranklet.training.learning.device import full_precision
from ranklet.training.rankers.neural_model1.network import Network, make_translation


class NeuralModel1(nn.Module):
    """log P(Q|D) = Σ_q log [(1 − λ) Σ_d T(q|d) P(d|D) + λ P(q|C)] (Boytsov & Kolter, eq. 3 and 4).

    T(t|t) is p_self. Every other T(q|d) is that of the network times 1 − p_self.

    Args:
        network: sizes and constants.
        background: P(q|C) > 0, (vocabulary,) float32.
    """

    def __init__(self, network: Network, background: NDArray[np.float32]) -> None:
        super().__init__()
        self.network = network
        self.translate = make_translation(network)
        self.background: Tensor
        self.register_buffer("background", torch.from_numpy(background.astype(np.float32)))

    def forward(self, query_ids: Tensor, document_ids: Tensor) -> Tensor:
        """Return log P(Q|D) of each pair of texts, (batch,) float32.

        The ids are (batch, tokens) int64 each, padded with [PAD].
        """
        shares = even_shares(document_ids, self.network.padding).unsqueeze(2)
        return self.log_likelihoods(query_ids, document_ids, shares).squeeze(1)

    def log_likelihoods(self, query_ids: Tensor, token_ids: Tensor, shares: Tensor) -> Tensor:
        """Return log P(Q|D) of each query and its own documents, (batch, documents) float32.

        This sums over unique tokens (eq. 2) and has the same value as eq. 4. Documents repeat
        tokens and share them, so each T(q|d) is computed only once for all of them.

        Args:
            query_ids: (batch, query tokens) int64, padded with [PAD].
            token_ids: tokens of any of the query's documents, (batch, tokens) int64.
            shares: P(d|D), 0 for padding, (batch, tokens, documents) float32.
        """
        translations = self.mixed(query_ids, token_ids)
        with full_precision(shares.device):
            likelihoods = translations @ shares  # (batch, query tokens, documents)
        background = self.background[query_ids].unsqueeze(2)
        by_token = smoothed(likelihoods, background, self.network.lambda_)
        return (by_token * (query_ids != self.network.padding).unsqueeze(2)).sum(1)

    def mixed(self, query_ids: Tensor, document_ids: Tensor) -> Tensor:
        """Return T(q|d) including p_self, (batch, query tokens, document tokens) float32."""
        others: Tensor = self.translate(query_ids, document_ids) * (1 - self.network.p_self)
        same = query_ids.unsqueeze(2) == document_ids.unsqueeze(1)
        return torch.where(same, self.network.p_self, others)

    def translation(self, query_tokens: Tensor, document_tokens: Tensor) -> Tensor:
        """Return the network's T(q|d) without p_self of every pair of tokens.

        Tokens are (queries,) and (documents,) int64, the result (queries, documents) float32.
        """
        batch: Tensor = self.translate(query_tokens.unsqueeze(0), document_tokens.unsqueeze(0))
        return batch[0]


def even_shares(ids: Tensor, padding: int) -> Tensor:
    """Return 1 / |D| for each token of a document and 0 for padding (Boytsov & Kolter, eq. 4).

    The ids and the result are (batch, document tokens), int64 and float32.
    """
    present = (ids != padding).float()
    return present / present.sum(1, keepdim=True).clamp(min=1)


def smoothed(likelihoods: Tensor, background: Tensor, lambda_: float) -> Tensor:
    """Return log [(1 − λ) P + λ P(q|C)] of some P and P(q|C) > 0 (Boytsov & Kolter, eq. 3)."""
    return torch.log((1 - lambda_) * likelihoods + lambda_ * background)
