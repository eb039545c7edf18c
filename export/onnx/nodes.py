"""Change the nodes and constants of ONNX graphs."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto


def replace_nodes(
    model: "ModelProto", replaced: "Callable[[NodeProto], Iterable[NodeProto]]"
) -> None:
    """Replace every node of a graph by some nodes, in place.

    Args:
        model: the model, whose order of nodes must stay topological.
        replaced: returns the nodes that replace a node, which it gets as a copy. The node itself is
            lost when the list is emptied.
    """
    copies = copied_nodes(model)
    nodes = [new for node in copies for new in replaced(node)]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def copied_nodes(model: "ModelProto") -> "list[NodeProto]":
    """Return copies of a graph's nodes, which stay valid when the graph's own list changes."""
    from onnx import NodeProto

    return [NodeProto.FromString(node.SerializeToString()) for node in model.graph.node]


def add_constants(model: "ModelProto", prefix: str, constants: Mapping[str, NDArray[Any]]) -> None:
    """Add constants to a graph, each named ``PREFIX.NAME``."""
    from onnx import numpy_helper

    for name, values in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(values, f"{prefix}.{name}"))
