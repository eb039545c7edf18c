"""The memory of this process, and what it may hold."""

import mmap
import os
from pathlib import Path

import pytest

from ranklet.runtime.memory import forget_peak, granted_bytes, peak_bytes, resident_bytes


def test_memory_is_reported_where_the_system_reports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert granted_bytes() > resident_bytes() > 1e6
    monkeypatch.delattr(os, "sysconf")  # as on Windows
    assert resident_bytes() == 0


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux says it")
def test_the_peak_is_that_since_it_was_forgotten() -> None:
    # Not malloc, which keeps what is freed once `ranklet train` ran in this process.
    with mmap.mmap(-1, 100_000_000) as held:
        held.write(bytes(len(held)))
        before = peak_bytes()
    forget_peak()
    assert peak_bytes() < before - 50e6
