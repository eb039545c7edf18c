"""Save the state of a training, so that an interrupted training continues as if nothing happened.

The file holds tensors, numbers, texts, and lists and dictionaries of these. PyTorch's restricted
reader reads it, so the file can run no code.
"""

from pathlib import Path
from typing import Any

import torch

from ranklet.runtime.writing.atomic_file import atomic_file
from ranklet.runtime.writing.private_folder import make_private
from ranklet.training.errors import TrainingError

STATE = "state.pt"


def save_state(folder: Path, state: dict[str, Any]) -> None:
    """Write the state atomically, so that the folder always holds a complete state or none."""
    make_private(folder)
    with atomic_file(folder / STATE) as file:
        torch.save(state, file)


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
    except Exception as error:  # a damaged file makes the reader fail in many ways
        raise TrainingError(
            f"the state {str(path)!r} cannot be read ({error}); remove its folder and start again"
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
