"""Choose the device, the precision and the seed of a network's computations."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ranklet.runtime.ground.errors import InputError


def choose_device(name: str) -> torch.device:
    """Return a device by name; auto is a GPU if there is one.

    Raises:
        InputError: the device cannot be used.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"device {name!r} cannot be used ({reason}); try auto or cpu") from error
    return device


def autocast(device: torch.device, wanted: bool) -> torch.autocast:
    """Return bfloat16 autocast, disabled unless the device multiplies bfloat16 in hardware."""
    fast = {"cuda": torch.cuda.is_bf16_supported, "cpu": _has_bfloat16}.get(device.type)
    return torch.autocast(device.type, torch.bfloat16, enabled=wanted and bool(fast and fast()))


def full_precision(device: torch.device) -> torch.autocast:
    """Return a context without autocast, for scores whose small differences matter."""
    return torch.autocast(device.type, enabled=False)


def _has_bfloat16() -> bool:
    """Return whether the CPU multiplies bfloat16 in hardware, by AMX or by AVX-512.

    A BERT then learns about twice as fast. Other CPUs emulate bfloat16, which is slower than
    float32.
    """
    capabilities = getattr(torch.cpu, "get_capabilities", None)  # missing in some allowed releases
    known = capabilities() if capabilities is not None else {}
    return any(known.get(name) for name in ("amx_bf16", "avx512_bf16"))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed PyTorch during a ``with`` and restore its generators afterwards."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield
