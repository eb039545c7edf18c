"""How long ModernBERT takes in 8 bits, one text at a time, on one core: ratios to PyTorch's fp32.

The shapes are those of Ettin's encoders and of ModernBERT-base; weights are random. All graphs and
PyTorch take turns with the same texts, in one process of one thread.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.export.onnx.graph import TorchSession, Transformer, example_inputs, export_graph
from ranklet.export.onnx.variants import SMOOTHED, UNSMOOTHED, convert
from ranklet.runtime.rankers.dense import OUTPUT, DenseSettings
from ranklet.training.rankers.dense.network import DenseNetwork

PACKAGES = ("onnxruntime", "torch", "transformers")
# Layers, hidden size, heads, size of the gated layer.
SHAPES = {"17M": (7, 256, 4, 384), "32M": (10, 384, 6, 576), "base": (22, 768, 12, 1152)}
LENGTHS = {16: 8, 256: 4}  # tokens of a text, and rounds
TEXTS, CALIBRATION = 5, 16
GOAL = 0.45
# By name: whether operators are fused, the variant and its form.
GRAPHS = {
    "fp32": (True, "fp32", ""),
    "int8, nothing fused": (False, "int8", SMOOTHED),
    "int8, fused": (True, "int8", UNSMOOTHED),
    "int8, fused and smoothed (what is written)": (True, "int8", SMOOTHED),
}

Feeds = Mapping[str, NDArray[np.int64]]


def run(place: Place) -> str:
    """Export each shape, then time all forms of it in turn."""
    place.work.mkdir(parents=True, exist_ok=True)
    rows = [row for shape in SHAPES for row in _rows(place, shape)]
    head = ["shape", "form", "MB", "file ÷ weights", *(f"{n} tokens ÷ PyTorch" for n in LENGTHS)]
    return f"""
Medians of {TEXTS} random texts per length; one thread. The goal for int8 is ≤ {GOAL}. PyTorch \
runs `sdpa`, its fastest attention. Weights in 8 bits count one byte each.

{table(head, rows)}
"""


def _rows(place: Place, shape: str) -> list[list[str]]:
    network, sizes = _network(shape)
    runs: dict[str, Callable[[Feeds], object]] = {}
    megabytes: dict[str, tuple[float, float]] = {}
    weights = sum(each.numel() for each in network.parameters())
    for name, (fused, variant, form) in GRAPHS.items():
        source, target = place.work / "modern.onnx", place.work / "modern.variant.onnx"
        transformer = sizes if fused else None
        export_graph(network, example_inputs(network.inputs), OUTPUT, source, transformer)
        convert(variant, source, target, _texts(64, CALIBRATION), form)
        size = target.stat().st_size
        megabytes[name] = size / 1e6, size / (weights * (4 if variant == "fp32" else 1))
        runs[name] = _session(target)
    network.encoder.config._attn_implementation = "sdpa"
    session = TorchSession(network)
    runs["PyTorch"] = lambda feeds: session.run(OUTPUT, dict(feeds))
    times = {length: _milliseconds(runs, length) for length in LENGTHS}
    return [
        [
            shape, name, f"{megabytes[name][0]:.1f}", f"{megabytes[name][1]:.3f}",
            *(f"{times[length][name] / times[length]['PyTorch']:.2f}" for length in LENGTHS),
        ]
        for name in GRAPHS
    ]  # fmt: skip


def _network(shape: str) -> tuple[Any, Transformer]:
    import torch
    import transformers

    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers, hidden, heads, gated = SHAPES[shape]
    config = transformers.ModernBertConfig(
        num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
        intermediate_size=gated,
    )  # fmt: skip
    config._attn_implementation = "eager"
    encoder = transformers.ModernBertModel(config)
    settings = DenseSettings(dimension=hidden, pooling="mean", similarity="cosine")
    return DenseNetwork(encoder, settings).eval(), Transformer(heads, hidden, layers)


def _texts(tokens: int, number: int) -> list[Feeds]:
    rng = np.random.default_rng(tokens)
    mask = np.ones((1, tokens), np.int64)
    return [
        {"input_ids": rng.integers(10, 50_000, (1, tokens)), "attention_mask": mask}
        for _ in range(number)
    ]


def _session(model: Path) -> Callable[[Feeds], object]:
    from ranklet.runtime.onnx.session import Session

    session = Session(model.read_bytes(), model.name, device="cpu", many=True)
    return lambda feeds: session.run(OUTPUT, dict(feeds))


def _milliseconds(runs: Mapping[str, Callable[[Feeds], object]], tokens: int) -> dict[str, float]:
    texts = _texts(tokens, TEXTS)
    for run_one in runs.values():
        run_one(texts[0])
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(LENGTHS[tokens]):
        for feeds in texts:
            for name, run_one in runs.items():
                begin = perf_counter()
                run_one(feeds)
                times[name].append((perf_counter() - begin) * 1e3)
    return {name: float(np.median(each)) for name, each in times.items()}
