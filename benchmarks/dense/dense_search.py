"""Ways to search vectors of documents: exact, by binary codes and hnswlib.

The vectors are google-wiki's by MiniLM-L6, of the first tokens of each document, and the queries
those of its dev split. A larger collection adds copies of them with noise.
"""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.place import Place
from benchmarks.harness.processes import fresh
from benchmarks.harness.report import table
from ranklet.corpus.collections.probes import unjudged_probes
from ranklet.corpus.collections.splits import read_split
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.dense.binary import binary_codes
from ranklet.runtime.dense.hnsw import build as build_hnsw
from ranklet.runtime.dense.stored import StoredVectors
from ranklet.runtime.rankers.dense import DenseEncoder
from ranklet.training.imported.importing import read_model
from ranklet.training.pretrained.backbone import wheel_folder

PACKAGES = ("hnswlib", "onnxruntime")
COLLECTION, SPLIT = "google-wiki", "dev"
SIZES = (100_000, 1_000_000)
ENCODED = SIZES[0]  # documents; what a larger collection has besides are copies
AT_ONCE = 2  # graphs that are built at the same time, on one thread each
QUERIES, ROUNDS, TOP = 300, 3, 10
WARMING = 20  # queries of a first turn, which fills the page cache and is not counted
TOKENS = 16  # of a document that are encoded, so that all are encoded in minutes
NOISE = 0.5  # length of what is added to a copy, whose own length is 1
BLOCK = 1024  # texts that are encoded at a time
CODE = (
    "export/onnx",
    "runtime/onnx",
    "runtime/dense/stored.py",
    "runtime/rankers/dense.py",
    "benchmarks/dense/dense_search.py",
)
EXACT = "exact, float32"

STORED = """
from ranklet.runtime.dense.stored import StoredVectors
stored = StoredVectors(
    np.load(vectors, mmap_mode="r"), np.load(scales, mmap_mode="r") if scales else None
)
"""
OPEN_EXACT = f"""{STORED}
from ranklet.runtime.dense.stored import ExactIndex
index = ExactIndex(stored)
search = lambda query: index.search(query, top)[0].tolist()
"""
OPEN_BINARY = f"""{STORED}
from ranklet.runtime.dense import binary
binary.RESCORED = rescored
codes = np.load(path, mmap_mode="r")
index = binary.BinaryIndex(codes, stored)
search = lambda query: index.search(query, top)[0].tolist()
"""
OPEN_HNSW = f"""{STORED}
import mmap
from ranklet.runtime.dense.hnsw import HNSWIndex
with open(path, "rb") as file:
    data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
index = HNSWIndex(data, stored, ef=ef)
search = lambda query: index.search(query, top)[0].tolist()
"""
MEASURE = """
lap("open")
items = np.load(queries)[:most]
found = [search(items[0])]
lap("first")
found += [search(item) for item in items[1:]]
took = []
for item in items:
    begin = time.perf_counter()
    search(item)
    took.append((time.perf_counter() - begin) * 1e3)
answer["found"], answer["ms"] = found, took
"""


class Way(NamedTuple):
    """A way to search.

    Attributes:
        snippet: opens it and defines `search`.
        built: returns its index's path, None if it has none but the vectors.
        values: what the snippet needs besides.
        form: of the vectors that it reads, one of `FORMS`; empty for its own copy.
    """

    snippet: str
    built: Callable[[Place, int], Path] | None = None
    values: Mapping[str, Any] = MappingProxyType({})
    form: str = "float32"


def run(place: Place) -> str:
    """Build, search in fresh processes in turns, and compare with exact search."""
    parts = [_part(place, size) for size in SIZES]
    return f"""
{QUERIES} {SPLIT} queries of {COLLECTION}, top {TOP}, one at a time on one thread; medians of \
{ROUNDS} fresh processes of each way, in turns, whose files are in the page cache. *Open and first \
answer* is the time from importing numpy to the first result. *Memory* is the peak of a process, \
mapped files included. *Index* is what is stored besides the vectors. \
Vectors in int8 have a factor each, and codes of what is stored. All vectors: MiniLM-L6 (int8) of \
the first {TOKENS} tokens, 384 numbers. What more than the collection has are copies with noise of \
length {NOISE:g}. Graphs are built on one thread each, {AT_ONCE} at a time.

{chr(10).join(parts)}"""


def _part(place: Place, size: int) -> str:
    ways = _ways()
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in ways}
    vectors(place, size)  # encoded now, so that no way to build an index is timed with it
    with ThreadPoolExecutor(AT_ONCE) as pool:
        builds = {way.built for way in ways.values() if way.built}
        tasks = {build: pool.submit(build, place, size) for build in builds}
    indexes = {name: tasks[way.built].result() for name, way in ways.items() if way.built}
    for turn in range(-1, ROUNDS):
        for name, way in ways.items():
            own = vectors(place, size, way.form or "float32")
            given = {
                "vectors": str(own),
                "scales": str(scales_of(own)) if way.form == "int8" else "",
                "queries": str(queries(place)),
                "most": WARMING if turn < 0 else QUERIES,
                "top": TOP,
                **({"path": str(indexes[name])} if name in indexes else {}),
                **way.values,
            }
            answer = fresh(f"import numpy as np\n{way.snippet}{MEASURE}", given)
            if turn >= 0:
                found[name].append(answer)
    wanted = found[EXACT][0]["found"]
    rows = []
    for name, answers in found.items():
        ms = np.median(np.array([each["ms"] for each in answers]), axis=0)
        first = np.median([each["laps"]["open"] + each["laps"]["first"] for each in answers])
        index = indexes.get(name)
        rows.append(
            [
                name,
                f"{recalls(answers[0]['found'], wanted):.4f}",
                f"{np.median(ms):.2f}",
                f"{np.percentile(ms, 99):.2f}",
                f"{first:.0f}",
                f"{np.median([each['VmHWM'] for each in answers]) / 1e6:.0f}",
                f"{index.stat().st_size / 1e6:.0f}" if index else "0",
                f"{_seconds(index):.0f}" if index else "0",
            ]
        )
    head = [
        "way", f"recall@{TOP}", "p50 ms", "p99 ms", "open and first answer, ms", "memory, MB",
        "index, MB", "built in, s",
    ]  # fmt: skip
    return f"### {size:,} vectors\n\n{table(head, rows)}\n"


def _ways() -> dict[str, Way]:
    return {
        EXACT: Way(OPEN_EXACT),
        "exact, float16": Way(OPEN_EXACT, form="float16"),
        "exact, int8": Way(OPEN_EXACT, form="int8"),
        **{
            f"binary codes, {most:,} rescored": Way(OPEN_BINARY, _codes, {"rescored": most})
            for most in (300, 1_000, 3_000)
        },
        "binary codes, 1,000 rescored in float16": Way(
            OPEN_BINARY, _codes, {"rescored": 1_000}, "float16"
        ),
        "binary codes, 1,000 rescored in int8": Way(
            OPEN_BINARY, _codes_of_int8, {"rescored": 1_000}, "int8"
        ),
        **{f"hnswlib, ef {ef}": Way(OPEN_HNSW, _hnsw, {"ef": ef}) for ef in (64, 128, 256)},
    }


def _codes(place: Place, size: int, form: str = "float32") -> Path:
    def build(path: Path) -> None:
        with path.open("wb") as file:
            own = vectors(place, size, form)
            scales = np.load(scales_of(own)) if form == "int8" else None
            np.save(file, binary_codes(StoredVectors(np.load(own, mmap_mode="r"), scales)))

    infix = "" if form == "float32" else f".{form}"
    return _timed(place, f"dense.{size}{infix}.codes.npy", build)


def _codes_of_int8(place: Place, size: int) -> Path:
    """Return codes of the stored form, as a bundle has them."""
    return _codes(place, size, "int8")


def _hnsw(place: Place, size: int) -> Path:
    def build(path: Path) -> None:
        build_hnsw(np.load(vectors(place, size), mmap_mode="r"), path)

    return _timed(place, f"dense.{size}.hnsw", build)


def _timed(place: Place, name: str, build: Callable[[Path], object]) -> Path:
    """Return what is kept; the seconds that it took to build are in a file next to it."""

    def timed(path: Path) -> None:
        begin = perf_counter()
        build(path)
        path.with_name(f"{path.name}.seconds").write_text(json.dumps(perf_counter() - begin))

    return place.keep(name, timed, CODE)


def _seconds(path: Path) -> float:
    return float(json.loads(path.with_name(f"{path.name}.seconds").read_text()))


def vectors(place: Place, size: int, form: str = "float32") -> Path:
    """Return a file of vectors of length 1, (size, 384) of float32, float16 or int8.

    The factors of int8 are in a file of their own, see `scales_of`.
    """

    def convert(path: Path) -> None:
        stored = StoredVectors.of(np.load(vectors(place, size), mmap_mode="r"), form)
        with path.open("wb") as file:
            np.save(file, stored.values)
        if stored.scales is not None:
            np.save(scales_of(path), stored.scales)

    def build(path: Path) -> None:
        real = np.load(_encoded(place))
        rng = np.random.default_rng(0)
        target = np.lib.format.open_memmap(path, "w+", form, (size, real.shape[1]))
        for begin in range(0, size, len(real)):
            own = real[: size - begin].copy()
            if begin:  # noise of random directions
                noise = rng.standard_normal(own.shape, np.float32)
                own += NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
                own /= np.linalg.norm(own, axis=1, keepdims=True)
            target[begin : begin + len(own)] = own
        target.flush()

    made = build if form == "float32" else convert
    return place.keep(f"dense.{size}.{form}.npy", made, CODE)


def scales_of(path: Path) -> Path:
    """Return the file of the factors, (size,) float32, of a file of vectors in int8."""
    return path.with_name(f"{path.name}.scales.npy")


def queries(place: Place) -> Path:
    """Return the file of the queries' vectors, (queries, 384) float32."""

    def build(path: Path) -> None:
        texts = [
            each.text for each in read_split(place.collection(COLLECTION), SPLIT, limit=QUERIES)
        ]
        np.save(path, encoder(place).encode_queries(texts).vectors)

    return place.keep("dense.queries.npy", build, CODE)


def _encoded(place: Place) -> Path:
    """Return the file of the collection's vectors, (documents, 384) float32."""

    def build(path: Path) -> None:
        minilm = encoder(place)
        texts = [f"{each.title}\n{each.text}" for each in place.collection(COLLECTION).documents()]
        texts = texts[:ENCODED]
        rows = [
            minilm.encode_documents(texts[begin : begin + BLOCK]).vectors
            for begin in range(0, len(texts), BLOCK)
        ]
        np.save(path, np.concatenate(rows))

    return place.keep("dense.google-wiki.npy", build, CODE)


def encoder(place: Place) -> DenseEncoder:
    """Return MiniLM-L6 as it comes, exported in int8, which reads a few tokens of a document."""

    def build(path: Path) -> None:
        given = read_model(wheel_folder())
        settings = replace(given.settings, max_document_tokens=TOKENS)
        probes = unjudged_probes(place.collection(COLLECTION).documents())
        made = replace(given, settings=settings, probes=probes)
        export_bundle({"dense": made}, path, ExportOptions(variants=("int8",)))

    path = place.keep("dense.minilm.ranklet", build, CODE)
    return DenseEncoder.open(BundleFiles(path, device="cpu"), "dense", many=True)


def recalls(found: list[list[int]], wanted: list[list[int]]) -> float:
    """Return the mean share of what was wanted that was found."""
    pairs = zip(found, wanted, strict=True)
    return float(np.mean([len({*one} & {*other}) / len(other) for one, other in pairs]))
