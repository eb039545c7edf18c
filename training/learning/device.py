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
    """Return bfloat16 autocast where the device multiplies it in hardware; else one that is off."""
    fast = {"cuda": torch.cuda.is_bf16_supported, "cpu": _has_tiles}.get(device.type)
    return torch.autocast(device.type, torch.bfloat16, enabled=wanted and bool(fast and fast()))


def full_precision(device: torch.device) -> torch.autocast:
    """Return a context in which autocast is off: for scores, whose differences are what counts."""
    return torch.autocast(device.type, enabled=False)


def _has_tiles() -> bool:
    """Tell whether the processor has AMX: bfloat16 is twice as fast with it, slower without."""
    ask = getattr(torch.cpu, "get_capabilities", None)  # not in every release that we allow
    return ask is not None and bool(ask().get("amx_bf16"))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed PyTorch within a ``with``; afterwards its generators are as they were."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield
