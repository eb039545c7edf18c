"""What others wait for after two callers have hung up on the most expensive request of each route.

One server process with two threads. Its model takes some 50 ms for a text, as a cross-encoder of
six layers does. Two connections send one request each and close; another caller asks ordinary
queries, one after another, from then on.
"""

import asyncio
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.harness.place import Place
from benchmarks.harness.report import goal, table
from benchmarks.speed.hostile_requests import CODE, MOST_P99, _answered, _build, _queries
from benchmarks.speed.http_load import server
from ranklet.corpus.building.writer import BundleWriter
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.pipeline import Pipeline

PACKAGES = ("httptools", "onnx", "onnxruntime", "starlette", "uvicorn")
DOCUMENTS = 100_000
ABANDONED, ASKED = 2, 60
PATIENCE = 0.3  # seconds until they hang up
EACH = 0.05  # seconds of the model per text
SIDE, LEAST = 256, 4  # of the matrices that it multiplies, and how often
SETTINGS = {
    "max_query_tokens": 512, "max_document_tokens": 512, "dimension": 4, "encoder": "network",
    "similarity": "dot",
}  # fmt: skip


def run(place: Place) -> str:
    """Hang up on each kind of request."""
    plain = place.keep("hostile.ranklet", partial(_build, count=DOCUMENTS), CODE)
    with TemporaryDirectory(dir=place.work) as scratch:
        return measure(_with_model(plain, Path(scratch) / "slow.ranklet"), ASKED)


def measure(bundle: Path, asked: int) -> str:
    """Return the section's body for a bundle and a number of ordinary queries per request."""
    rows, worst = [], 0.0
    with server(bundle, {"RANKLET_POOL": "2"}) as (_, port):
        for name, (path, body) in {"none": ("", None), **abandoned()}.items():
            times = asyncio.run(_after(port, path, body, asked))
            p50, p99, longest = np.percentile(times, [50, 99, 100]) * 1e3
            worst = max(worst, float(p99) / 1e3)
            rows.append([name, path, f"{p50:,.1f}", f"{p99:,.0f}", f"{longest:,.0f}"])
    head = ["two callers have hung up on", "route", "others' p50, ms", "p99", "longest"]
    return f"""
{DOCUMENTS:,} texts, two threads, a model of {EACH * 1e3:.0f} ms per text. {asked} ordinary \
queries by BM25 after each pair of callers, who hang up after {PATIENCE * 1e3:.0f} ms.

{table(head, rows)}

{goal("the largest p99 of others", worst, MOST_P99, "s")}
"""


def abandoned() -> dict[str, tuple[str, Any]]:
    """Return by name the route and the body of the requests that cost most."""
    many = [f"dough {number}" for number in range(1000)]
    long = [" ".join(f"w{number}" for number in range(250)) for _ in range(1000)]
    arabic, signs, han = "\ufdfa" * 110_000, "C+" * 1_000_000, "漢字学校" * 500_000
    words = {"query": "alpha w1", "pipeline": "bm25"}
    own = {"query": "alpha"}
    phrases = " ".join(f'"{pair}"' for pair in ("alpha beta", "beta gamma", "gamma delta") * 6)
    search = {"name": "search", "arguments": {"query": phrases, "syntax": True}}
    listed = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": search}
        for number in range(20)
    ]
    return {
        "1,000 short texts for the model": ("/rank", {**own, "documents": many}),
        "1,000 texts of 250 words, explained": (
            "/rank", {**own, "documents": long, "k": 100, "explain": True, "highlight": True},
        ),
        "words of 1,000 texts": ("/rank", {**words, "documents": long, "k": 1000}),
        "a text of letters that stand for eighteen": ("/rank", {**words, "documents": [arabic]}),
        "a text of signs": ("/rank", {**words, "documents": [signs], "explain": True}),
        "a text without spaces": ("/rank", {**words, "documents": [han], "explain": True}),
        "a long text for the model": ("/rank", {**own, "documents": [signs]}),
        "1,000 texts": ("/rerank", {**own, "documents": many}),
        "1,000 documents": ("/v1/rerank", {**own, "documents": many}),
        "1,000 inputs": ("/v1/embeddings", {"input": many}),
        "32 inputs": ("/v1/embeddings", {"input": many[:32], "model": "model"}),
        "20 searches in a list": ("/mcp", listed),
    }  # fmt: skip


async def _after(port: int, path: str, body: Any, asked: int) -> list[float]:
    """Return the seconds of each ordinary query after two callers have hung up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    queries = _queries(np.random.default_rng(3))
    await _answered(reader, writer, _request("/rank", {"query": "w1", "pipeline": "bm25"}))
    callers = [await asyncio.open_connection("127.0.0.1", port) for _ in range(ABANDONED)]
    for _, caller in callers if path else ():
        caller.write(_request(path, body))
        await caller.drain()
    await asyncio.sleep(PATIENCE)
    for _, caller in callers:
        caller.close()
    times = []
    for _ in range(asked):
        begin = perf_counter()
        body = {"query": next(queries), "pipeline": "bm25"}
        status = await _answered(reader, writer, _request("/rank", body))
        times.append(perf_counter() - begin)
        if status != 200:
            raise ValueError(f"an ordinary query was answered with {status} after {path}")
    writer.close()
    await writer.wait_closed()
    return times


def _request(path: str, body: Any) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data


def _with_model(source: Path, target: Path) -> Path:
    """Write a bundle with a further ranker, a slow model, by which it ranks if nothing is said."""
    files = BundleFiles(source)
    stages = [{"stage": "retrieve", "ranker": "model", "k": 10}]
    manifest = files.manifest
    with BundleWriter(target) as writer:
        writer.copy(files)
        vectors = np.random.default_rng(5).random((manifest.documents, 4), np.float32)
        writer.array("rankers/model/vectors.npy", vectors)
        writer.data("rankers/model/tokenizer.json", _tokenizer())
        writer.data("rankers/model/model_int8.onnx", _model())
        rankers = {**manifest.rankers, "model": RankerEntry("dense", SETTINGS)}
        pipelines = {
            **manifest.pipelines,
            "bm25": Pipeline.from_json([{"stage": "retrieve", "ranker": "bm25", "k": 100}]),
            "model": Pipeline.from_json(stages),
        }
        changed: dict[str, Any] = {
            "rankers": rankers,
            "pipelines": pipelines,
            "default_pipeline": "model",
        }
        return writer.finish(replace(manifest, **changed))


def _tokenizer() -> bytes:
    """Return a tokenizer whose words stand between spaces and signs."""
    words = {"[UNK]": 0, **{f"w{number}": number + 1 for number in range(1000)}}
    return json.dumps(
        {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
            "normalizer": {"type": "NFKC"}, "pre_tokenizer": {"type": "Whitespace"},
            "post_processor": None, "decoder": None,
            "model": {"type": "WordLevel", "vocab": words, "unk_token": "[UNK]"},
        }
    ).encode()  # fmt: skip


def _model() -> bytes:
    """Return a model that multiplies matrices as often as takes its time on this machine."""
    times = LEAST
    while (took := _seconds(model := _multiplying(times))) < EACH:
        times = max(times + 1, round(times * min(4.0, EACH / max(took, 1e-4))))
    return model


def _seconds(model: bytes) -> float:
    """Return what one run takes, in seconds."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options)
    feeds = {"input_ids": np.ones((1, 2), np.int64)}
    session.run(None, feeds)
    begin = perf_counter()
    session.run(None, feeds)
    return perf_counter() - begin


def _multiplying(times: int) -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    def node(kind: str, inputs: list[str], output: str, **more: Any) -> Any:
        return helper.make_node(kind, inputs, [output], **more)

    nodes = [
        node("Cast", ["input_ids"], "f", to=TensorProto.FLOAT),
        node("ReduceMean", ["f"], "m", keepdims=1, axes=[0, 1]),
        node("Mul", ["m", "zero"], "z"),
        node("Add", ["W", "z"], "x0"),
        *(node("MatMul", [f"x{at}", "W"], f"x{at + 1}") for at in range(times)),
        node("Slice", [f"x{times}", "from", "to", "axes"], "sentence_embedding"),
    ]
    constants = {
        "W": np.eye(SIDE, dtype=np.float32), "zero": np.zeros((1, 1), np.float32),
        "from": np.array([0, 0]), "to": np.array([1, 4]), "axes": np.array([0, 1]),
    }  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "slow",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])],
        [helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, [1, 4])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opset = helper.make_opsetid("", 13)
    made = helper.make_model(graph, opset_imports=[opset], ir_version=8)
    return bytes(made.SerializeToString())
