from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from ranklet.export.onnx.int8_weights import quantise_channels, store_weights_by_channel

if TYPE_CHECKING:
    from onnx import ModelProto

WEIGHTS = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 7), st.integers(1, 4)),
    elements=st.floats(-(2**10), 2**10, width=32),
)


@given(weight=WEIGHTS, activations=st.lists(st.integers(0, 255), min_size=8, max_size=8))
def test_no_pair_of_products_overflows_16_bits(
    weight: NDArray[np.float32], activations: list[int]
) -> None:
    values, scales = quantise_channels(weight)
    assert (values.dtype, scales.dtype) == (np.dtype(np.int8), np.dtype(np.float32))
    assert scales.shape == weight.shape[1:]
    products = np.array(activations[: len(values)])[:, None] * values
    pairs = products[0::2][: len(products) // 2] + products[1::2]
    assert (np.abs(products) < 2**15).all()
    assert (np.abs(pairs) < 2**15).all()


@given(WEIGHTS)
def test_a_weight_is_off_by_half_a_step_and_a_step_is_at_most_that_of_7_bits(
    weight: NDArray[np.float32],
) -> None:
    values, scales = quantise_channels(weight)
    assert (np.abs(values * scales - weight) <= 0.501 * scales).all()
    assert (scales <= 1.001 * np.abs(weight).max(0) / 63.5 + 1e-30).all()


def test_a_channel_without_large_pairs_has_the_full_range() -> None:
    values, _ = quantise_channels(np.array([[1, 1], [0, 1], [0.5, -1]], np.float32))
    np.testing.assert_array_equal(values, [[127, 64], [0, 64], [64, -64]])


def test_every_node_with_a_constant_weight_gets_an_8_bit_form(tiny_model: "ModelProto") -> None:
    before = Counter(node.op_type for node in tiny_model.graph.node)
    store_weights_by_channel(tiny_model)
    after = Counter(node.op_type for node in tiny_model.graph.node)
    assert after["QAttention"] == before["Attention"] == 2
    assert after["MatMulInteger"] == before["MatMul"] == 6
    assert after["Attention"] == after["MatMul"] == 0


def test_onnxruntime_fuses_what_is_written(tiny_model: "ModelProto", tmp_path: Path) -> None:
    """Unfused, sums of integers would be no faster than sums of floats."""
    import onnx
    import onnxruntime

    store_weights_by_channel(tiny_model)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    onnxruntime.InferenceSession(
        tiny_model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    optimised = onnx.load(options.optimized_model_filepath)
    assert Counter(node.op_type for node in optimised.graph.node)["DynamicQuantizeMatMul"] == 6


def test_a_weight_that_two_nodes_share_is_stored_once(tiny_model: "ModelProto") -> None:
    first, second = (n for n in tiny_model.graph.node if n.op_type == "Attention")
    name = second.input[1] = first.input[1]
    store_weights_by_channel(tiny_model)
    names = [each.name for each in tiny_model.graph.initializer]
    assert names.count(f"{name}.int8") == 1
    assert name not in names
