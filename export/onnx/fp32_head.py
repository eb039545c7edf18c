"""The head of a cross-encoder in its graph, which keeps 32 bits in every variant.

It is a thousandth of the work and where the small numbers are: probabilities of 10⁻⁹ and logarithms
of sums are lost in 16 bits. So it is taken off, the encoder is converted, and it is put back.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

HEAD = "head:"  # begins the names of its nodes
_LAST = "SkipLayerNormalization"  # of a fused encoder, the operator that each layer ends with


def name_head(model: "ModelProto", keep: Sequence[str] = (), last: str = _LAST) -> None:
    """Name the nodes that the encoder's last layer does not need, in place.

    Args:
        model: fused, unless `last` is an operator that is there without.
        keep: tensors behind the last layer that are the encoder's, too.
        last: the operator that each layer of the encoder ends with.
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
    for at, node in enumerate(model.graph.node):
        if not encoder & {*node.output}:
            node.name = f"{HEAD}{at}"


def vocabulary_products(model: "ModelProto", vocabulary: int) -> list[str]:
    """Return the outputs of matrix products that expand hidden states to the whole vocabulary."""
    constants = model.graph.initializer
    wide = {each.name for each in constants if list(each.dims)[1:] == [vocabulary]}
    products = [node for node in model.graph.node if node.op_type == "MatMul"]
    return [node.output[0] for node in products if node.input[1] in wide]


@contextmanager
def head_aside(model: "ModelProto", *, half: bool = False) -> Iterator[None]:
    """Keep the head out of a graph within a ``with``; a graph without a named one stays as it is.

    Args:
        model: changed in place, not replaced, within.
        half: whether the rest computes in 16 bits afterwards, and the head needs its results in 32.
    """
    from onnx import NodeProto, ValueInfoProto

    graph = model.graph
    copies = [NodeProto.FromString(node.SerializeToString()) for node in graph.node]
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
    made = {name for node in body for name in node.output}
    taken = made & {name for node in head for name in node.input}
    floats = _floats(model, sorted(taken)) if half else []
    yield
    graph.output.extend(outputs)
    graph.node.extend(_widened(head, floats))


def _own_constants(model: "ModelProto", head: "list[NodeProto]", body: "list[NodeProto]") -> None:
    """Give the head copies of the constants that it shares with the body, which may change them."""
    from onnx import TensorProto

    used = {name for node in body for name in node.input}
    wanted = {name for node in head for name in node.input}
    shared = [each for each in model.graph.initializer if each.name in used & wanted]
    for each in shared:
        copy = TensorProto.FromString(each.SerializeToString())
        copy.name = HEAD + each.name
        model.graph.initializer.append(copy)
    _rename(head, {each.name: HEAD + each.name for each in shared})


def _floats(model: "ModelProto", names: list[str]) -> list[str]:
    """Return those of some tensors that are float32: onnxruntime knows, its own operators too."""
    import onnxruntime
    from onnx import ModelProto, ValueInfoProto

    watched = ModelProto.FromString(model.SerializeToString())
    watched.graph.output.extend(ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only: it warns of the head's constants
    session = onnxruntime.InferenceSession(
        watched.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return [each.name for each in session.get_outputs() if each.type == "tensor(float)"]


def _widened(head: "list[NodeProto]", taken: list[str]) -> "list[NodeProto]":
    """Return the head with what it takes in 16 bits brought to 32 bits."""
    from onnx import TensorProto, helper

    _rename(head, {name: f"{HEAD}{name}" for name in taken})
    casts = [
        helper.make_node("Cast", [name], [HEAD + name], f"{HEAD}{name}_cast", to=TensorProto.FLOAT)
        for name in taken
    ]
    return [*casts, *head]


def _rename(nodes: "list[NodeProto]", names: dict[str, str]) -> None:
    for node in nodes:
        for at, name in enumerate(node.input):
            node.input[at] = names.get(name, name)
