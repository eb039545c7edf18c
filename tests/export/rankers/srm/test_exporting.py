"""A light ranker's parts are proven, and serve PyTorch's vectors."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.kinds import FP32, ROWS, TinyRankers, opened

from ranklet.export.bundles import export_bundle
from ranklet.export.errors import ExportError
from ranklet.export.proof.report import read_reports
from ranklet.runtime.rankers.colbert.encoder import row_feeds
from ranklet.runtime.rankers.srm.ranker import LightRanker
from ranklet.training.rankers.srm.network import load

TEXTS = ("red apple", "the old river is here", "")
STORED = ["stored int8", "stored int8-pooled", "stored int16"]
NETWORK, STATIC, CODES = ["fp32", "fp16", "int8"], ["static int8"], ["stored codes"]
ROWS_OF_REPORTS = {
    "light": [*NETWORK, *STORED],
    "static": [*STATIC, *STORED],
    "single_codes": [*STATIC, *STORED, *CODES],
    "mixed_codes": [*NETWORK, *STORED, *CODES],
    "static_codes": [*STATIC, *STORED, *CODES],
    "top1_codes": [*STATIC, *STORED, *CODES],
    "oracle_documents": [*STATIC, *NETWORK, *STORED],
    "idf": [*STATIC, *STORED, *CODES],
}


@pytest.mark.parametrize("name", ROWS["srm"].rankers)
def test_vectors_are_those_of_pytorch(tiny: TinyRankers, name: str) -> None:
    network = load(tiny.checkpoints("srm")[name])
    encoder = opened(tiny.exported("srm"), name, LightRanker).encoder
    for role in ("query", "document"):
        module: Any = network
        if role == "document" and encoder.settings.documents == "oracle":
            module = network.oracle
        rows, _ = encoder.layout.rows(TEXTS, role)
        for row, ours in zip(rows, encoder.encode(TEXTS, role).vectors, strict=True):
            with torch.no_grad():
                found = module(*map(torch.from_numpy, row_feeds([row]).values()))
            vectors = found[0] if isinstance(found, tuple) else found
            expected = vectors[0].numpy()[row.kept]
            # The variants that serve have 8 bits.
            largest = max(1, float(np.abs(expected).max(initial=0)))
            np.testing.assert_allclose(ours, expected, atol=0.2 * largest)


def test_every_part_is_proven_and_every_stored_form_measured(tiny: TinyRankers) -> None:
    found = read_reports(tiny.exported("srm"))
    for name, variants in ROWS_OF_REPORTS.items():
        reports = {report.variant: report for report in found[name]}
        assert list(reports) == variants
        assert not any(report.refused for report in reports.values())
        if "fp32" in reports:
            assert reports["fp32"].max_error < 1e-3
        if "static int8" in reports:
            assert reports["static int8"].max_error < 0.1
        if "stored codes" in reports:
            assert reports["stored codes"].max_error < 0.2
            assert reports["stored codes"].bytes < reports["stored int8-pooled"].bytes


def test_only_files_that_serve_are_written(tiny: TinyRankers) -> None:
    folder = tiny.exported("srm") / "rankers"
    for name in ROWS["srm"].rankers:
        settings = opened(tiny.exported("srm"), name, LightRanker).settings
        files = {path.name for path in (folder / name).rglob("*")}
        assert ("model_int8.onnx" in files) == (not settings.static_documents)
        assert ("table.npy" in files) == settings.has_table
        assert ("neighbours.maps.npy" in files) == (
            settings.context == "neighbours" and settings.needs_context
        )


def test_a_static_part_out_of_tolerance_is_not_written(tiny: TinyRankers, tmp_path: Path) -> None:
    checkpoint = tiny.checkpoints("srm")["single_codes"]
    small = replace(FP32, max_mb=0.001)
    with pytest.raises(ExportError, match=r"the static part of 'a' is out of tolerance.* MB > "):
        export_bundle({"a": checkpoint}, tmp_path / "b", small)
    assert not (tmp_path / "b").exists()


def test_a_table_with_too_few_rows_is_refused(tiny: TinyRankers, tmp_path: Path) -> None:
    checkpoint = tiny.checkpoints("srm")["single_codes"]
    weights = {**checkpoint.weights}
    weights["light.table.weight"] = weights["light.table.weight"][:-9]
    few = replace(checkpoint, weights=weights, network={})
    with pytest.raises(ExportError, match="but the table has"):
        export_bundle({"a": few}, tmp_path / "b", FP32)


def test_the_stored_form_and_idf_are_chosen_by_the_export(
    tiny: TinyRankers, tmp_path: Path
) -> None:
    checkpoint = tiny.checkpoints("srm")["single_codes"]
    chosen = replace(FP32, settings={"stored": "int16", "idf": True})
    settings = opened(
        export_bundle({"a": checkpoint}, tmp_path / "b", chosen), "a", LightRanker
    ).settings
    assert (settings.stored, settings.idf) == ("int16", True)
