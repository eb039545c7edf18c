"""The network of TK: a transformer over both texts, and kernels over the whole document.

Source: Hofstätter, Zlabinger & Hanbury, ECAI 2020. Terms are rows of the embeddings, as in a
Conformer-Kernel.
"""

import torch
from torch import Tensor, nn

from ranklet.runtime.rankers.conformer_kernel.network import PADDING, UNKNOWN
from ranklet.training.learning.device import full_precision
from ranklet.training.rankers.conformer_kernel.kernel_pooling import cosines
from ranklet.training.rankers.conformer_kernel.network import Encoder, PairNetwork
from ranklet.training.rankers.tk.kernels import (
    kernel_centres,
    length_features,
    log_features,
    soft_counts,
)
from ranklet.training.rankers.tk.options import TKNetwork

_SMALL = 0.014  # first weights of kernels, whose logarithms are as low as −33


class TransformerEncoder(Encoder):
    """The encoder of both texts, whose vectors are α · embedding + (1 − α) · context."""

    def __init__(self, sizes: TKNetwork) -> None:
        super().__init__(sizes)
        self.share = nn.Parameter(torch.zeros(()))  # α = σ(share)

    def mixed(self, plain: Tensor, states: Tensor) -> Tensor:
        """Return the mean of embeddings and states by α."""
        share = torch.sigmoid(self.share)
        return share * plain + (1 - share) * states


class TransformerKernel(PairNetwork):
    """TK: two branches of kernel features, each with a weight per kernel.

    The paper sums the features of all query terms and weighs the sums. Weights are linear, so this
    weighs the features of each query term, and the sum of the outputs is the paper's score. A word
    that the network does not know matches none.
    """

    def __init__(self, sizes: TKNetwork) -> None:
        super().__init__()
        self.encoder = TransformerEncoder(sizes)
        self.centres: Tensor
        self.register_buffer("centres", kernel_centres(sizes.kernels), persistent=False)
        self.log_weights = kernel_weights(sizes.kernels)
        self.length_weights = kernel_weights(sizes.kernels)
        self.branches = nn.Parameter(torch.ones(2))

    def forward(self, query_rows: Tensor, document_rows: Tensor) -> Tensor:
        """Return the share of each query term in the score, 0 at padding; see `PairNetwork`."""
        queries = self.encoder.contextual(query_rows).float()
        documents = self.encoder.contextual(document_rows).float()
        lengths = (document_rows != PADDING).sum(1)
        with full_precision(documents.device):
            counts = soft_counts(cosines(queries, documents), document_rows > UNKNOWN, self.centres)
            by_log = log_features(counts) @ self.log_weights
            by_length = length_features(counts, lengths) @ self.length_weights
            of_log, of_length = self.branches.unbind(0)
            scores: Tensor = of_log * by_log + of_length * by_length
        return scores * (query_rows > UNKNOWN)


def kernel_weights(kernels: int) -> nn.Parameter:
    """Return first weights of kernels, small and around 0, (kernels,) float32."""
    return nn.Parameter(torch.empty(kernels).uniform_(-_SMALL, _SMALL))
