"""MaxSim over stored token vectors, next to numpy, maxsim-cpu and PyTorch: milliseconds per query.

Time depends on the shapes only, so vectors are random. The others get the candidates' vectors
gathered in memory as float32, which costs them nothing, or, where it is said, gather them for each
query. Ours reads them from a memory-mapped matrix, where they are scattered, and casts them.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.place import Place
from benchmarks.harness.processes import ONE_THREAD
from benchmarks.harness.report import table
from benchmarks.harness.timing import take_turns
from ranklet.runtime.dense.maxsim import Quantised, TokenStore, quantise, quantise_query
from ranklet.runtime.storage.arrays import map_array

PACKAGES = ("maxsim-cpu", "torch")
DOCUMENTS, TOKENS = 5_000, 75  # of the collection, and of each of its documents
CANDIDATES, QUERY_TOKENS, DIMENSIONS = (100, 1_000), (12, 32), (128, 64)
QUERIES, ROUNDS, BLOCK = 8, 7, 4  # few, because candidates in float32 take 38 MB per query
GOALS = {100: 1.5, 1_000: 10.0}  # ms, for 12 tokens of a query and 128 dimensions
TYPES = ("int8", "int16")
CODE = ("benchmarks/late_interaction/maxsim_speed.py", "runtime/dense")
OURS = "ranklet, int8"


class Item(NamedTuple):
    """A query with its candidates, in the form that each contender takes."""

    numbers: NDArray[np.int64]
    query: NDArray[np.float32]  # (tokens, dimension)
    documents: NDArray[np.float32]  # (candidates, tokens, dimension)
    quantised: dict[str, Quantised]  # the query, by the type of the documents


def run(place: Place) -> str:
    """Time all contenders.

    Raises:
        RuntimeError: a library may use several threads.
    """
    for variable in ONE_THREAD:
        if os.environ.get(variable) != "1":
            raise RuntimeError(f"set {', '.join(ONE_THREAD)} to 1 before Python begins")
    rows = []
    for dimension in DIMENSIONS:
        folder = place.keep(f"maxsim-{dimension}", lambda path, d=dimension: _build(path, d), CODE)
        vectors = np.load(folder / "float32.npy", mmap_mode="r")
        stores = {dtype: _opened(folder, dtype) for dtype in TYPES}
        for tokens in QUERY_TOKENS:
            for count in CANDIDATES:
                items = _items(vectors, dimension, tokens, count)
                shape = dimension, tokens, count
                rows.append(_row(_contenders(stores, vectors), items, shape))
    contenders = list(_contenders(stores, vectors))
    head = ["dimensions", "query tokens", "documents", f"{OURS}, ms", "goal"]
    others = [name for name in contenders if name != OURS]
    return f"""
{TOKENS} tokens per document, one thread, p50 of {QUERIES} queries. The columns of the others are \
their time divided by ours, so above 1 they are slower. Ours reads candidates that are scattered \
in a mapped matrix of {DOCUMENTS:,} documents. The others get theirs gathered as float32, or \
gather them for each query.

{table([*head, *(f"{name}, ÷ ours" for name in others)], rows)}
"""


def _row(
    contenders: dict[str, Callable[[Item], Any]], items: list[Item], shape: tuple[int, int, int]
) -> list[str]:
    expected = contenders["numpy, einsum"](items[0])
    for name, score in contenders.items():
        error = float(np.abs(np.asarray(score(items[0])) - expected).max())
        if error > 0.02 * shape[1]:
            raise RuntimeError(f"{name} differs by {error}")
    ms = {
        name: np.median(took) for name, took in take_turns(contenders, items, ROUNDS, BLOCK).items()
    }
    ours = ms[OURS]
    goal = f"{GOALS[shape[2]]:g}" if shape[:2] == (128, 12) else "–"
    ratios = [f"{took / ours:.2f}" for name, took in ms.items() if name != OURS]
    return [*(f"{each:,}" for each in shape), f"{ours:.2f}", goal, *ratios]


def _contenders(
    stores: dict[str, TokenStore], vectors: NDArray[np.float32]
) -> dict[str, Callable[[Item], Any]]:
    import maxsim_cpu
    import torch

    torch.set_num_threads(1)

    def stored(dtype: str) -> Callable[[Item], Any]:
        return lambda item: stores[dtype].scores(item.quantised[dtype], item.numbers)

    def einsum(item: Item) -> Any:
        return np.einsum("qd,ntd->nqt", item.query, item.documents).max(2).sum(1)

    def product(item: Item) -> Any:
        flat = item.documents.reshape(-1, item.documents.shape[2])
        products = (item.query @ flat.T).reshape(len(item.query), len(item.documents), -1)
        return products.max(2).sum(0)

    def in_torch(item: Item) -> Any:
        query, documents = torch.from_numpy(item.query), torch.from_numpy(item.documents)
        return torch.einsum("qd,ntd->nqt", query, documents).amax(2).sum(1)

    def in_maxsim_cpu(item: Item) -> Any:
        return maxsim_cpu.maxsim_scores(item.query, item.documents)

    def gathering(score: Callable[[Item], Any]) -> Callable[[Item], Any]:
        return lambda item: score(item._replace(documents=vectors[item.numbers]))

    return {
        OURS: stored("int8"),
        "ranklet, int16": stored("int16"),
        "numpy, einsum": einsum,
        "numpy, matrix product": product,
        "maxsim-cpu": in_maxsim_cpu,
        "PyTorch, einsum (PyLate's)": in_torch,
        "maxsim-cpu, gathering": gathering(in_maxsim_cpu),
        "PyTorch, gathering": gathering(in_torch),
    }


def _items(vectors: NDArray[np.float32], dimension: int, tokens: int, count: int) -> list[Item]:
    rng = np.random.default_rng(tokens * count)
    items = []
    for _ in range(QUERIES):
        numbers = rng.permutation(DOCUMENTS)[:count]
        query = _unit(rng, tokens, dimension)
        documents = np.ascontiguousarray(vectors[numbers])
        quantised = {dtype: quantise_query(query, dtype) for dtype in TYPES}
        items.append(Item(numbers, query, documents, quantised))
    return items


def _unit(rng: np.random.Generator, count: int, dimension: int) -> NDArray[np.float32]:
    made = rng.standard_normal((count, dimension), np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def _build(path: Path, dimension: int) -> None:
    path.mkdir()
    vectors = _unit(np.random.default_rng(dimension), DOCUMENTS * TOKENS, dimension)
    np.save(path / "float32.npy", vectors.reshape(DOCUMENTS, TOKENS, dimension))
    for dtype in TYPES:
        values, scales = quantise(vectors, dtype)
        np.save(path / f"{dtype}.values.npy", values)
        np.save(path / f"{dtype}.scales.npy", scales)


def _opened(folder: Path, dtype: str) -> TokenStore:
    import mmap

    arrays = []
    for name, kind in (("values", dtype), ("scales", "float32")):
        with (folder / f"{dtype}.{name}.npy").open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        shape = (None, None) if name == "values" else (None,)
        arrays.append(map_array(data, name, (kind,), shape))
    offsets = np.arange(DOCUMENTS + 1, dtype=np.int64) * TOKENS
    return TokenStore(offsets, Quantised(*arrays))
