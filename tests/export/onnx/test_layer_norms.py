from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.export.onnx.calibration import Feeds
from ranklet.export.onnx.layer_norms import split_skip_norms

if TYPE_CHECKING:
    from onnx import ModelProto


def operators(model: "ModelProto") -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


def session(model: "ModelProto", **options: Any) -> Any:
    import onnxruntime

    chosen = onnxruntime.SessionOptions()
    chosen.log_severity_level = 3
    for name, value in options.items():
        setattr(chosen, name, value)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), chosen, providers=["CPUExecutionProvider"]
    )


def test_a_split_graph_computes_the_same(tiny_model: "ModelProto", tiny_feeds: list[Feeds]) -> None:
    before, fused = session(tiny_model), operators(tiny_model)
    split_skip_norms(tiny_model)
    after, split = session(tiny_model), operators(tiny_model)
    assert split["SkipLayerNormalization"] == 0
    assert split["LayerNormalization"] == fused["SkipLayerNormalization"] == 4
    for feeds in tiny_feeds:
        (want,), (found,) = before.run(None, feeds), after.run(None, feeds)
        np.testing.assert_allclose(found, want, atol=2e-6)


def norm_after(values: NDArray[np.float32]) -> NDArray[np.float32]:
    centred = values - values.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 0.5)
    return np.asarray(scaled * [1, 2, 3, 4] + 1, np.float32)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("total", [True, False])
def test_the_formula(bias: bool, total: bool) -> None:
    """Mean and variance of a row, ε of the node's own, and its fourth output: what is normed."""
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(1)
    values, skip = rng.normal(size=(2, 1, 3, 4)).astype(np.float32)
    constants = {
        "gamma": np.array([1, 2, 3, 4], np.float32),
        "beta": np.ones(4, np.float32),
        "bias": np.array([5, 6, -7, 8], np.float32),
    }
    node = helper.make_node(
        "SkipLayerNormalization",
        ["values", "skip", "gamma", "beta", *(["bias"] if bias else [])],
        ["normed", *(["", "", "total"] if total else [])],
        domain="com.microsoft",
        epsilon=0.5,
    )
    outputs = ["normed", *(["total"] if total else [])]
    floats = TensorProto.FLOAT
    graph = helper.make_graph(
        [node],
        "graph",
        [helper.make_tensor_value_info(each, floats, [1, None, 4]) for each in ("values", "skip")],
        [helper.make_tensor_value_info(each, floats, None) for each in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=versions, ir_version=9)
    split_skip_norms(model)
    found = session(model).run(outputs, {"values": values, "skip": skip})
    summed = values + skip + (constants["bias"] if bias else 0)
    np.testing.assert_allclose(found[0], norm_after(summed), atol=1e-5)
    if total:
        np.testing.assert_allclose(found[1], summed, atol=1e-6)
