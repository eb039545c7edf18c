"""Training runs on one thread here."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """One thread: another number of them adds up in another order, so other last bits."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
