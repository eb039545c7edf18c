"""Measure how large the tensors of a graph become on its real inputs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnx import ModelProto

# The inputs of one run by name, int64, which are (batch, tokens) for an encoder.
Feeds = Mapping[str, NDArray[Any]]

RUNS = 100  # number of runs that is enough for calibration


def thin(feeds: Sequence[Feeds]) -> Sequence[Feeds]:
    """Return every n-th of the feeds, about `RUNS` of them."""
    return feeds[:: max(1, len(feeds) // RUNS)]


def channel_maxima(
    model: "ModelProto", names: Sequence[str], calibration: Sequence[Feeds]
) -> dict[str, NDArray[np.float32]]:
    """Return the largest absolute value of each channel of some tensors, over all feeds.

    Args:
        model: an fp32 model, which is not changed.
        names: float32 tensors of the model, each (…, channels).
        calibration: one or more feeds.

    Returns:
        The maxima by name, (channels,) float32.
    """
    session = session_with_outputs(model, names)
    inputs = {each.name for each in session.get_inputs()}
    maxima: dict[str, NDArray[np.float32]] = {}
    for feeds in calibration:
        own_feeds = {name: values for name, values in feeds.items() if name in inputs}
        for name, values in zip(names, session.run(list(names), own_feeds), strict=True):
            largest = np.abs(values).reshape(-1, values.shape[-1]).max(0)
            maxima[name] = np.maximum(maxima[name], largest) if name in maxima else largest
    return maxima


def session_with_outputs(model: "ModelProto", names: Sequence[str]) -> Any:
    """Return an onnxruntime session of a copy of the model that also outputs inner tensors."""
    import onnxruntime
    from onnx import ModelProto, ValueInfoProto

    watched = ModelProto.FromString(model.SerializeToString())
    watched.graph.output.extend(ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only, because it warns of a head's constants
    content, providers = watched.SerializeToString(), ["CPUExecutionProvider"]
    return onnxruntime.InferenceSession(content, options, providers=providers)
