"""What export and index promise for every kind, on the tiny bundle that tests/kinds.py makes."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.kinds import ROWS, TinyRankers

from ranklet.corpus.errors import BuildError
from ranklet.corpus.evaluation.proof_report import read_reports
from ranklet.corpus.index import index_bundle
from ranklet.export.bundles import export_bundle
from ranklet.runtime.bundles.files import BundleFiles


@pytest.mark.slow
@pytest.mark.parametrize("kind", ROWS)
def test_an_indexed_bundle_can_be_indexed_again(
    kind: str, tiny: TinyRankers, tmp_path: Path
) -> None:
    first = tiny.indexed(kind)
    again = index_bundle(first, tiny.data.collection, tmp_path / "again")
    assert BundleFiles(again, check="full").manifest.files == BundleFiles(first).manifest.files


@pytest.mark.slow
@pytest.mark.parametrize("kind", ROWS)
def test_in_32_bits_the_scores_are_those_of_pytorch(kind: str, tiny: TinyRankers) -> None:
    for reports in read_reports(tiny.exported(kind)).values():
        (fp32,) = (each for each in reports if each.variant == "fp32")
        assert fp32.max_error < 1e-2  # of scores that are all but alike in so small a model
        assert fp32.overlap > 0.98
        assert not fp32.refused
        assert max(each.batch_error for each in reports) < 1e-3


@pytest.mark.parametrize(
    "kind",
    [
        kind if kind in ("bm25", "dense") else pytest.param(kind, marks=pytest.mark.slow)
        for kind in ROWS
    ],
)
def test_without_probes_there_is_no_proof(kind: str, tiny: TinyRankers, tmp_path: Path) -> None:
    proven = read_reports(tiny.exported(kind))
    for name in ROWS[kind].rankers:
        without = {name: replace(tiny.checkpoints(kind)[name], probes=None)}
        if name in proven:
            with pytest.raises(BuildError, match="--probes"):
                export_bundle(without, tmp_path / name, ROWS[kind].options)
        else:  # no network, so nothing to prove
            export_bundle(without, tmp_path / name, ROWS[kind].options)
        assert (tmp_path / name).exists() == (name not in proven)
