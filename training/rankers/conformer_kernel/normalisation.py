"""Layers that measure values against those of a batch: BatchScale, and BatchNorm of scores."""

import torch
from torch import Tensor, nn

from ranklet.runtime.rankers.conformer_kernel.explicit_match import EPSILON

MOMENTUM = 0.05  # of the running means, from the 20th batch on; before, all batches count alike
NORM_EPSILON = 1e-5  # added to the variance


class BatchScale(nn.Module):
    """BS(x) = x / (E[x] + ε) (paper 002, §3): over a batch in training, then over all of them.

    Attributes:
        mean: the running E[x], () float32.
    """

    def __init__(self) -> None:
        super().__init__()
        self.mean: Tensor
        self.batches: Tensor
        self.register_buffer("mean", torch.zeros(()))
        self.register_buffer("batches", torch.zeros((), dtype=torch.int64))

    def forward(self, values: Tensor, counted: Tensor) -> Tensor:
        """Return the values over their mean.

        Args:
            values: any shape, float32; without a gradient.
            counted: False where a value is padding, of the same shape, bool.
        """
        if not self.training:
            return values / (self.mean + EPSILON)
        now = values[counted].mean()
        self.batches += 1
        self.mean.lerp_(now.detach(), max(MOMENTUM, 1 / int(self.batches)))
        return values / (now + EPSILON)


class ScoreNorm(nn.Module):
    """BN(x) = (x − E[x]) / √Var[x] of scalars (paper 002, eq. 3), padding left out.

    Attributes:
        mean, variance: the running ones, () float32.
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
        """The running √Var[x], () float32."""
        return torch.sqrt(self.variance + NORM_EPSILON)

    def forward(self, values: Tensor, counted: Tensor) -> Tensor:
        """Return the values normed; arguments as of `BatchScale`, gradients allowed."""
        if not self.training or not counted.any():
            return (values - self.mean) / self.deviation
        chosen = values[counted]
        mean, variance = chosen.mean(), chosen.var(correction=0)
        self.batches += 1
        share = max(MOMENTUM, 1 / int(self.batches))
        self.mean.lerp_(mean.detach(), share)
        self.variance.lerp_(variance.detach(), share)
        return (values - mean) / torch.sqrt(variance + NORM_EPSILON)
