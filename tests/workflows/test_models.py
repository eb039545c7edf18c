"""A model of another library is exported once; a later build of any texts uses the same export."""

from pathlib import Path
from typing import Any

import pytest
from tests.models import TEXTS, transformer_folder

from ranklet import runtime
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime.ground.errors import InputError, ModelFolderError
from ranklet.training.imported.importing import read_model
from ranklet.workflows import models
from ranklet.workflows.build import build
from ranklet.workflows.imported import with_probes
from ranklet.workflows.tables.checkpoints import write_table

HALF = ExportOptions(variants=("fp32",), settings={"stored": "float16"})


@pytest.mark.slow
def test_a_second_build_needs_no_model_unless_the_export_is_damaged(
    tmp_path: Path, monkeypatch: Any
) -> None:
    cache, read = tmp_path / "cache", list[Any]()
    monkeypatch.setenv("RANKLET_CACHE", str(cache))

    def noted(*arguments: Any, **choices: Any) -> Any:
        read.append(arguments)
        return read_model(*arguments, **choices)

    monkeypatch.setattr(models, "read_model", noted)
    folder = transformer_folder(tmp_path / "encoder")
    first = runtime.load(build(TEXTS, tmp_path / "first", models=[folder], export=HALF))
    second = runtime.load(build(TEXTS[:2], tmp_path / "second", models=[folder], export=HALF))
    assert len(read) == 1
    names = "rankers/encoder/model.onnx", "rankers/encoder/report.json"
    files = [bundle.manifest.files for bundle in (first, second)]
    assert [files[0][name] for name in names] == [files[1][name] for name in names]
    checkpoints = [bundle.manifest.provenance["checkpoints"] for bundle in (first, second)]
    assert checkpoints[0] == checkpoints[1]
    assert second.manifest.rankers["encoder"].settings["stored"] == "float16"
    assert second.manifest.default_pipeline == first.manifest.default_pipeline == "sum"
    (kept,) = (cache / "models").iterdir()
    kept.write_bytes(kept.read_bytes()[:-1] + b"?")
    build(TEXTS, tmp_path / "third", models=[folder], export=HALF)
    build(TEXTS, tmp_path / "fourth", models=[folder])  # other variants
    assert len(read) == 3


@pytest.mark.slow
def test_a_bundle_of_one_model_is_a_model(tmp_path: Path) -> None:
    folder = transformer_folder(tmp_path / "encoder")
    exported = tmp_path / "exported"
    export_bundle(with_probes({"own": read_model(folder)}, {"own": folder}), exported)
    bundle = runtime.load(build(TEXTS, tmp_path / "built", models=[exported]))
    both = bundle, runtime.load(exported)
    files = [each.manifest.files["rankers/own/model.onnx"] for each in both]
    assert files[0] == files[1]
    assert bundle.rank("a cat dreams")[0].text == TEXTS[-1]
    with pytest.raises(InputError, match="is exported already"):
        build(TEXTS, tmp_path / "half", models=[exported], export=HALF)
    with pytest.raises(InputError, match=r"bundle of 2 rankers and 6 texts"):
        build(TEXTS, tmp_path / "again", models=[bundle.path])
    with pytest.raises(ModelFolderError, match="is a bundle"):
        write_table(exported, tmp_path / "table", TEXTS, 0.1)
