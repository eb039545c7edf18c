"""The weights of a network, as a checkpoint holds them.

A network's encoder has its own names there, without ``encoder.`` before them, so that transformers
opens the checkpoint. All other weights have the names that the network gives them.
"""

from typing import TYPE_CHECKING

import torch

from ranklet.runtime.errors import InputError

if TYPE_CHECKING:
    from torch import nn

    from ranklet.training.checkpoint import Arrays

ENCODER = "encoder."


def weights_of(model: "nn.Module") -> "Arrays":
    """Return the weights of a network on the CPU, for `Checkpoint.weights`."""
    return {name.removeprefix(ENCODER): each.numpy() for name, each in model.state_dict().items()}


def load_weights(model: "nn.Module", weights: "Arrays", prefix: str = "") -> None:
    """Put a checkpoint's weights into a network, in place.

    Args:
        model: the network, or a part of it.
        weights: named as by `weights_of`.
        prefix: of the names of the weights to load; the model's own names begin behind it.

    Raises:
        InputError: the weights are not those of this network.
    """
    own = model.state_dict()
    names = [name.removeprefix(prefix) for name in weights if name.startswith(prefix)]
    state = {
        name if name in own else ENCODER + name: torch.from_numpy(weights[prefix + name])
        for name in names
    }
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise InputError(f"the weights do not fit this network: {error}") from error
