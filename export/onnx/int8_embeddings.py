"""Store word embeddings in 8 bits with one scale per word.

onnxruntime's own operator, QEmbedLayerNormalization, has one scale for the whole table, so the
longest vector determines the precision of all others. On MiniLM-L6 this loses 2.5 % of a vector's
length. One scale per word loses 0.5 % and adds 0.1 % to the file's size.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.export.onnx.nodes import add_constants, replace_nodes

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

LEVELS = 127  # levels of int8 on each side of 0


def quantise_rows(table: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return a table in 8 bits and the scale of each row, where row ≈ int8 · scale.

    Args:
        table: (rows, columns) float32.

    Returns:
        (rows, columns) int8 and (rows, 1) float32 above 0.
    """
    scales = np.maximum(np.abs(table).max(1, keepdims=True) / LEVELS, np.finfo(np.float32).tiny)
    return np.rint(table / scales).astype(np.int8), scales.astype(np.float32)


def store_words_by_row(model: "ModelProto") -> None:
    """Quantise the word embeddings of every EmbedLayerNormalization of an fp32 model, in place.

    The operator stays. Its table becomes the dequantised rows of the tokens in the input, and its
    token ids become their indices 0, 1, … Embeddings of positions and segments, under 1 % of a
    small model, stay float32.
    """
    from onnx import numpy_helper

    tables = {each.name: each for each in model.graph.initializer}

    def quantised(node: "NodeProto") -> "list[NodeProto]":
        if node.op_type != "EmbedLayerNormalization" or node.input[2] not in tables:
            return [node]
        ids, name = node.input[0], node.input[2]
        rows, scales = quantise_rows(numpy_helper.to_array(tables[name]))
        numbers = {"flat": [-1], "zero": 0, "one": 1}
        integers = {key: np.array(value, np.int64) for key, value in numbers.items()}
        add_constants(model, name, {"rows": rows, "scales": scales, **integers})
        model.graph.initializer.remove(tables[name])
        node.input[0], node.input[2] = f"{name}.places", f"{name}.words"
        return [*_dequantise_used(ids, name), node]

    replace_nodes(model, quantised)


def _dequantise_used(ids: str, table: str) -> "list[NodeProto]":
    """Return nodes for the used words, (tokens, dimension), and their places, in ids' shape."""
    from onnx import TensorProto, helper

    def node(kind: str, inputs: str, output: str, **attributes: Any) -> "NodeProto":
        names = [ids if name == "ids" else f"{table}.{name}" for name in inputs.split()]
        result = f"{table}.{output}"
        return helper.make_node(kind, names, [result], result, **attributes)

    return [
        node("Reshape", "ids flat", "tokens"),  # (tokens,), of all texts, concatenated
        node("Gather", "rows tokens", "used", axis=0),
        node("Gather", "scales tokens", "used_scales", axis=0),
        node("Cast", "used", "used_float", to=TensorProto.FLOAT),
        node("Mul", "used_float used_scales", "words"),
        node("Size", "ids", "count"),
        node("Range", "zero count one", "range"),
        node("Shape", "ids", "shape"),
        node("Reshape", "range shape", "shaped"),
        node("Cast", "shaped", "places", to=TensorProto.INT32),
    ]
