"""Convert the weights of a network to and from a checkpoint.

In a checkpoint the weights of the encoder are named without the prefix ``encoder.``, so that
transformers can open it. All other weights have their names in the network.
"""

from typing import TYPE_CHECKING, TypeVar

import torch
from torch import nn

from ranklet.runtime.errors import InputError

if TYPE_CHECKING:
    from ranklet.training.checkpoint import Arrays, Checkpoint

ENCODER = "encoder."
M = TypeVar("M", bound=nn.Module)


def weights_of(model: nn.Module) -> "Arrays":
    """Return the weights of a network on the CPU, for `Checkpoint.weights`."""
    return {
        name.removeprefix(ENCODER): values.numpy() for name, values in model.state_dict().items()
    }


def check_kind(checkpoint: "Checkpoint", kind: str) -> None:
    """Raise InputError unless a checkpoint is of this kind and has weights."""
    if checkpoint.kind != kind or not checkpoint.weights:
        raise InputError(f"a {checkpoint.kind} checkpoint holds no {kind}")


def trained(model: M, weights: "Arrays") -> M:
    """Return the network with a checkpoint's weights, in evaluation mode; see `load_weights`."""
    load_weights(model, weights)
    return model.eval()


def load_weights(model: nn.Module, weights: "Arrays", prefix: str = "") -> None:
    """Put a checkpoint's weights into a network, in place.

    Args:
        model: the network, or a part of it.
        weights: weights named as `weights_of` names them.
        prefix: only weights whose names begin with it are loaded, under the rest of their names.

    Raises:
        InputError: a weight is missing, unknown or of another shape.
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
