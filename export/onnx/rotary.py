"""Fuse rotary position embeddings (Su et al. 2021, RoFormer, eq. 34) into one operator each.

Traced, a rotation of queries or keys is seven operators, which copy halves of each vector. The
operator of onnxruntime takes a third of their time.
"""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

FIRST = "rotary_first"  # the first position, and the first text


def fuse_rotary(model: "ModelProto") -> None:
    """Replace x · cos + rotate_half(x) · sin by RotaryEmbedding, in place.

    x is (batch, heads, tokens, size). Angles that depend on more than the number of tokens, as on a
    mask, are left alone. Whatever else differs in a network is found by the proof.
    """
    from onnx import NodeProto, helper, numpy_helper

    makers = {name: node for node in model.graph.node for name in node.output}
    inputs = {each.name for each in model.graph.input}
    tables: dict[str, str] = {}  # the half of a table by the name of the whole
    fused: dict[str, list[NodeProto]] = {}  # nodes by the output of the sum that they replace
    for node in model.graph.node:
        found = _rotation(node, makers)
        if found is None or not all(_by_length(each, makers, inputs) for each in found[1:]):
            continue
        x, *angles = found
        nodes = []
        for whole in angles:
            if whole not in tables:
                tables[whole] = f"{whole}_half"
                row = f"{whole}_row"
                nodes += [
                    helper.make_node("Gather", [whole, FIRST], [row], row, axis=0),
                    helper.make_node(
                        "Split", [row], [tables[whole], f"{row}_rest"], f"{row}_split", axis=-1
                    ),
                ]
        output = node.output[0]
        rotated = helper.make_node(
            "RotaryEmbedding", [x, f"{FIRST}_offset", *(tables[each] for each in angles)], [output],
            f"{output}_rotary", domain="com.microsoft",
        )  # fmt: skip
        fused[output] = [*nodes, rotated]
    if not fused:
        return
    for name, value in ((FIRST, np.array(0)), (f"{FIRST}_offset", np.array([0]))):
        model.graph.initializer.append(numpy_helper.from_array(value.astype(np.int64), name))
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    copies = [NodeProto.FromString(node.SerializeToString()) for node in model.graph.node]
    del model.graph.node[:]
    for node in copies:
        model.graph.node.extend(fused.get(node.output[0], [node]))
    _remove_unread_nodes(model)


def _rotation(node: "NodeProto", makers: "dict[str, NodeProto]") -> tuple[str, str, str] | None:
    """Return x and the tables, (texts, tokens, size), of cosines and sines of a rotation's sum."""

    def uncast(name: str) -> str:
        """Leave out casts of float32 to itself, with which some networks begin."""
        while name in makers and makers[name].op_type == "Cast":
            name = makers[name].input[0]
        return name

    def made(name: str, kind: str) -> "NodeProto | None":
        maker = makers.get(uncast(name))
        return maker if maker is not None and maker.op_type == kind else None

    parts = [made(name, "Mul") for name in node.input] if node.op_type == "Add" else []
    for plain, turned in (parts, parts[::-1]) if len(parts) == 2 else ():
        if plain is None or turned is None:
            continue
        for half, sine in (turned.input, turned.input[::-1]):
            joined = made(half, "Concat")
            if joined is None or len(joined.input) != 2:
                continue
            minus, first = made(joined.input[0], "Neg"), made(joined.input[1], "Slice")
            last = made(minus.input[0], "Slice") if minus is not None else None
            if first is None or last is None:
                continue
            x = uncast(first.input[0])
            cosines = [name for name in plain.input if uncast(name) != x]
            tables = [made(name, "Unsqueeze") for name in (*cosines, sine)]
            if len(tables) == 2 and uncast(last.input[0]) == x and None not in tables:
                cosine_table, sine_table = (each.input[0] for each in tables if each is not None)
                return x, cosine_table, sine_table
    return None


def _by_length(name: str, makers: "dict[str, NodeProto]", inputs: set[str]) -> bool:
    """Return whether a tensor depends on no input but by its shape."""
    todo, seen = [name], set[str]()
    while todo:
        each = todo.pop()
        if each in inputs:
            return False
        if each in makers and each not in seen and makers[each].op_type != "Shape":
            todo += makers[each].input
        seen.add(each)
    return True


def _remove_unread_nodes(model: "ModelProto") -> None:
    outputs = {each.name for each in model.graph.output}
    while True:
        read = outputs | {name for node in model.graph.node for name in node.input}
        unread = [node for node in model.graph.node if not read & {*node.output}]
        if not unread:
            return
        for node in unread:
            model.graph.node.remove(node)
