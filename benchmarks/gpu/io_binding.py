"""I/O binding: the runtime's session against onnxruntime with buffers on the GPU made before."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.gpu.setting import Result, Setting, attempts
from benchmarks.gpu.throughput import CALLS, encoder_bundle
from benchmarks.harness.timing import take_turns
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.runtime.onnx.session import PROVIDERS, Session
from ranklet.runtime.rankers.dense import OUTPUT, DenseSettings

Feeds = dict[str, NDArray[np.int64]]
Run = Callable[[Feeds], NDArray[np.float32]]

TOKEN = 9  # any id that is not padding
OURS, BOUND = "session, ms", "bound, ms"
HEAD = ("texts", OURS, BOUND, "session ÷ bound", "largest difference")
ABOUT = """
- One call of the encoder in fp16 on token ids, without the tokenizer, from arrays in the \
processor's memory to vectors there. *Bound* copies the ids into buffers on the GPU that are made \
once per shape, and the vectors back.
"""


def rows(setting: Setting) -> Iterator[Result]:
    """Yield a row per length and batch size."""
    bundle = encoder_bundle(setting)
    settings: DenseSettings = bundle.settings("dense")
    file = f"rankers/dense/{VARIANTS['fp16']}"
    model = bytes(bundle.file(file))
    ours = Session(model, file, device=setting.device, strict=True)
    theirs = plain_session(model, setting.device)
    shapes = [
        (f"{batch} × {tokens} tokens", (batch, tokens))
        for tokens in setting.lengths
        for batch in setting.batches
    ]

    def measure(label: str, shape: tuple[int, int]) -> Iterator[Result]:
        ids = np.full(shape, TOKEN, np.int64)
        feeds = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        feeds = {name: feeds[name] for name in ours.inputs}
        bound = bound_run(theirs, feeds, settings.dimension, setting.device)
        yield compared(label, {OURS: partial(ours.run, OUTPUT), BOUND: bound}, feeds, setting)

    yield from attempts(setting, shapes, measure)


def compared(label: str, runs: dict[str, Run], feeds: Feeds, setting: Setting) -> Result:
    """Return the row of two ways to run a model on the same inputs."""
    difference = float(np.abs(runs[OURS](feeds) - runs[BOUND](feeds)).max())
    took = take_turns(runs, [feeds] * CALLS, setting.rounds, CALLS)
    ours, bound = (float(np.median(took[name])) for name in (OURS, BOUND))
    return Result(
        (label, f"{ours:.3f}", f"{bound:.3f}", f"{ours / bound:.2f}", f"{difference:.2g}")
    )


def plain_session(model: bytes, device: str) -> Any:
    """Return a session of onnxruntime for a device, without the runtime's."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    providers = list(dict.fromkeys((PROVIDERS[device], PROVIDERS["cpu"])))
    return onnxruntime.InferenceSession(model, options, providers=providers)


def bound_run(session: Any, feeds: Feeds, dimension: int, device: str) -> Run:
    """Return a function that runs a session on inputs of these shapes, by buffers on the device.

    Args:
        session: of onnxruntime.
        feeds: inputs of the shapes, each (batch, tokens).
        dimension: of the output, (batch, dimension) float32.
        device: where the buffers are.
    """
    from onnxruntime import OrtValue

    batch = len(next(iter(feeds.values())))
    inputs = {
        name: OrtValue.ortvalue_from_numpy(values, device, 0) for name, values in feeds.items()
    }
    shape = [batch, dimension]
    output = OrtValue.ortvalue_from_shape_and_type(shape, np.float32, device, 0)
    binding = session.io_binding()
    for name, buffer in inputs.items():
        binding.bind_ortvalue_input(name, buffer)
    binding.bind_ortvalue_output(OUTPUT, output)

    def run(given: Feeds) -> NDArray[np.float32]:
        for name, buffer in inputs.items():
            buffer.update_inplace(given[name])
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()
        values: NDArray[np.float32] = output.numpy()
        return values

    return run
