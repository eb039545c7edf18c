"""A model of a bundle holds all of its tensors, wherever in it they are."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.onnx.self_contained import check_onnx
from ranklet.runtime.onnx.session import Session

onnx: Any = pytest.importorskip("onnx")
helper = onnx.helper


def tensor(*, external: bool = True, location: bool = True) -> Any:
    made = onnx.TensorProto(name="leak", data_type=onnx.TensorProto.UINT8, dims=[4])
    if location:
        made.data_location = onnx.TensorProto.EXTERNAL
    if external:
        made.external_data.add(key="location", value="secret")
    return made


def graph(*, nodes: Sequence[Any] = (), **parts: object) -> Any:
    output = helper.make_tensor_value_info("y", onnx.TensorProto.UINT8, [4])
    last = helper.make_node("Identity", ["leak"], ["y"])
    return helper.make_graph([*nodes, last], "g", [], [output], **parts)


def model(made: Any = None) -> Any:
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(
        made or graph(initializer=[tensor()]), opset_imports=opset, ir_version=8
    )


def constant(**attributes: object) -> Any:
    return helper.make_node("Constant", [], ["leak"], **attributes)


def deep(levels: int) -> Any:
    """Return a tensor inside branches inside branches."""
    inner = graph(nodes=(constant(value=tensor()),))
    for _ in range(levels):
        inner = graph(nodes=(helper.make_node("If", ["x"], ["leak"], then_branch=inner),))
    return model(inner)


def nested(levels: int) -> bytes:
    """Return graphs inside attributes inside nodes, which are empty otherwise."""
    content = b""
    for field in (6, 5, 1) * levels:
        size = len(content)
        content = bytes([field << 3 | 2, size & 0x7F | 0x80, size >> 7]) + content
    return bytes([7 << 3 | 2, len(content) & 0x7F | 0x80, len(content) >> 7]) + content


def function() -> Any:
    made = model(graph())
    opset = [helper.make_opsetid("", 17)]
    node = constant(value=tensor())
    made.functions.append(helper.make_function("own", "f", [], ["leak"], [node], opset))
    return made


def training() -> Any:
    made = model(graph())
    made.training_info.add().algorithm.CopyFrom(graph(initializer=[tensor()]))
    return made


def sparse() -> Any:
    return onnx.SparseTensorProto(values=tensor(), indices=tensor(), dims=[4])


HOSTILE: dict[str, Callable[[], Any]] = {
    "an initialiser": model,
    "only a location": lambda: model(graph(initializer=[tensor(external=False)])),
    "only entries": lambda: model(graph(initializer=[tensor(location=False)])),
    "a sparse initialiser": lambda: model(graph(sparse_initializer=[sparse()])),
    "a constant": lambda: model(graph(nodes=(constant(value=tensor()),))),
    "constants": lambda: model(graph(nodes=(constant(values=[tensor()]),))),
    "a sparse constant": lambda: model(graph(nodes=(constant(sparse_value=sparse()),))),
    "sparse constants": lambda: model(graph(nodes=(constant(sparse_values=[sparse()]),))),
    "a subgraph": lambda: deep(1),
    "subgraphs": lambda: model(graph(nodes=(constant(bodies=[graph(initializer=[tensor()])]),))),
    "a deep subgraph": lambda: deep(20),
    "a function": function,
    "training": training,
}  # fmt: skip


@pytest.mark.parametrize("place", HOSTILE)
def test_a_tensor_that_is_elsewhere_is_refused_wherever_it_is_named(place: str) -> None:
    with pytest.raises(
        BundleError, match="cannot be loaded: a tensor's values are in another file"
    ):
        Session(HOSTILE[place]().SerializeToString(), "m.onnx", device="cpu")


def test_a_model_that_holds_its_tensors_passes_whatever_its_size() -> None:
    values = onnx.TensorProto(name="leak", data_type=onnx.TensorProto.UINT8, dims=[1 << 24])
    values.raw_data = bytes(1 << 24)
    nodes = tuple(constant(value=onnx.TensorProto(data_type=1, float_data=[1.5])) for _ in range(9))
    content = model(graph(nodes=nodes, initializer=[values])).SerializeToString()
    check_onnx(memoryview(content), "m.onnx")


def test_what_protobuf_would_not_read_is_refused_so_that_nothing_hides_in_it() -> None:
    good = model(graph()).SerializeToString()
    check_onnx(good, "m.onnx")
    tails = {
        "a group": b"\x3b\x3c",
        "an unknown type": b"\x3e",
        "no number": b"\x02\x00",
        "a number past 32 bits": b"\xba\x80\x80\x80\x10\x00",
        "a truncated field": b"\x3a\x05a",
        "an endless number": b"\x08" + b"\xff" * 11,
        "many levels": nested(200),
    }
    for tail in tails.values():
        with pytest.raises(BundleError, match=r"m\.onnx cannot be .*: it is no model of ONNX"):
            check_onnx(good + tail, "m.onnx")
    with pytest.raises(BundleError, match="only ONNX is allowed"):
        check_onnx(b"\x0a\x7f\x00\x00ORTM" + bytes(121), "m.onnx")


def test_damage_raises_nothing_but_bundle_errors() -> None:
    random, whole = Random(0), deep(3).SerializeToString()
    for number in range(3_000):
        if number % 3 == 0:
            content = random.randbytes(random.randrange(60))
        elif number % 3 == 1:
            content = whole[: random.randrange(len(whole))]
        else:
            changed = bytearray(whole)
            for _ in range(3):
                changed[random.randrange(len(whole))] = random.randrange(256)
            content = bytes(changed)
        try:
            check_onnx(content, "m.onnx")
        except BundleError:
            continue
