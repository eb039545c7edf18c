from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.export.onnx.calibration import channel_maxima
from ranklet.export.onnx.int8_weights import store_weights_by_channel
from ranklet.export.onnx.smoothing import channel_scales, scale_tokens, smooth_channels
from ranklet.runtime.onnx.session import Session
from ranklet.runtime.rankers.dense import OUTPUT

if TYPE_CHECKING:
    from onnx import ModelProto

Feeds = dict[str, NDArray[np.int64]]


def outputs(model: "ModelProto", feeds: list[Feeds]) -> NDArray[np.float32]:
    session = Session(model.SerializeToString(), "tiny", device="cpu")
    return np.concatenate([session.run(OUTPUT, each) for each in feeds])


def added(model: "ModelProto", before: "ModelProto") -> dict[str, int]:
    counts = [Counter(node.op_type for node in each.graph.node) for each in (model, before)]
    return dict(counts[0] - counts[1])


def copied(model: "ModelProto") -> "ModelProto":
    made = type(model)()
    made.CopyFrom(model)
    return made


def largest_relative_error(found: NDArray[Any], wanted: NDArray[Any]) -> float:
    return float((np.abs(found - wanted).max(1) / np.abs(wanted).max(1)).max())


def test_smoothed_channels_compute_the_same(
    tiny_model: "ModelProto", tiny_feeds: list[Feeds]
) -> None:
    before = copied(tiny_model)
    smooth_channels(tiny_model, tiny_feeds[::2])
    assert added(tiny_model, before) == {"Mul": 4}  # Attention and the first feed-forward, 2 layers
    error = largest_relative_error(outputs(tiny_model, tiny_feeds), outputs(before, tiny_feeds))
    assert error < 1e-4


def test_without_calibration_channels_stay(tiny_model: "ModelProto") -> None:
    before = tiny_model.SerializeToString()
    smooth_channels(tiny_model, [])
    assert tiny_model.SerializeToString() == before


def test_a_weight_that_two_nodes_share_is_left_alone(
    tiny_model: "ModelProto", tiny_feeds: list[Feeds]
) -> None:
    first, second = (n for n in tiny_model.graph.node if n.op_type == "Attention")
    second.input[1] = first.input[1]
    before = copied(tiny_model)
    smooth_channels(tiny_model, tiny_feeds)
    assert added(tiny_model, before) == {"Mul": 2}  # the feed-forwards only
    error = largest_relative_error(outputs(tiny_model, tiny_feeds), outputs(before, tiny_feeds))
    assert error < 1e-4


def test_scaled_tokens_compute_the_same(tiny_model: "ModelProto", tiny_feeds: list[Feeds]) -> None:
    before = copied(tiny_model)
    scale_tokens(tiny_model)
    assert added(tiny_model, before) == {"ReduceMax": 2, "Max": 2, "Div": 2, "Mul": 2}
    error = largest_relative_error(outputs(tiny_model, tiny_feeds), outputs(before, tiny_feeds))
    assert error < 1e-4
    scaled = [node.output[0] for node in tiny_model.graph.node if node.output[0].endswith("scaled")]
    for largest in channel_maxima(tiny_model, scaled, tiny_feeds).values():
        assert largest.max() <= 1 + 1e-6


def test_smoothed_channels_lose_less_in_8_bits(
    tiny_model: "ModelProto", tiny_feeds: list[Feeds]
) -> None:
    wanted, plain = outputs(tiny_model, tiny_feeds), copied(tiny_model)
    smooth_channels(tiny_model, tiny_feeds[::2])
    errors = []
    for model in (plain, tiny_model):
        store_weights_by_channel(model)
        errors.append(float(np.abs(outputs(model, tiny_feeds) - wanted).mean()))
    assert errors[1] < errors[0] / 2


def test_scales_are_those_of_equation_4() -> None:
    maxima = np.array([8, 2], np.float32)
    weight = np.array([[-2, 1], [0.5, 0.25]], np.float32)
    # √8/√2 = 2 and √2/√½ = 2: of one size already
    np.testing.assert_allclose(channel_scales(maxima, weight, 0.5), [1, 1], rtol=1e-6)
    # α = 1 looks at activations only: 8 and 2, their geometric mean 4
    np.testing.assert_allclose(channel_scales(maxima, weight, 1.0), [2, 0.5], rtol=1e-6)
