"""How fast EPIC encodes a query, rescores and retrieves, beside Seismic and bm25s on its vectors.

All figures are of one query at a time on one thread; contenders take turns.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.built import trained
from benchmarks.built.bundles import qa_mix_epic
from benchmarks.built.peers import opened, retriever_of
from benchmarks.harness.place import Place
from benchmarks.harness.processes import one_thread
from benchmarks.harness.report import goal, table
from benchmarks.harness.timing import spread, take_turns
from ranklet import runtime
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.indexing.impacts import index_of_rows
from ranklet.runtime.call.query import QueryContext, SparseQuery
from ranklet.runtime.execution import prefetch as ahead
from ranklet.runtime.lexical.impact_index import IMPACT_TYPES, ImpactIndex
from ranklet.runtime.lexical.sparse_store import SparseStore
from ranklet.runtime.onnx.encoder import VARIANTS, variant_file
from ranklet.runtime.rankers.epic import EPIC, QUERY_ENCODER
from ranklet.runtime.rankers.opening import ranker_of
from ranklet.runtime.variables import Variable

PACKAGES = ("torch", "onnxruntime", "tokenizers", "pyseismic-lsr", "bm25s", "numba")
PEERS = {"seismic": "pyseismic-lsr", "bm25s": "bm25s", "numba": "numba"}  # package by module
COLLECTION, QUERIES, ROUNDS = "qa-mix", 300, 3
KEPT, RESCORED = 1000, 1000  # r of this benchmark; candidates of BM25
RETRIEVED = (200, KEPT)  # r of what is retrieved from
# Seismic's summaries take the longer the more values a vector has. With 1,000 its index was not
# done after twelve minutes on one thread.
SEISMIC_KEPT = 200
DEPTHS = (10, 1000)
# Seismic: (lists of a query that it visits, share of the k-th score that a block must promise).
SEISMIC = ((4, 0.9), (8, 0.8), (8, 1.0), (32, 1.0))
MOST_ENCODING, MOST_RESCORING = 10.0, 2.0
EXACT = "ranklet, float32"


Search = Callable[["Asked"], Any]


class Asked(NamedTuple):
    """A query in the forms that the contenders take."""

    number: int
    text: str
    vector: SparseQuery
    candidates: NDArray[np.uint32]  # BM25's best


def run(place: Place) -> str:
    """Time all of it, once the peers are found and the bundle is built, on all cores."""
    check_peers()
    path = qa_mix_epic(place)
    with one_thread():
        return _timed(place, path)


def check_peers() -> None:
    """Raise ModuleNotFoundError if a package is missing that is compared."""
    if missing := [package for module, package in PEERS.items() if find_spec(module) is None]:
        raise ModuleNotFoundError(f"{', '.join(missing)}: not installed; they are of extra [bench]")


def _timed(place: Place, path: Path) -> str:
    bundle = opened(path)
    ranker, first = ranker_of(bundle, "epic"), retriever_of(bundle, "bm25")
    if not isinstance(ranker, EPIC):
        raise TypeError(f"epic is {ranker!r}")
    asked = []
    for at, each in enumerate(read_split(place.collection(COLLECTION), "dev", limit=QUERIES)):
        query = QueryContext(each.text, bundle.analyzer.begin())
        vector = ranker.encode_query(query)
        asked.append(Asked(at, each.text, vector, first.retrieve(query, RESCORED)[0]))
    store = further(ranker.store, KEPT, ranker.encoders.priorities())
    served = variant_file(bundle, f"rankers/epic/{QUERY_ENCODER.folder}")
    ours = next(name for name, file in VARIANTS.items() if served.endswith(file))  # int8 if proven
    encoding = take_turns(_encoders(place, ranker, ours), asked, ROUNDS)
    rescoring = take_turns({"rescoring": lambda q: rescore(store, q)}, asked, ROUNDS)["rescoring"]
    beside = _beside(path, asked)
    lists = [
        part
        for kept in RETRIEVED
        for part in retrieval(
            further(store, kept, ranker.encoders.priorities()),
            kept,
            ranker.settings.vocabulary,
            asked,
        )
    ]
    terms = np.mean([len(each.vector.terms) for each in asked])
    return f"""
{COLLECTION}: {len(store):,} documents, r = {KEPT}, {len(asked)} dev queries of {terms:.1f} terms \
on average. A figure of a query is the median of {ROUNDS} rounds. onnxruntime and PyTorch have one \
thread each (`{Variable.THREADS}=1`).

{_spreads("from text to a query's vector", encoding)}

{goal(f"a query encoded, {ours}, p50", float(np.median(encoding[ours])), MOST_ENCODING)}

{_spreads(f"dot products with {RESCORED:,} candidates", {"numpy": rescoring})}

{goal(f"{RESCORED:,} candidates, p50", float(np.median(rescoring)), MOST_RESCORING)}

BM25's top {RESCORED:,}, then EPIC, from text to ids (`rank_ids`):

{_spreads("", beside)}

Retrieval; recall is the share of the exact top k that is found:

{chr(10).join(lists)}
- Seismic is built over the same vectors with its defaults; `query_cut` and `heap_factor` trade \
recall for time. It stores values in 16 bits of its own. Its call takes terms as strings. Of \
vectors with more than {SEISMIC_KEPT} values its index takes too long to build here, and is left \
out.
- bm25s has no weights for a query's terms: it adds up the same postings without them, which is as \
much work; so it has no recall.
"""


def further(store: SparseStore, kept: int, priorities: NDArray[np.float32]) -> SparseStore:
    """Return a store with no more than the `kept` values of each vector that `prune` would keep.

    >>> values = np.array([0.5, 2, 1, 3], np.float16)
    >>> store = SparseStore(np.array([0, 3, 4]), np.arange(4, dtype=np.uint16), values)
    >>> further(store, 1, np.array([1, 1, 3, 1], np.float32)).terms.tolist()
    [2, 3]
    """
    held = np.zeros(len(store.terms), np.bool_)
    for begin, end in pairwise(store.offsets.tolist()):
        values = np.asarray(store.values[begin:end], np.float32)
        order = np.argsort(-values * priorities[store.terms[begin:end]], kind="stable")
        held[begin + order[:kept]] = True
    ends = np.concatenate([[0], np.cumsum(held)])
    return SparseStore(ends[store.offsets].astype(np.int64), store.terms[held], store.values[held])


def _spreads(what: str, ms: dict[str, NDArray[np.float64]]) -> str:
    rows = [[name, *spread(times)] for name, times in ms.items()]
    return table([what, "p50 ms", "mean", "p99"], rows)


def rescore(store: SparseStore, query: Asked) -> NDArray[np.float64]:
    """Return the dot product with each candidate."""
    terms, weights = query.vector
    scores: NDArray[np.float64] = weights.astype(np.float64) @ store.impacts(
        terms, query.candidates
    )
    return scores


def _encoders(place: Place, ranker: EPIC, ours: str) -> dict[str, Callable[[Asked], object]]:
    import torch

    from ranklet.export.onnx.graph import TorchSession
    from ranklet.export.onnx.method import Method
    from ranklet.runtime.onnx.encoder import Encoder
    from ranklet.training.rankers.epic import training as epic

    torch.set_num_threads(1)
    checkpoint = trained.epic(place)
    if checkpoint.tokenizer is None:
        raise TypeError("the checkpoint has no tokenizer")
    network = epic.load(checkpoint)
    session = TorchSession(Method(network, network.query))
    eager = Encoder(session, QUERY_ENCODER.output, checkpoint.tokenizer, ranker.settings.vocabulary)
    most = ranker.settings.max_query_tokens
    return {
        ours: lambda q: ranker.encoders.encode_queries([q.text]),
        "PyTorch": lambda q: eager.encode_tokens([q.text], most, QUERY_ENCODER.segment),
    }


def _beside(path: Path, asked: list[Asked]) -> dict[str, NDArray[np.float64]]:
    """Time the whole call with the query encoded before, and beside, the first stage."""
    bundle = runtime.load(path, device="cpu")
    recipe: list[dict[str, Any]] = [
        {"stage": "retrieve", "ranker": "bm25", "k": RESCORED},
        {"stage": "rescore", "ranker": "epic"},
    ]

    def rank(processors: int) -> Callable[[Asked], object]:
        def call(query: Asked) -> object:
            with _processors(processors):
                return bundle.rank_ids(query.text, k=10, pipeline=recipe)

        return call

    return take_turns(
        {
            "the query encoded after BM25": rank(1),
            "beside BM25, in a thread": rank(2),
            "BM25 alone": lambda q: bundle.rank_ids(q.text, k=10, pipeline=recipe[:1]),
        },
        asked,
        ROUNDS,
    )


@contextmanager
def _processors(count: int) -> Iterator[None]:
    before = ahead._processors
    ahead._processors = lambda: count  # type: ignore[assignment]
    try:
        yield
    finally:
        ahead._processors = before


def retrieval(store: SparseStore, kept: int, vocabulary: int, asked: list[Asked]) -> list[str]:
    """Return a table for each depth; every index is built once.

    Args:
        store: the vectors of the documents.
        kept: how many values each has, about.
        vocabulary: the number of terms.
        asked: the queries.
    """
    values = store.values.astype(np.float32)
    ours = {
        f"ranklet, {form}": index_of_rows(store.offsets, store.terms, values, vocabulary, form)
        for form in IMPACT_TYPES
    }
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
