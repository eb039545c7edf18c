"""Frameworks in tests: their own warnings are not ours, and they send nothing anywhere."""

import os
import warnings
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from ranklet.corpus.sources.options import SourceOptions
from ranklet.runtime import Bundle
from ranklet.runtime.ground.errors import MissingPackageError
from ranklet.workflows.build import build

# Before a framework is imported, because Haystack reads its variable then.
os.environ |= {"HAYSTACK_TELEMETRY_ENABLED": "False", "LANGSMITH_TRACING": "false"}

Imports = Callable[[str], Any]
BREAD = """# Bread

Rye is dark. Wheat is white.

## Dough

Knead the dough well. Let the dough rest.

## Oven

Bake it hot.
"""


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


@pytest.fixture(scope="session")
def long(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Return a bundle of a page that is split, with headings."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "texts" / "page=7").mkdir(parents=True)
    (folder / "texts" / "page=7" / "bread.md").write_text(BREAD)
    source = SourceOptions(passage_words=9, overlap_words=0)
    return build(folder / "texts", folder / "b.ranklet", source=source)
