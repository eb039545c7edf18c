"""CEDR-KNRM: soft counts of similarities around fixed values per layer, and [CLS]."""

import torch
from torch import Tensor, nn

from ranklet.training.rankers.cross_encoder.heads import HeadSizes
from ranklet.training.rankers.cross_encoder.heads.pair_states import PairStates, similarities

# Xiong et al. 2017 (KNRM), §4: ten kernels over [−1, 1], and one for exact matches.
MEANS = (-0.9, -0.7, -0.5, -0.3, -0.1, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
WIDTHS = (*[0.1] * 10, 0.001)
TINY = 1e-10  # smallest count, so that the logarithm is finite
DAMPING = 0.01  # factor of the logarithms, so that the linear layer starts with small values


class CedrKNRM(nn.Module):
    """score = w · [φ; mean [CLS]] + b, one φ per kernel and layer (MacAvaney et al. 2019, §2.2)."""

    def __init__(self, name: str, sizes: HeadSizes) -> None:  # noqa: ARG002
        super().__init__()
        self.means: Tensor
        self.widths: Tensor
        self.register_buffer("means", torch.tensor(MEANS), persistent=False)
        self.register_buffer("widths", torch.tensor(WIDTHS), persistent=False)
        self.linear = nn.Linear(sizes.layers * len(MEANS) + sizes.hidden, 1)

    def forward(self, states: PairStates) -> Tensor:
        """Return one score per pair, (pairs,) float32."""
        layers, chunk_mask = similarities(states, states.longest_query)
        query_mask = states.largest(chunk_mask)  # 1 at query tokens, (pairs, query tokens)
        counts = [
            states.sum(kernel_counts(layer, states.document, self.means, self.widths))
            for layer in layers
        ]  # (pairs, query tokens, kernels) each
        features = [pooled(layer, query_mask) for layer in counts]
        scores: Tensor = self.linear(torch.cat([*features, states.cls], dim=1)).squeeze(1)
        return scores


def kernel_counts(cosines: Tensor, document: Tensor, means: Tensor, widths: Tensor) -> Tensor:
    """Return K_k = Σ_j exp(−(S_ij − μ_k)² / 2σ_k²) (Xiong et al. 2017, eq. 4).

    Args:
        cosines: S, (chunks, query tokens, tokens).
        document: 1 at document tokens, (chunks, tokens).
        means: μ, (kernels,).
        widths: σ, (kernels,).

    Returns:
        (chunks, query tokens, kernels).
    """
    differences = cosines.unsqueeze(3) - means  # (chunks, query tokens, tokens, kernels)
    kernels = torch.exp(-(differences**2) / (2 * widths**2))
    return (kernels * document.unsqueeze(1).unsqueeze(3)).sum(2)


def pooled(counts: Tensor, query_mask: Tensor) -> Tensor:
    """Return φ_k = Σ_i log K_k(i) over the query's tokens (Xiong et al. 2017, eq. 3), damped.

    Args:
        counts: (pairs, query tokens, kernels).
        query_mask: 1 at query tokens, (pairs, query tokens).

    Returns:
        (pairs, kernels).
    """
    logs = torch.log(counts.clamp(min=TINY)) * DAMPING
    return (logs * query_mask.unsqueeze(2)).sum(1)


HEAD = CedrKNRM
