"""Quantise MatMul and Attention to 8 bits with integer sums that are exact on every processor.

x86 processors without VNNI multiply unsigned activations a by signed weights w in pairs and clamp
a₁w₁ + a₂w₂ to 16 bits. On MiniLM-L6 with the full range of int8 this moves the output projection of
attention by 12 % of its length (emulated), so vectors depend on the machine. onnxruntime's own
remedies cost half of the speed (unsigned weights) or one bit of every weight (reduce_range). A pair
is safe if its weights sum to at most 128. This costs only a quarter of a step, because neighbours
of a channel's largest weight are seldom as large.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.export.onnx.graph import add_constants, remove_unread, replace_nodes
from ranklet.export.onnx.int8_embeddings import quantise_rows

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

# Maximum of a weight and of a pair's sum. Rounding adds ½ to each of two weights, 255 · 128 < 2¹⁵.
LEVELS = 127
QUANTISED = ("MatMul", "Attention")


def quantise_channels(weight: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return a weight in 8 bits and the scale of each output channel, where weight ≈ int8 · scale.

    Args:
        weight: (inputs, outputs) float32.

    Returns:
        (inputs, outputs) int8, where the sum of inputs 2i and 2i + 1 is within ±128, and (outputs,)
        float32 above 0.
    """
    even, odd = weight[0::2], weight[1::2]
    largest = np.abs(weight).max(0)
    sums = np.abs(even[: len(odd)] + odd).max(0, initial=0)
    scales = np.maximum(np.maximum(largest, sums) / LEVELS, np.finfo(np.float32).tiny)
    return np.rint(weight / scales).astype(np.int8), scales.astype(np.float32)


def store_weights_by_channel(model: "ModelProto") -> None:
    """Quantise constant weights, and activations dynamically with one scale per tensor, in place.

    Nodes without an 8-bit form in onnxruntime stay fp32. So do nodes with a single channel, which
    are cheap and whose output (a weight or a gate) matters a lot.
    """
    from onnx import numpy_helper

    tables = [each for each in model.graph.initializer if len(each.dims) == 2]
    weights = {each.name: each for each in tables if each.dims[1] > 1}
    done: set[str] = set()

    def quantised(node: "NodeProto") -> "list[NodeProto]":
        if not _has_8_bit_form(node) or node.input[1] not in weights:
            return [node]
        name = node.input[1]
        if name not in done:
            values, scales = quantise_channels(numpy_helper.to_array(weights[name]))
            zero = np.zeros(len(scales), np.int8)
            add_constants(model, name, {"int8": values, "scale": scales, "zero": zero})
            done.add(name)
        return _in_8_bits(node)

    replace_nodes(model, quantised)
    remove_unread(model, done)


def store_weights_alone(model: "ModelProto") -> None:
    """Quantise constant weights with one scale per channel, and no activations, in place.

    The graph computes in 32 bits, so it is as slow as fp32 and a quarter of its size.
    """
    from onnx import helper, numpy_helper

    weights = {each.name: each for each in model.graph.initializer if len(each.dims) == 2}
    done: set[str] = set()

    def dequantised(node: "NodeProto") -> "list[NodeProto]":
        if node.op_type not in QUANTISED or node.input[1] not in weights:
            return [node]
        name, nodes = node.input[1], [node]
        if name not in done:
            rows, scales = quantise_rows(numpy_helper.to_array(weights[name]).T)
            values = np.ascontiguousarray(rows.T)
            add_constants(model, name, {"int8": values, "scale": scales[:, 0]})
            inputs, result = [f"{name}.int8", f"{name}.scale"], f"{name}.floats"
            nodes = [helper.make_node("DequantizeLinear", inputs, [result], result, axis=1), node]
            done.add(name)
        node.input[1] = f"{name}.floats"
        return nodes

    replace_nodes(model, dequantised)
    remove_unread(model, done)


def _has_8_bit_form(node: "NodeProto") -> bool:
    unequal = any(each.name == "qkv_hidden_sizes" for each in node.attribute)
    return node.op_type in QUANTISED and not unequal


def _in_8_bits(node: "NodeProto") -> "list[NodeProto]":
    """Return the nodes that replace a node, in the form that onnxruntime fuses on loading."""
    from onnx import TensorProto, helper

    values, weight, result = node.input[0], node.input[1], node.output[0]
    x, x_scale, x_zero = (f"{result}.{each}" for each in ("x", "x_scale", "x_zero"))
    w, w_scale, w_zero = (f"{weight}.{each}" for each in ("int8", "scale", "zero"))
    quantise = helper.make_node(
        "DynamicQuantizeLinear", [values], [x, x_scale, x_zero], f"{result}.quantise"
    )
    if node.op_type == "Attention":
        bias, mask, past = [*node.input[2:5], "", "", ""][:3]
        node.op_type = "QAttention"
        del node.input[:]
        node.input.extend([x, w, bias, x_scale, w_scale, mask, x_zero, w_zero, past])
        return [quantise, node]
    sums, floats, scale = (f"{result}.{each}" for each in ("sums", "floats", "scale"))
    return [
        quantise,
        helper.make_node("MatMulInteger", [x, w, x_zero, w_zero], [sums], sums),
        helper.make_node("Cast", [sums], [floats], floats, to=TensorProto.FLOAT),
        helper.make_node("Mul", [x_scale, w_scale], [scale], scale),
        helper.make_node("Mul", [floats, scale], [result], f"{result}.scaled"),
    ]
