"""The counts by which words are divided, which only bundles in some languages have."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.damage import Change, change_array, put

from ranklet.export.build import build
from ranklet.runtime import load
from ranklet.runtime.errors import BundleError
from ranklet.runtime.verification import verify

COUNTS = "text/counts.npy"


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = ["Das Dorf hat einen Brunnen.", "Am Brunnen steht ein Baum.", "Der Dorfbrunnen."] * 3
    return Path(build(rows, tmp_path_factory.mktemp("counts") / "b", language="de"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda held: held[:-1],
        lambda held: np.append(held, held[-1]),
        lambda held: held.astype(np.int64),
        lambda held: held[:, None],
    ],
)
def test_counts_of_another_form_are_refused(german: Path, change: Change, tmp_path: Path) -> None:
    bundle = load(change_array(shutil.copytree(german, tmp_path / "b"), COUNTS, change))
    with pytest.raises(BundleError, match="counts"):
        bundle.rank("Dorfbrunnen")


@pytest.mark.slow
@pytest.mark.parametrize("value", [0, 1, (1 << 32) - 1])
def test_wrong_counts_rank_and_are_found_by_verify(
    german: Path, value: int, tmp_path: Path
) -> None:
    copy = shutil.copytree(german, tmp_path / "b")
    damaged = change_array(copy, COUNTS, put(value, slice(None)))
    assert len(load(damaged).rank("Dorfbrunnen Brunnen"))
    if value > 9:
        with pytest.raises(BundleError, match="more texts than there are"):
            list(verify(damaged))
