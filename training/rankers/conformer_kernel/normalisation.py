"""BatchScale, which divides values by their mean."""

import torch
from torch import Tensor, nn

from ranklet.runtime.rankers.conformer_kernel.settings import EPSILON


class BatchScale(nn.Module):
    """BS(x) = x / (E[x] + ε) (Mitra et al., §3), with E over everything seen in training.

    Attributes:
        mean: E[x], () float32.
        seen: how many values E[x] is of, () float64.
    """

    def __init__(self) -> None:
        super().__init__()
        self.mean: Tensor
        self.seen: Tensor
        self.register_buffer("mean", torch.zeros(()))
        self.register_buffer("seen", torch.zeros((), dtype=torch.float64))

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        """Return the values divided by their mean.

        Args:
            values: any shape, float32, without a gradient.
            mask: False at padding, of the same shape, bool.
        """
        if self.training:
            chosen = values[mask].detach()
            self.seen += len(chosen)
            self.mean += ((chosen - self.mean).sum() / self.seen.clamp(min=1)).to(values.dtype)
        return values / (self.mean + EPSILON)
