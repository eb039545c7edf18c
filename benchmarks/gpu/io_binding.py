"""I/O binding: the runtime's session against onnxruntime with buffers on the GPU made before."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.gpu.setting import Result, Setting, attempts
from benchmarks.gpu.throughput import CALLS, encoder_bundle, reranker_bundle
from benchmarks.harness.timing import take_turns
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.runtime.onnx.session import PROVIDERS, Session, onnxruntime

Feeds = dict[str, NDArray[np.int64]]
Run = Callable[[Feeds], NDArray[np.float32]]
Graph = tuple[BundleFiles, str, int, int]  # of which ranker, and a shape

TOKEN = 9  # any id that is not padding
OURS, BOUND = "session, ms", "bound, ms"
HEAD = ("texts", OURS, BOUND, "session ÷ bound", "largest difference")
ABOUT = """
- One call of the encoder, or of a cross-encoder, in fp16 on token ids, without the tokenizer, \
from arrays in the processor's memory to vectors or scores there. *Bound* copies the ids into \
buffers on the GPU that are made once per shape, and the results back.
"""


def rows(setting: Setting) -> Iterator[Result]:
    """Yield a row per graph, length and batch size, pairs first."""
    pairs = BundleFiles(reranker_bundle(setting))
    shapes = [
        (f"pairs, {batch} × {tokens} tokens", (pairs, "cross", batch, tokens))
        for tokens in setting.pair_tokens
        for batch in setting.pair_batches
    ]
    encoder = encoder_bundle(setting)
    shapes += [
        (f"{batch} × {tokens} tokens", (encoder, "dense", batch, tokens))
        for tokens in setting.lengths
        for batch in setting.batches
    ]
    yield from attempts(setting, shapes, partial(_measured, setting))


def _measured(setting: Setting, label: str, graph: Graph) -> Iterator[Result]:
    bundle, ranker, batch, tokens = graph
    model, file = model_of(bundle, ranker)
    ours = Session(model, file, device=setting.device, strict=True)
    theirs = plain_session(model, [PROVIDERS[setting.device]])
    feeds = feeds_of(theirs, batch, tokens)
    bound = bound_run(theirs, feeds, setting.device)
    yield compared(label, {OURS: partial(ours.run, ours.outputs[0]), BOUND: bound}, feeds, setting)


def model_of(bundle: BundleFiles, ranker: str) -> tuple[bytes, str]:
    """Return the graph of a ranker in 16 bits, and the name of its file."""
    file = f"rankers/{ranker}/{VARIANTS['fp16']}"
    return bytes(bundle.file(file)), file


def feeds_of(session: Any, batch: int, tokens: int) -> Feeds:
    """Return inputs of a session without padding, (batch, tokens) int64 each.

    Pairs have one row each.
    """
    ids = np.full((batch, tokens), TOKEN, np.int64)
    every = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    every |= {"token_type_ids": np.zeros_like(ids), "pairs": np.eye(batch, dtype=np.int64)}
    return {each.name: every[each.name] for each in session.get_inputs()}


def compared(label: str, runs: dict[str, Run], feeds: Feeds, setting: Setting) -> Result:
    """Return the row of two ways to run a model on the same inputs."""
    difference = float(np.abs(runs[OURS](feeds) - runs[BOUND](feeds)).max())
    took = take_turns(runs, [feeds] * CALLS, setting.rounds, CALLS)
    ours, bound = (float(np.median(took[name])) for name in (OURS, BOUND))
    return Result(
        (label, f"{ours:.3f}", f"{bound:.3f}", f"{ours / bound:.2f}", f"{difference:.2g}")
    )


def plain_session(model: bytes, providers: Sequence[Any]) -> Any:
    """Return a session of onnxruntime for some providers, without the runtime's."""
    ort = onnxruntime()
    options = ort.SessionOptions()
    options.log_severity_level = 3
    every = [*providers, *([] if PROVIDERS["cpu"] in providers else [PROVIDERS["cpu"]])]
    return ort.InferenceSession(model, options, providers=every)


def bound_run(session: Any, feeds: Feeds, device: str) -> Run:
    """Return a function that runs a session on inputs of these shapes, by buffers on the device.

    Args:
        session: of onnxruntime; its first output is returned, float32.
        feeds: inputs of the shapes.
        device: where the buffers are.
    """
    from onnxruntime import OrtValue

    name = session.get_outputs()[0].name
    shape = session.run([name], feeds)[0].shape
    inputs = {
        each: OrtValue.ortvalue_from_numpy(values, device, 0) for each, values in feeds.items()
    }
    output = OrtValue.ortvalue_from_shape_and_type(list(shape), np.float32, device, 0)
    binding = session.io_binding()
    for each, buffer in inputs.items():
        binding.bind_ortvalue_input(each, buffer)
    binding.bind_ortvalue_output(name, output)

    def run(given: Feeds) -> NDArray[np.float32]:
        for each, buffer in inputs.items():
            buffer.update_inplace(given[each])
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()
        values: NDArray[np.float32] = output.numpy()
        return values

    return run
