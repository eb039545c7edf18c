"""The counts by which runs without spaces are divided, which few languages have."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.damage import Change, change_array, put

from ranklet.corpus.languages import segmenters
from ranklet.runtime import load
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.rankers.verification import verify
from ranklet.workflows.build import build

COUNTS = "text/counts.npy"


@pytest.fixture(scope="module")
def japanese(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bundle of texts without spaces, in which a double of the package finds words."""
    rows = ["村に井戸がある。", "井戸の前に木がある。", "村の井戸 Brunnen"] * 3

    def found(run: str) -> Iterator[segmenters.Word]:
        return (segmenters.Word(each, each in "にの") for each in re.findall("井戸|ある|.", run))

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(segmenters._OPENED, "japanese", lambda: found)
        return Path(build(rows, tmp_path_factory.mktemp("counts") / "b", language="ja").path)


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
def test_counts_of_another_form_are_refused(japanese: Path, change: Change, tmp_path: Path) -> None:
    bundle = load(change_array(shutil.copytree(japanese, tmp_path / "b"), COUNTS, change))
    with pytest.raises(BundleError, match="counts"):
        bundle.rank("村井戸")


@pytest.mark.slow
@pytest.mark.parametrize("value", [0, 1, (1 << 32) - 1])
def test_wrong_counts_rank_and_are_found_by_verify(
    japanese: Path, value: int, tmp_path: Path
) -> None:
    copy = shutil.copytree(japanese, tmp_path / "b")
    damaged = change_array(copy, COUNTS, put(value, slice(None)))
    assert len(load(damaged).rank("村井戸 Brunnen"))
    assert list(verify(japanese))
    if value > 9:
        with pytest.raises(BundleError, match="more texts than there are"):
            list(verify(damaged))
