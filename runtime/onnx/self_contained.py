"""Refuse models that name files, before onnxruntime or OpenVINO reads the model.

ONNX lets a tensor name the file that holds its values, and onnxruntime reads that file below the
working directory. A bundle that a stranger made could read any file so, and show its bytes as
scores. Models of bundles hold all of their tensors.
"""

from ranklet.runtime.ground.errors import BundleError

# The messages of onnx.proto that can hold a tensor, and the fields that lead to the next of them.
_FIELDS: dict[str, dict[int, str]] = {
    "Model": {7: "Graph", 20: "Training", 25: "Function"},
    "Training": {1: "Graph", 2: "Graph"},
    "Graph": {1: "Node", 5: "Tensor", 15: "Sparse"},
    "Function": {7: "Node", 11: "Attribute"},
    "Node": {5: "Attribute"},
    "Attribute": {
        5: "Tensor", 6: "Graph", 10: "Tensor", 11: "Graph", 22: "Sparse", 23: "Sparse",
    },
    "Sparse": {1: "Tensor", 2: "Tensor"},
    "Tensor": {},
}  # fmt: skip
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14  # fields of a tensor
_VARINT, _BYTES = 0, 2  # types on the wire
_WIDTHS = {1: 8, 5: 4}  # bytes of the other types; ONNX has no groups, which are 3 and 4
_HIGHEST = (1 << 29) - 1  # number of a field
_DEEPEST = 100  # messages in one another; protobuf reads no more
_ORT_FORMAT = slice(4, 8), b"ORTM"  # where onnxruntime looks for its own format, and what it finds
_LONGEST = 10  # bytes of a varint


def check_onnx(model: memoryview | bytes, name: str) -> None:
    """Check that a model of ONNX holds the values of all of its tensors.

    Every field is looked at once: those of initialisers, constants, subgraphs, functions and
    training. What protobuf would not read is refused, so that
    nothing is hidden from this check.

    Args:
        model: the content of the file.
        name: the name of the file, for messages.

    Raises:
        BundleError: a tensor's values are in another file, or this is no model of ONNX.
    """
    place, mark = _ORT_FORMAT
    if bytes(model[place]) == mark:
        raise BundleError(f"{name} cannot be loaded by onnxruntime: only ONNX is allowed")
    try:
        external = _names_a_file(memoryview(model))
    except (IndexError, ValueError) as error:
        raise BundleError(
            f"{name} cannot be loaded by onnxruntime: it is no model of ONNX"
        ) from error
    if external:
        raise BundleError(
            f"{name} cannot be loaded: a tensor's values are in another file, but a bundle's model "
            "must hold all of its tensors; export it again"
        )


def check_openvino(model: memoryview | bytes, name: str) -> None:
    """Check that a model is of OpenVINO's own format, whose values are in the weights only.

    OpenVINO would also read ONNX and others here, which can name files. None of them begins as XML.

    Raises:
        BundleError: it begins with another character than <.
    """
    if bytes(model[:1]) != b"<":
        raise BundleError(f"{name} cannot be loaded by OpenVINO: it is no XML")


def _names_a_file(data: memoryview) -> bool:
    """Return whether a tensor of a serialised model has a location of its values.

    Raises:
        IndexError: the message is truncated.
        ValueError: it is no message that protobuf reads.
    """
    outer: list[tuple[str, int, int]] = []  # what remains of the messages around this one
    kind, place, end = "Model", 0, len(data)
    while place < end or outer:
        if place == end:
            kind, place, end = outer.pop()
            continue
        tag, place = _varint(data, place)
        field, wire = tag >> 3, tag & 7
        if not 0 < field <= _HIGHEST:
            raise ValueError("a field has a wrong number")
        if kind == "Tensor" and _is_external(field, wire, data[place]):
            return True
        size, inner = _WIDTHS.get(wire, 0), None
        if wire == _BYTES:
            size, place = _varint(data, place)
            inner = _FIELDS[kind].get(field)
        elif wire == _VARINT:
            _, place = _varint(data, place)
        elif not size:
            raise ValueError("a field has an unknown type")
        if place + size > end:
            raise IndexError("a field is longer than its message")
        if inner:
            if len(outer) == _DEEPEST:
                raise ValueError("the messages are nested too deeply")
            outer.append((kind, place + size, end))
            kind, end = inner, place + size
        else:
            place += size
    return False


def _is_external(field: int, wire: int, first: int) -> bool:
    """Return whether a field of a tensor moves its values elsewhere.

    Args:
        field: the field's number.
        wire: the field's type on the wire.
        first: the first byte of its value; 0 is the location of a tensor that holds its values.
    """
    return field == _EXTERNAL_DATA or (field == _DATA_LOCATION and (wire != _VARINT or first != 0))


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return a number of 7 bits per byte, and the place after it."""
    value = data[at]
    if value < 0x80:
        return value, at + 1
    value &= 0x7F
    for place in range(1, _LONGEST):
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError("a number has too many bytes")
