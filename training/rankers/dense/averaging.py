"""Average the weights of a trained encoder with those that its training began with.

Source: Wortsman et al. 2022, "Robust fine-tuning of zero-shot models". An encoder that learns from
one collection forgets some of what it knew of others. The average keeps most of both.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

Weights = Mapping[str, Tensor]


def copied(model: nn.Module) -> dict[str, Tensor]:
    """Return copies of a model's weights by name, of real numbers only."""
    return {name: each.clone() for name, each in _real(model).items()}


def average(model: nn.Module, start: Weights, share: float) -> None:
    """Replace the weights of a model by share · start + (1 − share) · its own.

    Args:
        model: a trained model, on any device.
        start: weights by name, with the shapes of the model's.
        share: the share of the start, from 0 to 1.
    """
    with torch.no_grad():
        for name, own in _real(model).items():
            own.lerp_(start[name].to(own.device), share)


@contextmanager
def averaged(model: nn.Module, start: Weights, share: float) -> Iterator[None]:
    """Let a model have the average for a while; see `average`."""
    own = copied(model)
    average(model, start, share)
    try:
        yield
    finally:
        average(model, own, 1)


def _real(model: nn.Module) -> dict[str, Tensor]:
    return {name: each for name, each in model.state_dict().items() if each.is_floating_point()}
