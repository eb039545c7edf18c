"""Static embeddings are stored in the fewest bits that hold, and serve without onnxruntime."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.models import TEXTS, probes, tokenizer

from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.errors import ExportError
from ranklet.export.options import ExportOptions
from ranklet.export.proof.report import read_reports
from ranklet.export.rankers.dense.table import stored_as
from ranklet.runtime import load
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.rankers.dense import DenseEncoder, DenseSettings
from ranklet.runtime.verification import verify
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection

DIMENSION = 16


@pytest.fixture(scope="module")
def static() -> Checkpoint:
    """Static embeddings with random vectors."""
    pieces = tokenizer().backend_tokenizer
    pieces.no_truncation()
    pieces.no_padding()
    table = np.random.default_rng(0).normal(size=(pieces.get_vocab_size(), DIMENSION))
    settings = DenseSettings(512, 512, DIMENSION, encoder="table")
    arrays = {"table": table.astype(np.float32)}
    return Checkpoint("dense", settings, arrays=arrays, tokenizer=pieces, probes=probes())


def exported(checkpoint: Checkpoint, folder: Path, *variants: str) -> BundleFiles:
    """Return a bundle with these variants."""
    options = ExportOptions(variants=variants)
    return BundleFiles(export_bundle({"static": checkpoint}, folder / "bundle", options))


@pytest.mark.parametrize(
    ("variants", "dtype"),
    [(("fp32",), "float32"), (("fp16",), "float16"), (("fp32", "int8"), "int8")],
)
def test_the_smallest_table_is_written_and_all_are_proven(
    variants: tuple[str, ...], dtype: str, static: Checkpoint, tmp_path: Path
) -> None:
    bundle = exported(static, tmp_path, *variants)
    encoder = DenseEncoder.open(bundle, "static")
    assert bundle.array("rankers/static/table.npy", dtype, (None, DIMENSION)).dtype == dtype
    *reports, half, small = read_reports(tmp_path / "bundle")["static"]
    assert [half.variant, small.variant] == ["stored float16", "stored int8"]
    assert {report.variant for report in reports} == set(variants)
    assert all(report.kendall > 0.97 and report.overlap > 0.9 for report in reports)
    assert [report.bytes for report in reports] == sorted(report.bytes for report in reports)
    exact = exported(static, tmp_path / "exact", "fp32")
    expected = DenseEncoder.open(exact, "static").encode_documents(list(TEXTS)).vectors
    vectors = encoder.encode_documents(list(TEXTS)).vectors
    np.testing.assert_allclose(vectors, expected, atol={"int8": 0.01}.get(dtype, 1e-3))
    assert encoder.encoder.provider == ""


def test_more_bits_are_taken_where_fewer_change_the_order(
    static: Checkpoint, tmp_path: Path
) -> None:
    # One large number per row leaves no levels of int8 to the others, which tell the texts apart.
    spread = static.arrays["table"].copy()
    spread[:, 0] = 300
    bundle = exported(replace(static, arrays={"table": spread}), tmp_path, "int8")
    reports = read_reports(tmp_path / "bundle")["static"]
    assert [report.variant for report in reports][:2] == ["int8", "fp16"]
    assert reports[0].kendall < 0.97
    assert "rankers/static/table_scales.npy" not in bundle.manifest.files


def test_where_no_table_is_small_enough_nothing_is_written(
    static: Checkpoint, tmp_path: Path
) -> None:
    with pytest.raises(ExportError, match="no table is within its tolerance"):
        export_bundle({"static": static}, tmp_path / "bundle", ExportOptions(max_mb=1e-6))
    assert list(tmp_path.iterdir()) == []


def test_a_row_has_its_own_scale() -> None:
    table = np.array([[0.001, -0.002], [100, 50], [0, 0]], np.float32)
    arrays = stored_as("int8", table)
    rows, scales = arrays["table.npy"], arrays["table_scales.npy"]
    np.testing.assert_allclose(rows * scales[:, None], table, rtol=0.01)


@pytest.mark.slow
def test_a_collection_is_searched_without_onnxruntime_and_pytorch(
    static: Checkpoint, tiny_collection: Collection, tmp_path: Path
) -> None:
    path = tmp_path / "indexed"
    exported(static, tmp_path, "int8")
    index_bundle(tmp_path / "bundle", tiny_collection, path)
    assert "ranker static" in list(verify(path))
    (best, *_) = load(path).rank("the old river", k=3)
    code = (
        "import sys\nfrom ranklet.runtime import load\n"
        f"bundle = load({str(path)!r})\n"
        "print(bundle.rank('the old river', k=3)[0].id)\n"
        f"print(len(bundle.rank('a', documents={list(TEXTS)!r})))\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    name, texts, modules = done.stdout.splitlines()
    assert (name, int(texts)) == (best.id, len(TEXTS))
    assert not {"onnxruntime", "onnx", "torch", "transformers"} & set(modules.split())
    assert "tokenizers" in modules.split()
