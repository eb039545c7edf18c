"""Record the real inputs of a graph and measure how large its tensors become on them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.onnx.session import Runs

if TYPE_CHECKING:
    from onnx import ModelProto

# The inputs of one run by name, int64, which are (batch, tokens) for an encoder.
Feeds = Mapping[str, NDArray[Any]]


RUNS = 200  # number of runs that is enough for calibration


def thinned(feeds: Sequence[Feeds]) -> Sequence[Feeds]:
    """Return every n-th of the feeds, about `RUNS` of them."""
    return feeds[:: max(1, len(feeds) // RUNS)]


class Recording:
    """Runs a model and records its inputs, so that calibration sees exactly what serving feeds.

    Args:
        runs: runs the model.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self.feeds: list[Feeds] = []

    @property
    def provider(self) -> str:
        """The provider that the model runs on."""
        return self._runs.provider

    @property
    def on_gpu(self) -> bool:
        """Whether the model runs on CUDA."""
        return self._runs.on_gpu

    @property
    def workers(self) -> int:
        """Always 1, which keeps the feeds in their order."""
        return 1

    def run(self, output: str, feeds: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Run the model and record the feeds."""
        self.feeds.append(feeds)
        return self._runs.run(output, feeds)


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
    maxima: dict[str, NDArray[np.float32]] = {}
    for feeds in calibration:
        own_feeds = {name: values for name, values in feeds.items() if name in inputs}
        for name, values in zip(names, session.run(list(names), own_feeds), strict=True):
            largest = np.abs(values).reshape(-1, values.shape[-1]).max(0)
            maxima[name] = np.maximum(maxima[name], largest) if name in maxima else largest
    return maxima
