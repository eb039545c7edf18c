"""Frameworks in tests: their own warnings are not ours, and they send nothing anywhere."""

import os
import warnings
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from ranklet.runtime.errors import MissingPackageError

# Before a framework is imported, because Haystack reads its variable then.
os.environ |= {"HAYSTACK_TELEMETRY_ENABLED": "False", "LANGSMITH_TRACING": "false"}

Imports = Callable[[str], Any]


@pytest.fixture(scope="session")
def imports() -> Imports:
    """Return a function that imports a module, or skips the test if its framework is missing."""

    def imported(name: str) -> ModuleType:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return import_module(name)
            except MissingPackageError as error:
                pytest.skip(str(error))

    return imported
