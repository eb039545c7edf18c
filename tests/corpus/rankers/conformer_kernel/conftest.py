"""The three architectures in bundles that several test files share."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.corpus.rankers.conformer_kernel.reference import FORMS
from tests.kinds import TinyRankers

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.training.checkpoint import Checkpoint

EVERYTHING: dict[str, Any] = {"floor": 0.0, "terms": 10_000, "candidates": 10_000}


@pytest.fixture
def checkpoints(tiny: TinyRankers) -> dict[str, Checkpoint]:
    return tiny.checkpoints("conformer_kernel")


@pytest.fixture
def exported(tiny: TinyRankers) -> Path:
    return tiny.exported("conformer_kernel")


@pytest.fixture
def indexed(tiny: TinyRankers) -> Bundle:
    return tiny.bundle("conformer_kernel")


@pytest.fixture(scope="session")
def whole(tiny: TinyRankers) -> BundleFiles:
    """Every term's impact on every document, none of them below its floor, not quantised.

    The same in eight bits is there under "uint8_" and the ranker's name.
    """

    def build(folder: Path) -> None:
        checkpoints = tiny.checkpoints("conformer_kernel")
        rankers = {
            prefix + form: replace(
                checkpoints[form],
                settings=replace(checkpoints[form].settings, **EVERYTHING, impacts=stored),
            )
            for form in FORMS
            for prefix, stored in (("", "float32"), ("uint8_", "uint8"))
        }
        tiny.build(folder, rankers)

    return BundleFiles(tiny.once("conformer_kernel.whole", build) / "indexed", device="cpu")
