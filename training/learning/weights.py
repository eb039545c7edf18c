"""Convert the weights of a network to and from a checkpoint.

In a checkpoint the weights of the encoder are named without the prefix ``encoder.``, so that
transformers can open it. All other weights have their names in the network.

The state of a training is saved, so that an interrupted training continues as if nothing happened.
Its file holds tensors, numbers, texts, and lists and dictionaries of these. PyTorch's restricted
reader reads it, so the file can run no code.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import nn

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.writing.atomic_file import atomic_file
from ranklet.runtime.writing.private_folder import make_private
from ranklet.training.errors import TrainingError
from ranklet.training.kept_state import STATE

if TYPE_CHECKING:
    from ranklet.training.checkpoint import Arrays, Checkpoint


ENCODER = "encoder."
M = TypeVar("M", bound=nn.Module)


def take_weights(model: nn.Module) -> "Arrays":
    """Return the weights of a network on the CPU, for `Checkpoint.weights`."""
    return {
        name.removeprefix(ENCODER): values.numpy() for name, values in model.state_dict().items()
    }


def check_kind(checkpoint: "Checkpoint", kind: str) -> None:
    """Raise InputError unless a checkpoint is of this kind and has weights."""
    if checkpoint.kind != kind or not checkpoint.weights:
        raise InputError(f"a {checkpoint.kind} checkpoint holds no {kind}")


def load_trained(model: M, weights: "Arrays") -> M:
    """Return the network with a checkpoint's weights, in evaluation mode; see `load_weights`."""
    load_weights(model, weights)
    return model.eval()


def load_weights(model: nn.Module, weights: "Arrays", prefix: str = "") -> None:
    """Put a checkpoint's weights into a network, in place.

    Args:
        model: the network, or a part of it.
        weights: weights named as `take_weights` names them.
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


def save_state(folder: Path, state: dict[str, Any]) -> None:
    """Write the state atomically, so that the folder always holds a complete state or none.

    Raises:
        OSError: it cannot be written, as on a full disk.
    """
    make_private(folder)
    with atomic_file(folder / STATE) as file:
        try:
            torch.save(state, file)
        except RuntimeError as error:  # it counts bytes that a full disk did not take
            raise OSError(f"{str(folder / STATE)!r} cannot be written: {error}") from error


def read_state(folder: Path, device: torch.device) -> dict[str, Any]:
    """Read the state of an interrupted training.

    Raises:
        TrainingError: there is no state, or it is damaged.
    """
    path = folder / STATE
    if not path.is_file():
        raise TrainingError(f"nothing to resume: there is no {str(path)!r}; train without resume")
    try:
        state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
        if not isinstance(state, dict) or "steps_per_epoch" not in state:
            raise ValueError("it is no state of a training")
    except Exception as error:  # a damaged file makes the reader fail in many ways
        raise TrainingError(
            f"the state {str(path)!r} cannot be read ({error!r:.200}); remove its folder and start "
            "again"
        ) from error
    return state


def random_states() -> dict[str, Any]:
    """Return the states of PyTorch's random number generators, which dropout uses."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return {"cpu": torch.get_rng_state(), "cuda": cuda}


def restore_random_states(states: dict[str, Any]) -> None:
    """Restore the generators to the states that `random_states` returned."""
    torch.set_rng_state(states["cpu"].cpu())
    if states["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all([state.cpu() for state in states["cuda"]])
