"""What export and index promise for every kind, on the tiny bundle that tests/kinds.py makes."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.kinds import ROWS, TinyRankers

from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.errors import ExportError
from ranklet.runtime.storage.bundle_files import BundleFiles


@pytest.mark.parametrize("kind", ROWS)
def test_an_indexed_bundle_can_be_indexed_again(
    kind: str, tiny: TinyRankers, tmp_path: Path
) -> None:
    first = tiny.indexed(kind)
    again = index_bundle(first, tiny.data.collection, tmp_path / "again")
    assert BundleFiles(again, check="full").manifest.files == BundleFiles(first).manifest.files


@pytest.mark.parametrize("kind", ROWS)
def test_without_probes_there_is_no_proof(kind: str, tiny: TinyRankers, tmp_path: Path) -> None:
    name, settings = next(iter(ROWS[kind].rankers.items()))
    checkpoint = tiny.checkpoint(kind, **settings)
    without = {name: replace(checkpoint, probes=None)}
    if checkpoint.probes is None:  # no network, so nothing to prove
        assert export_bundle(without, tmp_path / "b", ROWS[kind].options).exists()
        return
    with pytest.raises(ExportError, match="--probes"):
        export_bundle(without, tmp_path / "b", ROWS[kind].options)
    assert list(tmp_path.iterdir()) == []
