"""Calibration: what really goes into a graph, and how large its tensors become on it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.onnx.session import Runs

if TYPE_CHECKING:
    from onnx import ModelProto

# The inputs of one run by name, int64: for an encoder each (batch, tokens).
Feeds = Mapping[str, NDArray[Any]]


RUNS = 200  # that are enough to calibrate on


def thinned(feeds: Sequence[Feeds]) -> Sequence[Feeds]:
    """Return every n-th of the feeds, some `RUNS` of them."""
    return feeds[:: max(1, len(feeds) // RUNS)]


class Recording:
    """Runs a model and keeps what it was fed, so that calibration sees just what the runtime feeds.

    Args:
        runs: does the work.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self.feeds: list[Feeds] = []

    @property
    def provider(self) -> str:
        """What it runs on."""
        return self._runs.provider

    @property
    def on_gpu(self) -> bool:
        """True if and only if it runs on CUDA."""
        return self._runs.on_gpu

    @property
    def workers(self) -> int:
        """One: the feeds are kept in their order."""
        return 1

    def run(self, output: str, feeds: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Run the model, and keep the feeds."""
        self.feeds.append(feeds)
        return self._runs.run(output, feeds)


def channel_maxima(
    model: "ModelProto", names: Sequence[str], calibration: Sequence[Feeds]
) -> dict[str, NDArray[np.float32]]:
    """Return the largest absolute value of each channel of some tensors, over all feeds.

    Args:
        model: fp32; not changed.
        names: of float32 tensors inside it, each (…, channels).
        calibration: one or more feeds.

    Returns:
        By name, (channels,) float32.
    """
    import onnx
    import onnxruntime

    watched = onnx.ModelProto()
    watched.CopyFrom(model)
    watched.graph.output.extend(
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names
    )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only
    session = onnxruntime.InferenceSession(
        watched.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    inputs = {each.name for each in session.get_inputs()}
    found: dict[str, NDArray[np.float32]] = {}
    for feeds in calibration:
        fed = {name: values for name, values in feeds.items() if name in inputs}
        for name, values in zip(names, session.run(list(names), fed), strict=True):
            largest = np.abs(values).reshape(-1, values.shape[-1]).max(0)
            found[name] = np.maximum(found[name], largest) if name in found else largest
    return found
