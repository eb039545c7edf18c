"""The memory of this process, and what it may hold."""

import os

import pytest

from ranklet.runtime.memory import granted_bytes, resident_bytes


def test_memory_is_reported_where_the_system_reports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert granted_bytes() > resident_bytes() > 1e6
    monkeypatch.delattr(os, "sysconf")  # as on Windows
    assert resident_bytes() == 0
