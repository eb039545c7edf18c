"""A transformer becomes a quantised model of OpenVINO that serves like the other variants."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.commands.running import Capture, succeeds
from tests.damage import change_manifest, replace_file
from tests.kinds import ROWS, TinyRankers
from tests.models import TEXTS, probes, transformer_folder

from ranklet.corpus.errors import BuildError
from ranklet.corpus.evaluation.proof_report import read_reports
from ranklet.export.bundles import export_bundle
from ranklet.export.onnx import openvino_int8
from ranklet.export.onnx.openvino_int8 import need_packages, quantise
from ranklet.export.options import ExportOptions
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.onnx import encoder
from ranklet.runtime.onnx.encoder import VARIANTS, variant_file, variant_files
from ranklet.runtime.rankers.verification import verify
from ranklet.training.imported.importing import read_model

openvino = pytest.importorskip("openvino")
pytest.importorskip("nncf")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dense ranker in 32 bits, in 8 bits and for OpenVINO."""
    folder = tmp_path_factory.mktemp("openvino")
    checkpoint = read_model(transformer_folder(folder / "model"))
    options = ExportOptions(("fp32", "int8", "openvino"), probes(), max_ndcg_loss=1)
    return Path(export_bundle({"dense": checkpoint}, folder / "bundle", options))


@pytest.mark.slow
def test_the_variant_is_proven_and_served(exported: Path, capsys: Capture) -> None:
    reports = {report.variant: report for report in read_reports(exported)["dense"]}
    assert list(reports)[:3] == ["fp32", "int8", "openvino"]
    report = reports["openvino"]
    assert not report.refused
    assert report.kendall > 0.8
    assert report.batch_error < 1e-5
    assert report.ms > 0
    files = [exported / "rankers/dense" / file for file in variant_files(VARIANTS["openvino"])]
    assert report.bytes == sum(file.stat().st_size for file in files)
    assert b"/tmp" not in files[0].read_bytes()
    ranking = Bundle(exported, device="cpu").rank("red apple", documents=TEXTS)
    assert ranking.providers == {"dense": "OpenVINO"}
    assert "ranker dense" in list(verify(exported))
    assert " MB, fp32, int8, openvino" in succeeds(capsys, "inspect", exported)


@pytest.mark.slow
def test_a_text_has_the_same_vector_alone_and_among_others(exported: Path) -> None:
    texts = [*TEXTS, "river", *TEXTS[::-1]] * 2
    bundle = BundleFiles(exported, device="cpu")
    encoders = [
        encoder.open_encoder(bundle, "rankers/dense/", "sentence_embedding", 32, many=many)
        for many in (False, True)
    ]
    one, many = (each.encode(texts, 40, 0).vectors for each in encoders)
    alone = np.concatenate([encoders[0].encode([text], 40, 0).vectors for text in texts])
    np.testing.assert_array_equal(one, alone)
    np.testing.assert_array_equal(many, alone)
    assert encoders[0].digest == "".join(
        bundle.manifest.files[f"rankers/dense/model_openvino.{suffix}"].sha256
        for suffix in ("xml", "bin")
    )


@pytest.mark.slow
def test_without_the_package_int8_is_served(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = BundleFiles(exported, device="cpu")
    assert variant_file(bundle, "rankers/dense/") == "rankers/dense/model_openvino.xml"
    monkeypatch.setattr(encoder, "find_spec", lambda name: None)
    assert variant_file(bundle, "rankers/dense/") == "rankers/dense/model_int8.onnx"
    monkeypatch.setattr(encoder, "will_run_on_gpu", lambda device, *, strict: True)
    assert variant_file(bundle, "rankers/dense/") == "rankers/dense/model.onnx"


@pytest.mark.slow
def test_a_model_without_its_weights_is_refused(exported: Path, tmp_path: Path) -> None:
    path = shutil.copytree(exported, tmp_path / "bundle")
    (path / "rankers/dense/model_openvino.bin").unlink()
    change_manifest(path, lambda raw: raw["files"].pop("rankers/dense/model_openvino.bin"))
    with pytest.raises(BundleError, match=r"no 'rankers/dense/model_openvino\.bin'"):
        list(verify(path))
    replace_file(path, "rankers/dense/model_openvino.bin", b"short")
    with pytest.raises(BundleError, match="cannot be loaded by OpenVINO"):
        list(verify(path))


def test_a_missing_package_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    need_packages()
    monkeypatch.setattr(openvino_int8, "find_spec", lambda name: None if name == "nncf" else 1)
    with pytest.raises(InputError, match=r"openvino needs nncf; pip install .*\[openvino\]'"):
        ExportOptions(variants=("int8", "openvino"))


def test_a_graph_that_openvino_cannot_read_gives_one_line(tmp_path: Path) -> None:
    (tmp_path / "graph.onnx").write_bytes(b"no graph")
    with pytest.raises(BuildError, match="OpenVINO cannot convert the network") as caught:
        quantise(tmp_path / "graph.onnx", [{"input_ids": np.ones((1, 3), np.int64)}])
    assert "\n" not in str(caught.value)


def exported_kind(kind: str, tiny: TinyRankers, folder: Path, *variants: str) -> Path:
    """Return a bundle of the first ranker of a kind, named "ranker"."""
    settings = next(iter(ROWS[kind].rankers.values()))
    options = replace(ROWS[kind].options, variants=variants)
    return Path(
        export_bundle({"ranker": tiny.checkpoint(kind, **settings)}, folder / kind, options)
    )


@pytest.mark.slow
def test_the_head_of_a_cross_encoder_stays_in_32_bits_and_explains(
    tiny: TinyRankers, tmp_path: Path
) -> None:
    path = exported_kind("cross_encoder", tiny, tmp_path, "fp32", "openvino")
    _, report = read_reports(path)["ranker"]
    assert report.kendall > 0.9
    assert report.max_error < 0.2  # of 10⁻⁹ nothing would be left in 8 bits
    texts = ["red apple", "the river is red", "old castle " * 9]
    ranking = Bundle(path, device="cpu").rank("the red fruit", documents=texts, explain=True)
    assert ranking.providers == {"ranker": "OpenVINO"}
    for hit in ranking:
        assert hit.explanation is not None
        assert hit.explanation.value == pytest.approx(hit.score, abs=1e-4)
