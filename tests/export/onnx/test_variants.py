import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.export.onnx.variants import FORMS, SMOOTHED, UNSMOOTHED, WEIGHTS_ONLY, convert
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.runtime.onnx.session import Session
from ranklet.runtime.rankers.dense import OUTPUT

Feeds = dict[str, NDArray[np.int64]]


def error(path: Path, source: Path, feeds: list[Feeds]) -> float:
    """Mean length of a vector's error, as a share of the vector's length."""
    ours, exact = (Session(each.read_bytes(), each.name, device="cpu") for each in (path, source))
    found, wanted = (
        np.concatenate([session.run(OUTPUT, each) for each in feeds]) for session in (ours, exact)
    )
    lost: NDArray[np.float32] = np.linalg.norm(found - wanted, axis=1)
    return float((lost / np.linalg.norm(wanted, axis=1)).mean())


@pytest.mark.parametrize(("variant", "most"), [("fp32", 1e-6), ("fp16", 0.002), ("int8", 0.02)])
def test_a_variant_is_close_and_silent_and_of_no_place(
    variant: str,
    most: float,
    tiny_graph: Path,
    tiny_feeds: list[Feeds],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    target = tmp_path / VARIANTS[variant]
    convert(variant, tiny_graph, target, tiny_feeds[::2])
    assert error(target, tiny_graph, tiny_feeds[1::2]) <= most
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []
    content = target.read_bytes()
    places = {str(tmp_path), tempfile.gettempdir(), sys.prefix, str(Path.home()), str(Path.cwd())}
    assert [place for place in places if place.encode() in content] == []


def test_int8_stores_no_weight_in_more_than_8_bits(
    tiny_graph: Path, tiny_feeds: list[Feeds], tmp_path: Path
) -> None:
    import onnx

    convert("int8", tiny_graph, tmp_path / "int8.onnx", tiny_feeds)
    model = onnx.load(str(tmp_path / "int8.onnx"))
    # 32 channels or more on both sides; positions (64 of them) stay as they are
    big = {
        each.name: each.data_type
        for each in model.graph.initializer
        if len(each.dims) == 2 and min(each.dims) >= 32 and "position" not in each.name
    }
    assert len(big) == 9  # words, and of each layer attention, its output, two feed-forwards
    assert set(big.values()) == {onnx.TensorProto.INT8}


def test_every_form_of_int8_is_small_and_close(
    tiny_graph: Path, tiny_feeds: list[Feeds], tmp_path: Path
) -> None:
    errors = {}
    for form in FORMS["int8"]:
        target = tmp_path / f"{form}.onnx"
        convert("int8", tiny_graph, target, tiny_feeds[::2], form)
        errors[form] = error(target, tiny_graph, tiny_feeds[1::2])
        assert target.stat().st_size < 0.8 * tiny_graph.stat().st_size
    assert errors[SMOOTHED] < errors[UNSMOOTHED]
    assert max(errors.values()) < 0.02
    assert {"DequantizeLinear"} == quantised_by(tmp_path / f"{WEIGHTS_ONLY}.onnx")
    assert "QAttention" in quantised_by(tmp_path / f"{UNSMOOTHED}.onnx")


def quantised_by(path: Path) -> set[str]:
    """Return the operators of a graph that compute with 8 bits, or widen them."""
    import onnx

    operators = {node.op_type for node in onnx.load(str(path)).graph.node}
    return operators & {"DequantizeLinear", "QAttention", "MatMulInteger", "DynamicQuantizeLinear"}


def test_the_same_graph_gives_the_same_int8(
    tiny_graph: Path, tiny_feeds: list[Feeds], tmp_path: Path
) -> None:
    for name in ("a", "b"):
        convert("int8", tiny_graph, tmp_path / name, tiny_feeds)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
