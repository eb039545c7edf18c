"""The part of a neural Model 1 that is exported: everything up to the collection's smoothing."""

import torch
from torch import Tensor, nn

from ranklet.training.rankers.neural_model1 import NeuralModel1


class LikelihoodGraph(nn.Module):
    """Σ_d T(q|d) P(d|D) for each query token (paper 000, eq. 4).

    Smoothing with P(q|C) is left to the runtime: it belongs to the collection that is served, not
    to the one that was trained on.
    """

    def __init__(self, model: NeuralModel1) -> None:
        super().__init__()
        self.model = model

    def forward(self, query_ids: Tensor, document_ids: Tensor) -> Tensor:
        """Return the likelihoods, 0 for padding.

        Args:
            query_ids: (batch, query tokens) int64, padded with [PAD].
            document_ids: (batch, document tokens) int64, padded with [PAD].

        Returns:
            (batch, query tokens) float32.
        """
        held = (document_ids != self.model.network.padding).float()
        shares = held / held.sum(1, keepdim=True).clamp(min=1)
        translations = self.model.log_mixed(query_ids, document_ids).exp()
        likelihoods = torch.einsum("bqd,bd->bq", translations, shares)
        return likelihoods * (query_ids != self.model.network.padding)
