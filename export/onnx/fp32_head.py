"""Keep the head of a cross-encoder's graph in 32 bits in every variant.

The head is a thousandth of the work, but it computes with probabilities of 10⁻⁹ and logarithms of
sums, which 16 bits cannot represent. So it is removed while the encoder is converted.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ranklet.export.onnx.calibration import session_with_outputs
from ranklet.export.onnx.graph import copy_nodes

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

HEAD = "head:"  # prefix of the names of the head's nodes
_LAST = "SkipLayerNormalization"  # the last operator of each layer in a fused encoder


def name_head(model: "ModelProto", keep: Sequence[str] = (), last: str = _LAST) -> None:
    """Name the nodes of the head, which the encoder's last layer does not need, in place.

    Args:
        model: a fused model, unless `last` also occurs in unfused ones.
        keep: tensors after the last layer that also belong to the encoder.
        last: the last operator of each layer of the encoder.
    """
    makers = {name: node for node in model.graph.node for name in node.output}
    todo = [name for node in model.graph.node if node.op_type == last for name in node.output]
    todo += keep
    encoder: set[str] = set()
    while todo:
        name = todo.pop()
        if name in makers and name not in encoder:
            encoder.update(makers[name].output)
            todo += makers[name].input
    for index, node in enumerate(model.graph.node):
        if not encoder & {*node.output}:
            node.name = f"{HEAD}{index}"


def head_tensors(model: "ModelProto") -> set[str]:
    """Return the names of the tensors that the named head computes; fusion does not change them."""
    head = [node for node in model.graph.node if node.name.startswith(HEAD)]
    return {name for node in head for name in node.output}


def vocabulary_products(model: "ModelProto", vocabulary: int) -> list[str]:
    """Return the outputs of matrix products that expand hidden states to the whole vocabulary."""
    constants = model.graph.initializer
    wide = {each.name for each in constants if list(each.dims)[1:] == [vocabulary]}
    products = [node for node in model.graph.node if node.op_type == "MatMul"]
    return [node.output[0] for node in products if node.input[1] in wide]


@contextmanager
def head_aside(model: "ModelProto", *, half: bool = False) -> Iterator[None]:
    """Remove the head from a graph during a ``with``, if the graph has a named head.

    Args:
        model: the graph, which the block may change in place but not replace.
        half: whether the block converts the rest to 16 bits, so that the head must widen its inputs
            to 32 bits.
    """
    from onnx import ValueInfoProto

    graph, copies = model.graph, copy_nodes(model)
    head = [node for node in copies if node.name.startswith(HEAD)]
    if not head:
        yield
        return
    body = [node for node in copies if not node.name.startswith(HEAD)]
    _own_constants(model, head, body)
    outputs = [ValueInfoProto.FromString(each.SerializeToString()) for each in graph.output]
    del graph.output[:]
    del graph.node[:]
    graph.node.extend(body)
    body_outputs = {name for node in body for name in node.output}
    head_inputs = body_outputs & {name for node in head for name in node.input}
    floats = _floats(model, sorted(head_inputs)) if half else []
    yield
    graph.output.extend(outputs)
    graph.node.extend(_widen(head, floats))


def _own_constants(model: "ModelProto", head: "list[NodeProto]", body: "list[NodeProto]") -> None:
    """Give the head its own copies of constants that the body uses and may change."""
    from onnx import TensorProto

    of_body = {name for node in body for name in node.input}
    of_head = {name for node in head for name in node.input}
    shared = [each for each in model.graph.initializer if each.name in of_body & of_head]
    for each in shared:
        copy = TensorProto.FromString(each.SerializeToString())
        copy.name = HEAD + each.name
        model.graph.initializer.append(copy)
    _rename(head, {each.name: HEAD + each.name for each in shared})


def _floats(model: "ModelProto", names: list[str]) -> list[str]:
    """Return which tensors are float32; onnxruntime also knows the types of its own operators."""
    outputs = session_with_outputs(model, names).get_outputs()
    return [output.name for output in outputs if output.type == "tensor(float)"]


def _widen(head: "list[NodeProto]", taken: list[str]) -> "list[NodeProto]":
    """Return the head with casts of its 16-bit inputs to 32 bits."""
    from onnx import TensorProto, helper

    _rename(head, {name: f"{HEAD}{name}" for name in taken})
    casts = [
        helper.make_node("Cast", [name], [HEAD + name], f"{HEAD}{name}_cast", to=TensorProto.FLOAT)
        for name in taken
    ]
    return [*casts, *head]


def _rename(nodes: "list[NodeProto]", names: dict[str, str]) -> None:
    for node in nodes:
        for index, name in enumerate(node.input):
            node.input[index] = names.get(name, name)
