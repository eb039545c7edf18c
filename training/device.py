"""Where a network computes, in which precision, and from which seed."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ranklet.runtime.errors import InputError


def choose_device(name: str) -> torch.device:
    """Return a device by name; auto is a GPU where there is one.

    Raises:
        InputError: there is no such device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        told = str(error).splitlines()[0]
        raise InputError(f"device {name!r} cannot be used ({told}); try auto or cpu") from error
    return device


def autocast(device: torch.device, wanted: bool) -> torch.autocast:
    """Return bfloat16 autocast for a GPU that has it; elsewhere a context that does nothing."""
    enabled = wanted and device.type == "cuda" and torch.cuda.is_bf16_supported()
    return torch.autocast(device.type, torch.bfloat16, enabled=enabled)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed PyTorch within a ``with``; afterwards its generators are as they were."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield
