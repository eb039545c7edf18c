from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from ranklet.export.onnx.fp32_head import HEAD, head_aside, name_head


@pytest.fixture
def model() -> onnx.ModelProto:
    """A layer norm as the body, and a head that shares the constant `two` with it."""
    body = [
        helper.make_node("Mul", ["x", "two"], ["doubled"], "double"),
        helper.make_node(
            "SkipLayerNormalization", ["doubled", "doubled", "gamma"], ["normed"], "norm",
            domain="com.microsoft",
        ),
    ]  # fmt: skip
    head = [
        helper.make_node("Mul", ["normed", "two"], ["again"], "again"),
        helper.make_node("ReduceSum", ["again"], ["y"], "sum", keepdims=0),
    ]
    constants = {"two": np.array(2, np.float32), "gamma": np.ones(4, np.float32)}
    graph = helper.make_graph(
        [*body, *head],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def test_the_head_is_what_the_last_layer_does_not_need(model: onnx.ModelProto) -> None:
    name_head(model)
    assert [node.name.startswith(HEAD) for node in model.graph.node] == [False, False, True, True]


def test_a_graph_without_a_named_head_stays_as_it_is(model: onnx.ModelProto) -> None:
    before = model.SerializeToString()
    with head_aside(model, half=True):
        assert len(model.graph.node) == 4
    assert model.SerializeToString() == before


def test_with_the_head_aside_only_the_body_is_there(model: onnx.ModelProto) -> None:
    name_head(model)
    with head_aside(model):
        assert [node.name for node in model.graph.node] == ["double", "norm"]
        assert not model.graph.output
    assert len(model.graph.node) == 4
    assert [each.name for each in model.graph.output] == ["y"]


def test_in_16_bits_the_head_still_has_32(model: onnx.ModelProto, tmp_path: Path) -> None:
    import onnxruntime
    from onnxruntime.transformers.float16 import convert_float_to_float16

    def run(given: onnx.ModelProto) -> float:
        session = onnxruntime.InferenceSession(
            given.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        x = np.array([[[1, 2, 3, 5]]], np.float32)
        return float(session.run(None, {"x": x})[0])

    expected = run(model)
    name_head(model)
    with head_aside(model, half=True):
        convert_float_to_float16(model, keep_io_types=True, disable_shape_infer=True)
    types = {each.name: each.data_type for each in model.graph.initializer}
    assert types["two"] == types["gamma"] == TensorProto.FLOAT16
    assert types[f"{HEAD}two"] == TensorProto.FLOAT
    assert run(model) == pytest.approx(expected, abs=1e-2)
