"""Layers that normalise values by statistics of a batch: BatchScale, and BatchNorm of scores."""

import torch
from torch import Tensor, nn

from ranklet.runtime.rankers.conformer_kernel.settings import EPSILON

MOMENTUM = 0.05  # of the running means from the 20th batch on; earlier batches count equally
NORM_EPSILON = 1e-5  # added to the variance


class BatchScale(nn.Module):
    """BS(x) = x / (E[x] + ε) (Mitra et al., §3), with E over the batch in training, later over all.

    Attributes:
        mean: the running E[x], () float32.
    """

    def __init__(self) -> None:
        super().__init__()
        self.mean: Tensor
        self.batches: Tensor
        self.register_buffer("mean", torch.zeros(()))
        self.register_buffer("batches", torch.zeros((), dtype=torch.int64))

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        """Return the values divided by their mean.

        Args:
            values: any shape, float32, without a gradient.
            mask: False at padding, of the same shape, bool.
        """
        if not self.training:
            return values / (self.mean + EPSILON)
        now = values[mask].mean()
        self.batches += 1
        self.mean.lerp_(now.detach(), max(MOMENTUM, 1 / int(self.batches)))
        return values / (now + EPSILON)


class ScoreNorm(nn.Module):
    """BN(x) = (x − E[x]) / √Var[x] of scalars (Mitra et al., eq. 3), without padding.

    Attributes:
        mean, variance: the running E[x] and Var[x], () float32.
    """

    def __init__(self) -> None:
        super().__init__()
        self.mean: Tensor
        self.variance: Tensor
        self.batches: Tensor
        self.register_buffer("mean", torch.zeros(()))
        self.register_buffer("variance", torch.ones(()))
        self.register_buffer("batches", torch.zeros((), dtype=torch.int64))

    @property
    def deviation(self) -> Tensor:
        """Running √Var[x], () float32."""
        return torch.sqrt(self.variance + NORM_EPSILON)

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        """Return normalised values; arguments as for `BatchScale`, but gradients are allowed."""
        if not self.training or not mask.any():
            return (values - self.mean) / self.deviation
        chosen = values[mask]
        mean, variance = chosen.mean(), chosen.var(correction=0)
        self.batches += 1
        share = max(MOMENTUM, 1 / int(self.batches))
        self.mean.lerp_(mean.detach(), share)
        self.variance.lerp_(variance.detach(), share)
        return (values - mean) / torch.sqrt(variance + NORM_EPSILON)
