"""Run models in OpenVINO on a processor; no other file of the runtime imports openvino."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.onnx.self_contained import check_openvino
from ranklet.runtime.onnx.session import Model, threads

PROVIDER = "OpenVINO"
TOKENS = "attention_mask"  # the input that masks padding
PADDED = ("input_ids", TOKENS, "token_type_ids", "static")  # (batch, tokens, …) each
STEP = 16  # texts are padded to a multiple of this many tokens


class OpenVINOSession(Model):
    """A model of OpenVINO on the processor, compiled when it is opened.

    OpenVINO prepares its kernels again whenever the shape of the inputs changes. With MiniLM-L6
    this takes 30 ms and 3 MB for a new shape, and 1.4 ms for one that it has seen. So a text is
    padded to a multiple of `STEP` tokens, and `run_each` runs inputs of the same shape one after
    another. The padding of a text depends on its own length only, and so does its result.

    Args:
        model: the content of the .xml file.
        weights: the content of the .bin file.
        name: the name of the .xml file, for messages.
        many: whether many inputs run at a time; see `Session`.

    Raises:
        BundleError: openvino is not installed, or it cannot load the model, or the model is not in
            OpenVINO's own format.
    """

    provider = PROVIDER
    on_gpu = False
    by_length = True

    def __init__(
        self,
        model: memoryview | bytes,
        weights: memoryview | bytes,
        name: str,
        *,
        many: bool = False,
    ) -> None:
        check_openvino(model, name)
        try:
            import openvino
        except ImportError as error:
            raise BundleError(
                f"{name} needs openvino, which is not installed; pip install openvino, or export "
                "the model with --variants int8"
            ) from error
        self.workers = threads() if many else 1
        options = {
            "INFERENCE_NUM_THREADS": threads(),
            "NUM_STREAMS": self.workers,
            "INFERENCE_PRECISION_HINT": "f32",  # no bf16, which some processors would choose
            # Two processes would be pinned to the same processor.
            "ENABLE_CPU_PINNING": False,
        }
        try:
            core = openvino.Core()
            tensor = openvino.Tensor(np.frombuffer(weights, np.uint8))
            network = core.read_model(bytes(model), tensor)
            self._model: Any = core.compile_model(network, "CPU", options)
        except Exception as error:  # it raises RuntimeError and TypeError
            raise BundleError(
                f"{name} cannot be loaded by OpenVINO: {_first_reason(error)}"
            ) from error
        self.inputs = tuple(each.any_name for each in self._model.inputs)
        # A compiled model has further names, of tensors that it computes only as an output.
        self.outputs = tuple(each.any_name for each in network.outputs)
        shapes = [each.partial_shape for each in self._model.outputs]
        # Outputs whose last axis is the tokens, which are cut to the length before the padding.
        self._by_token = {
            output for output, shape in zip(self.outputs, shapes, strict=True)
            if len(shape) > 1 and shape[-1].is_dynamic
        }  # fmt: skip
        self._free: list[Any] = []  # requests that are not running; each runs one input at a time
        self.name = name

    def run(self, output: str, feeds: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Run the model; see `Session.run`.

        Raises:
            BundleError: the model has no such output or cannot run on these inputs.
        """
        own_feeds = self.own_feeds(output, feeds)
        if missing := [name for name in self.inputs if name not in own_feeds]:
            raise BundleError(f"{self.name} cannot run: there is no {', '.join(missing)}")
        try:
            request = self._free.pop()
        except IndexError:
            request = self._model.create_infer_request()
        try:
            values = request.infer(_pad(own_feeds), share_inputs=True)[output]
        except Exception as error:
            raise BundleError(f"{self.name} cannot run: {_first_reason(error)}") from error
        if output in self._by_token and TOKENS in own_feeds:
            values = values[..., : own_feeds[TOKENS].shape[1]]
        result = np.array(values, np.float32)  # a copy, because the request may be used again
        self._free.append(request)
        return result


def _pad(feeds: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return feeds with tokens up to a multiple of `STEP`, which the mask excludes."""
    if TOKENS not in feeds:
        return feeds
    missing = -feeds[TOKENS].shape[1] % STEP
    return {
        name: _longer(values, missing) if name in PADDED else values
        for name, values in feeds.items()
    }


def _longer(values: NDArray[Any], missing: int) -> NDArray[Any]:
    return np.pad(values, [(0, missing if axis == 1 else 0) for axis in range(values.ndim)])


def _first_reason(error: Exception) -> str:
    """Return OpenVINO's message without the places in its source code, as one line."""
    lines = [line.strip() for line in str(error).splitlines()]
    reasons = [
        line for line in lines
        if line and not line.startswith(("Exception from ", "Check '"))
    ]  # fmt: skip
    return " ".join(reasons) or str(error)
