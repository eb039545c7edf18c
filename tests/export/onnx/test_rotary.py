"""Rotary position embeddings become one operator, and the network stays the same."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from tests.models import transformer_folder

from ranklet.export.onnx.graph import Transformer, example_inputs, export_graph
from ranklet.runtime.rankers.dense import DenseSettings
from ranklet.training.rankers.dense.network import DenseNetwork


@pytest.mark.slow
@pytest.mark.parametrize(
    ("architecture", "rotations"), [("modernbert", 4), ("qwen3", 4), ("gemma3", 4), ("bert", 0)]
)
def test_rotations_are_fused_and_padding_changes_nothing(
    architecture: str, rotations: int, tmp_path: Path
) -> None:
    import transformers

    folder = transformer_folder(tmp_path / "model", architecture)
    encoder = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager")
    settings = DenseSettings(dimension=32, pooling="mean", similarity="cosine")
    network = DenseNetwork(encoder, settings).eval()
    target = tmp_path / "model.onnx"
    sizes = Transformer(heads=4, hidden=32, layers=2)
    export_graph(network, example_inputs(network.inputs), "vector", target, sizes)
    kinds = [node.op_type for node in onnx.load(str(target)).graph.node]
    assert kinds.count("RotaryEmbedding") == rotations
    rng = np.random.default_rng(0)
    feeds = {
        "input_ids": rng.integers(5, 40, (3, 30)),
        "attention_mask": (np.arange(30) < np.array([[30], [7], [1]])).astype(np.int64),
        "token_type_ids": np.zeros((3, 30), np.int64),
    }
    session = onnxruntime.InferenceSession(str(target))
    own = {each.name: feeds[each.name] for each in session.get_inputs()}
    with torch.inference_mode():
        expected = network(*(torch.from_numpy(feeds[name]) for name in network.inputs)).numpy()
    np.testing.assert_allclose(session.run(None, own)[0], expected, atol=1e-5)
