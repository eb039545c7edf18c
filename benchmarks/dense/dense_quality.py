"""What training adds to a dense encoder that was trained before: alone, and fused with BM25.

Four collections, all of whose queries were kept from training. Search is exact, over the vectors of
PyTorch. The untrained encoder and BM25 are the baselines.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.dense import STEPS, WAYS, learned, untrained, vectors
from benchmarks.built.trained import DENSE, learn_and_save, tuned_bm25
from benchmarks.harness.judging import values_of
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.call.topk import top_k
from ranklet.runtime.execution.fusion import alternate, reciprocal_ranks
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.collection import Document
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.significance import compare
from ranklet.training.evaluation.systems import mark
from ranklet.training.indexing.analysed import analyse, open_bm25
from ranklet.training.rankers.dense import training as dense_training
from ranklet.training.rankers.dense.options import Options

PACKAGES = ("torch", "transformers")
DEPTH = 1_000
MEASURES = ("MRR@10", "nDCG@10", "R@100", "R@1000")
QUERY_TOKENS = 32
BM25, START, PRODUCT = "BM25, tuned", "MiniLM untrained, cosine", "MiniLM untrained, inner product"
IN_BATCH = "softmax, in-batch negatives"  # what `ranklet train dense` does
TRAINED = (*WAYS, IN_BATCH)
CONSISTENT = (5, 10, 20, 50, 100, 200, 500, 1_000)  # N of C_{f,N}


class Reported(NamedTuple):
    """What is measured on a collection.

    Attributes:
        split: of the queries.
        queries: how many, at most.
        passages: that are searched: the relevant ones, and others at random; 0 for all.
        tokens: of a document.
    """

    split: str
    queries: int
    passages: int
    tokens: int


REPORTED = {
    "qa-mix": Reported("dev", 1_500, 10_000, 128),
    "google-wiki": Reported("dev", 1_000, 6_000, 128),
    "scifact": Reported("test", 300, 0, 256),
}
Found = list[NDArray[np.int64]]  # numbers of each query's documents, best first


class Searched(NamedTuple):
    """The queries of a collection, and the documents that are searched."""

    queries: list[JudgedQuery]
    documents: list[Document]


def run(place: Place) -> str:
    """Train what is not kept, search by every system, and compare."""
    systems: dict[str, Callable[[], Checkpoint]] = {
        START: untrained,
        PRODUCT: lambda: _with_products(untrained()),
        **{name: partial(trained, place, name) for name in TRAINED},
    }
    parts = [_intro(place)]
    for name in REPORTED:
        searched = chosen(place, name)
        lists = {BM25: by_bm25(place, name, searched)}
        for system, checkpoint in systems.items():
            lists[system] = by_vectors(place, name, searched, checkpoint())
        parts += _tables(name, searched, lists)
    return "\n\n".join(parts)


def trained(place: Place, name: str) -> Checkpoint:
    """Return MiniLM-L6 trained on qa-mix in one of the ways of `TRAINED`."""
    if name in WAYS:
        return learned(place, name)
    kept = "qa-mix.dense.in-batch"

    def build(path: Path) -> None:
        options = Options(steps=STEPS, evaluations=3)
        state = place.state(kept, DENSE)
        learn_and_save(place, "qa-mix", dense_training.train, options, path, state)

    return read_checkpoint(place.keep(kept, build, DENSE))


@lru_cache(maxsize=4)
def chosen(place: Place, name: str) -> Searched:
    """Return the queries of a collection, and their relevant documents among others."""
    reported, collection = REPORTED[name], place.collection(name)
    queries = read_split(collection, reported.split, limit=reported.queries)
    documents = list(collection.documents())
    if reported.passages:
        needed = {id_ for query in queries for id_ in query.relevant}
        others = [at for at, each in enumerate(documents) if each.id not in needed]
        count = max(0, reported.passages - (len(documents) - len(others)))
        drawn = np.random.default_rng(0).permutation(len(others))[:count]
        kept = {others[at] for at in drawn.tolist()}
        documents = [each for at, each in enumerate(documents) if each.id in needed or at in kept]
    return Searched(queries, documents)


def by_bm25(place: Place, name: str, searched: Searched) -> Found:
    """Return what BM25 finds, tuned on queries of train."""
    bm25 = tuned_bm25(place, name)
    analysed = analyse(searched.documents, [bm25.field])
    retriever = open_bm25(bm25, analysed.postings(bm25.field))
    contexts = (QueryContext(query.text, analysed.analyzer.begin()) for query in searched.queries)
    return [retriever.retrieve(each, DEPTH).numbers.astype(np.int64) for each in contexts]


def by_vectors(place: Place, name: str, searched: Searched, checkpoint: Checkpoint) -> Found:
    """Return what exact search finds."""
    texts = [ranked_text(each.title, each.text, True) for each in searched.documents]
    asked = [query.text for query in searched.queries]
    of_documents = vectors(place, checkpoint, texts, REPORTED[name].tokens, documents=True)
    of_queries = vectors(place, checkpoint, asked, QUERY_TOKENS, documents=False)
    return [top_k(of_documents @ own, DEPTH).astype(np.int64) for own in of_queries]


def fused(first: Found, second: Found, documents: int, *, alternating: bool = False) -> Found:
    """Return both lists by reciprocal ranks, or alternating from the first on (eq. 6)."""
    merged = []
    for lists in zip(first, second, strict=True):
        ranks = np.full((2, documents), np.nan)
        for row, own in zip(ranks, lists, strict=True):
            row[own] = np.arange(1, len(own) + 1)
        scores = alternate(ranks) if alternating else reciprocal_ranks(ranks, (1.0, 1.0))
        scores = np.where(np.isnan(ranks).all(0), -np.inf, scores)
        best = top_k(scores, DEPTH)
        merged.append(best[np.isfinite(scores[best])].astype(np.int64))
    return merged


def consistency(found: Found, base: Found, most: int) -> float:
    """Return C_{f,N}: the share of the first N that the base has in its first 1,000 (eq. 5)."""
    shares = [
        np.isin(own[:most], other).mean()
        for own, other in zip(found, base, strict=True)
        if len(own)
    ]
    return float(np.mean(shares))


def _with_products(checkpoint: Checkpoint) -> Checkpoint:
    return replace(checkpoint, settings=replace(checkpoint.settings, similarity="dot"))


def _tables(name: str, searched: Searched, lists: Mapping[str, Found]) -> list[str]:
    count = len(searched.documents)
    both = {
        f"BM25 + {system}": fused(lists[BM25], own, count)
        for system, own in lists.items()
        if system not in (BM25, PRODUCT)
    }
    for system in (START, *TRAINED):
        pair = lists[BM25], lists[system]
        for label, (first, second) in {
            f"BM25 / {system}, alternating": pair,
            f"{system} / BM25, alternating": pair[::-1],
        }.items():
            both[label] = fused(first, second, count, alternating=True)
    values = {
        system: values_of(searched.queries, _names(searched, own), _falling(own), MEASURES)
        for system, own in {**lists, **both}.items()
    }
    marks = {measure: _marks(values, measure) for measure in MEASURES}
    rows = [
        [system, *(f"{own[m].mean():.4f}{marks[m].get(system, '')}" for m in MEASURES)]
        for system, own in values.items()
    ]
    shares = [
        [system, *(f"{consistency(own, lists[BM25], most):.1%}" for most in CONSISTENT)]
        for system, own in lists.items()
        if system not in (BM25, PRODUCT)
    ]
    split = REPORTED[name].split
    return [
        f"### {name} {split}, {len(searched.queries):,} queries, {count:,} documents",
        table(["system", *MEASURES], rows),
        "Share of the first N that BM25 has in its first 1,000 (Zhan et al., eq. 5):",
        table(["system", *(f"N = {most:,}" for most in CONSISTENT)], shares),
    ]


def _marks(values: Mapping[str, Mapping[str, NDArray[np.float64]]], measure: str) -> dict[str, str]:
    """Return each system's marks: of those alone against the start, of the fused ones likewise."""
    own = {system: each[measure] for system, each in values.items()}
    pairs = [(name, START) for name in (PRODUCT, *TRAINED)]
    pairs += [(START, BM25)] + [(name, BM25) for name in TRAINED]
    pairs += [(f"BM25 + {name}", f"BM25 + {START}") for name in TRAINED]
    signs: dict[str, str] = {}
    for each in compare(own, pairs=pairs):
        sign = mark(each.p_holm).strip()
        if sign:
            against = {START: "s", BM25: "b"}.get(each.second, "h")
            way = "+" if each.difference > 0 else "−"
            signs[each.first] = f"{signs.get(each.first, '')} {way}{against}{sign}"
    return signs


def _names(searched: Searched, found: Found) -> list[list[str]]:
    return [[searched.documents[number].id for number in own.tolist()] for own in found]


def _falling(found: Found) -> Sequence[NDArray[np.float32]]:
    return [-np.arange(len(own), dtype=np.float32) for own in found]


def _intro(place: Place) -> str:
    rows = []
    for name in TRAINED:
        training = trained(place, name).training
        comparison = training["comparison"]
        rows.append(
            [
                name,
                f"{training['steps']:,}",
                f"{training['seconds'] / 60:.0f}",
                f"{comparison['before']:.3f}",
                f"{comparison['after']:.3f}",
            ]
        )
    return f"""\
All begin with all-MiniLM-L6-v2, which is a sentence encoder that was trained contrastively, and \
learn from qa-mix's train: {STEPS} steps of 32 queries on all cores. Weights are chosen on \
held-out queries of train.

{table(["way", "steps", "minutes", "MRR@10 in the pool, before", "after"], rows)}

In the tables below, + and − say that a difference is significant, and against what: s the \
untrained start, b BM25, h BM25 fused with the untrained start († p < .05, ‡ p < .01, two-sided \
paired t-tests, Holm's correction for each measure). *BM25 +* fuses two lists of {DEPTH:,} by \
reciprocal ranks. *A / B, alternating* takes the first of A, then the first of B, and so on (Zhan \
et al., eq. 6)."""
