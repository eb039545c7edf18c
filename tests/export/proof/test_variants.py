"""Another form of int8 is tried where one is refused or orders the documents too differently."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.models import probes, transformer_folder

from ranklet.corpus.collections import probes as drawn
from ranklet.corpus.errors import BuildError
from ranklet.corpus.evaluation.proof_report import Report, read_reports, report_table
from ranklet.export.bundles import export_bundle
from ranklet.export.onnx.graph import export_graph
from ranklet.export.onnx.variants import FORMS, SMOOTHED, UNSMOOTHED, WEIGHTS_ONLY, convert
from ranklet.export.options import ExportOptions
from ranklet.export.proof import variants
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.importing import read_model

INT8 = ExportOptions(variants=("int8",), probes=probes())


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return read_model(transformer_folder(tmp_path_factory.mktemp("bert") / "model"))


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The forms that are made, in order."""
    forms: list[str] = []

    def noted(*arguments: Any) -> None:
        forms.append(arguments[4])
        convert(*arguments)

    monkeypatch.setattr(variants, "convert", noted)
    yield forms
    assert forms == list(FORMS["int8"])[: len(forms)]


def exported(checkpoint: Checkpoint, folder: Path, options: ExportOptions = INT8) -> Report:
    """Return the report of int8, of which there is one whatever was tried."""
    path = Path(export_bundle({"dense": checkpoint}, folder / "bundle", options))
    (report,) = (each for each in read_reports(path)["dense"] if each.variant == "int8")
    return report


@pytest.mark.slow
def test_a_form_that_holds_is_the_only_one(
    checkpoint: Checkpoint, tried: list[str], tmp_path: Path
) -> None:
    report = exported(checkpoint, tmp_path)
    assert report.form == SMOOTHED
    assert tried == [SMOOTHED]
    assert "form of int8: smoothed" in report_table([report]).splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("best", "kendall", "forms"),
    [
        (SMOOTHED, 0.96, 2),
        (UNSMOOTHED, 0.96, 2),
        (SMOOTHED, 0.89, 3),
        (UNSMOOTHED, 0.89, 3),
        (WEIGHTS_ONLY, 0.89, 3),
    ],
)
def test_the_form_with_the_nearest_order_is_kept(
    best: str,
    kendall: float,
    forms: int,
    checkpoint: Checkpoint,
    tried: list[str],
    tmp_path: Path,
    monkeypatch: Any,
) -> None:
    prove = variants.prove

    def worse(*arguments: Any) -> Report:
        from dataclasses import replace

        return replace(prove(*arguments), kendall=kendall if tried[-1] == best else 0.8)

    monkeypatch.setattr(variants, "prove", worse)
    report = exported(checkpoint, tmp_path)
    assert len(tried) == forms  # the slow one only where the fast ones differ a lot
    assert (report.form, report.kendall) == (best, kendall)


@pytest.mark.slow
def test_where_no_form_holds_nothing_is_written(
    checkpoint: Checkpoint, tried: list[str], tmp_path: Path
) -> None:
    tight = ExportOptions(variants=("int8",), probes=probes(), max_mb=1e-6)
    with pytest.raises(BuildError, match="no variant is within its tolerance"):
        exported(checkpoint, tmp_path, tight)
    assert tried[-1] == WEIGHTS_ONLY
    assert list(tmp_path.iterdir()) == []


def fused_wrongly(change: float) -> Any:
    """Return `export_graph` with a fault where it fuses: the numbers of a matrix are too large."""

    def export(
        module: Any, example: Any, output: str, target: Path, transformer: Any, axes: Any
    ) -> None:
        import onnx

        export_graph(module, example, output, target, transformer, axes)
        if transformer is not None:
            model = onnx.load(str(target))
            matrix = next(each for each in model.graph.initializer if list(each.dims) == [32, 64])
            values = onnx.numpy_helper.to_array(matrix) * (1 + change)
            matrix.CopyFrom(onnx.numpy_helper.from_array(values, matrix.name))
            onnx.save(model, str(target))

    return export


@pytest.mark.slow
@pytest.mark.parametrize("written", ["fp32", "fp16", "int8"])
def test_a_graph_that_is_fused_wrongly_is_exported_without_fusion(
    written: str, checkpoint: Checkpoint, tmp_path: Path, monkeypatch: Any, caplog: Any
) -> None:
    monkeypatch.setattr(variants, "export_graph", fused_wrongly(0.1))
    options = ExportOptions(variants=(written,), probes=probes())
    path = Path(export_bundle({"dense": checkpoint}, tmp_path / "bundle", options))
    report = read_reports(path)["dense"][0]
    assert (report.variant, report.refused) == (written, "")
    assert not {"Attention", "QAttention"} & {*report.fused}
    assert "fused operators change scores of 'dense' by " in caplog.text


@pytest.mark.slow
def test_a_proof_rests_on_enough_texts_and_says_how_many_were_given(
    checkpoint: Checkpoint, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(drawn, "LEAST_QUERIES", 30)
    monkeypatch.setattr(drawn, "LEAST_DOCUMENTS", 40)
    report = exported(checkpoint, tmp_path)
    assert (report.queries, report.documents) == (30, 40)
    assert (report.own_queries, report.own_documents) == (4, 6)
