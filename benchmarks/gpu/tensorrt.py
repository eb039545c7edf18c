"""TensorRT's provider against CUDA's in onnxruntime, where the build has it."""

from collections.abc import Iterator
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.gpu.io_binding import Graph, Run, feeds_of, model_of, plain_session
from benchmarks.gpu.setting import Result, Setting, attempts
from benchmarks.gpu.throughput import CALLS, encoder_bundle, reranker_bundle
from benchmarks.harness.timing import take_turns
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.onnx.session import PROVIDERS, onnxruntime

PROVIDER = "TensorrtExecutionProvider"
OURS, THEIRS = "CUDA, ms", "TensorRT, ms"
HEAD = ("graph", OURS, THEIRS, "CUDA ÷ TensorRT", "largest difference", "engine, s")
ABOUT = """
- One call on token ids in fp16, from arrays in the processor's memory to scores there. *Engine*: \
seconds that TensorRT takes before its first answer of a shape. Engines are made for each card \
anew, so they pay only for a process that serves for hours.
"""


def rows(setting: Setting) -> Iterator[Result]:
    """Yield a row per graph and shape; one row where this onnxruntime has no TensorRT."""
    if setting.device == "cuda" and PROVIDER not in onnxruntime().get_available_providers():
        yield Result((f"this onnxruntime has no {PROVIDER}",))
        return
    pairs, pair = BundleFiles(reranker_bundle(setting)), setting.longest_pair
    batch, tokens = setting.batches[-1], setting.lengths[-1]
    items: list[tuple[str, Graph]] = [
        (f"pairs, {each} × {pair} tokens", (pairs, "cross", each, pair))
        for each in setting.pair_batches[-1:]
    ]
    items.append((f"{batch} × {tokens} tokens", (encoder_bundle(setting), "dense", batch, tokens)))
    yield from attempts(setting, items, partial(_compared, setting))


def _compared(setting: Setting, label: str, graph: Graph) -> Iterator[Result]:
    bundle, ranker, batch, tokens = graph
    model, _ = model_of(bundle, ranker)
    theirs: list[Any] = []
    if setting.device == "cuda":
        options = {"trt_fp16_enable": True, "trt_engine_cache_enable": True,
                   "trt_engine_cache_path": str(setting.work)}  # fmt: skip
        theirs = [(PROVIDER, options), PROVIDERS["cuda"]]
    ours, other = (plain_session(model, each) for each in ([PROVIDERS[setting.device]], theirs))
    feeds, output = feeds_of(ours, batch, tokens), [ours.get_outputs()[0].name]
    runs: dict[str, Run] = {
        OURS: lambda given: ours.run(output, given)[0],
        THEIRS: lambda given: other.run(output, given)[0],
    }
    begin = perf_counter()
    second = runs[THEIRS](feeds)
    engine = perf_counter() - begin
    difference = float(np.abs(runs[OURS](feeds) - second).max())
    took = take_turns(runs, [feeds] * CALLS, setting.rounds, CALLS)
    first, last = (float(np.median(took[name])) for name in (OURS, THEIRS))
    yield Result((label, f"{first:.3f}", f"{last:.3f}", f"{first / last:.2f}", f"{difference:.2g}",
                  f"{engine:.0f}"))  # fmt: skip
