"""A folder's graphs are compared with the original, whoever has made them."""

from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from tests.export.hub.test_folder import written
from tests.models import probes, transformer_folder

from ranklet.corpus.errors import BuildError
from ranklet.export.hub.verifying import verify_hub
from ranklet.training.imported.importing import read_model


@pytest.mark.slow
def test_a_spoiled_graph_and_another_model_are_noticed(tmp_path: Path) -> None:
    folder = transformer_folder(tmp_path / "model")
    hub = written(folder, tmp_path)
    checkpoint = replace(read_model(folder), probes=probes())
    path = hub / "onnx" / "model.onnx"
    model = onnx.load(str(path))
    for name in ("token_embeddings", "other"):
        before = model.graph.output[0].name
        for node in model.graph.node:
            node.output[:] = [name if each == before else each for each in node.output]
        model.graph.output[0].name = name
        onnx.save(model, str(path))
        if name == "other":
            with pytest.raises(BuildError, match="has the outputs other, but not last_hidden"):
                verify_hub(hub, checkpoint)
        else:
            (report,) = verify_hub(hub, checkpoint)
            assert not report.refused
    other = transformer_folder(tmp_path / "other", "roberta")
    with pytest.raises(BuildError, match="tokenizer of another model"):
        verify_hub(hub, replace(read_model(other), probes=probes()))
    deeper = transformer_folder(tmp_path / "deeper", num_hidden_layers=3)
    path.write_bytes((written(folder, tmp_path / "again") / "onnx" / "model.onnx").read_bytes())
    (report,) = verify_hub(hub, replace(read_model(deeper), probes=probes()))
    assert "largest error" in report.refused
