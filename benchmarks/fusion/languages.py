"""BM25, an encoder and their fusion in other languages than English, and across languages.

Each collection `debian-XX` in the data folder is built by `ranklet build` without a language, and
ranks the synopses of dev. Choices were made on train. With `RANKLET_E5`, a folder of
multilingual-e5-small, its encoder and the default fusion are compared, too.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.fusion.collections import E5, E5_VARIABLE, Compared, bundle_of
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.corpus.building.default_pipelines import SUM
from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.evaluation.significance import compare
from ranklet.corpus.evaluation.systems import evaluate, mark, measured
from ranklet.corpus.languages.names import AUTO, LANGUAGES, language_code
from ranklet.export.build import build
from ranklet.runtime import load
from ranklet.runtime.text.scripts import fold

PACKAGES = ("bm25s", "simplemma", "py3langid", "fugashi", "rjieba", "icu4py")
MEASURES = ("nDCG@10", "R@100")
DEPTH = 100
OURS, ENGLISH, PEER = "BM25", "BM25 read as English", "bm25s with a stemmer"
ENCODER, HYBRID = "encoder", "default fusion"
UNSPACED = ("ja", "zh", "th", "km", "lo", "my")  # pairs of letters for the peer
PAIRS = ((OURS, ENGLISH), (OURS, PEER), (HYBRID, OURS), (HYBRID, ENCODER))

Values = Mapping[str, NDArray[np.float64]]


def run(place: Place) -> str:
    """Rank the queries of dev of each collection by all systems."""
    rows = [row for path in sorted(place.data.glob("debian-*")) for row in _rows(place, path.name)]
    return f"""
{table(["collection, queries", "system", *MEASURES, "nDCG@10 against"], rows)}

Differences of nDCG@10 with p-values of two-sided paired t-tests, corrected by Holm within a \
collection. The peer runs with its defaults, and with pairs of letters in scripts without spaces.
"""


def _rows(place: Place, name: str) -> Iterator[list[str]]:
    written, _, documents = name.removeprefix("debian-").partition("-")
    if written == "packages":
        return
    language = language_code(documents or written)
    queries = read_split(place.collection(name), "dev")
    values = dict(_values(place, name, language, queries))
    pairs = [pair for pair in PAIRS if set(pair) <= values.keys()]
    series = {system: each["nDCG@10"] for system, each in values.items()}
    against: dict[str, list[str]] = {}
    for each in compare(series, pairs=pairs):
        p = f"p = {each.p_holm:.3f}" if each.p_holm >= 0.001 else "p < 0.001"
        text = f"{each.second}: {each.difference:+.3f}{mark(each.p_holm).strip()} ({p})"
        against.setdefault(each.first, []).append(text)
    for system, found in values.items():
        label = f"{name}, {len(queries):,}" if system == OURS else ""
        cells = [f"{found[measure].mean():.3f}" for measure in MEASURES]
        yield [label, system, *cells, "; ".join(against.get(system, []))]


def _values(
    place: Place, name: str, language: str, queries: list[JudgedQuery]
) -> Iterator[tuple[str, Values]]:
    collection = place.collection(name)
    source = collection.path / "corpus.jsonl.gz"
    for system, code in ((OURS, AUTO), (ENGLISH, "en")):
        made = partial(build, source, language=code, overwrite=True)
        target = place.keep(f"{name}.{system.replace(' ', '-')}.ranklet", made)
        (found,) = evaluate(load(target), queries, {system: None}, measures=MEASURES, depth=DEPTH)
        yield system, found.values
    yield PEER, measured(queries, _peer(collection, language, queries), MEASURES)
    if folder := os.environ.get(E5_VARIABLE):
        bundle = bundle_of(place, Compared(name, E5, language="auto"), Path(folder))
        pipelines = bundle.manifest.pipelines
        recipes = {ENCODER: pipelines[E5], HYBRID: pipelines[SUM]}
        for each in evaluate(bundle, queries, recipes, measures=MEASURES, depth=DEPTH):
            yield each.pipeline, each.values


def _peer(
    collection: Collection, language: str, queries: list[JudgedQuery]
) -> dict[str, list[tuple[str, float]]]:
    """Return what bm25s ranks, by the query's id."""
    import bm25s

    split = _splitter(language)
    documents = list(collection.documents())
    index = bm25s.BM25()
    index.index([split(f"{each.title}\n{each.text}") for each in documents], show_progress=False)
    run = {}
    for query in queries:
        tokens = [token for token in split(query.text) if token in index.vocab_dict]
        run[query.id] = list[tuple[str, float]]()
        if tokens:
            numbers, scores = index.retrieve([tokens], k=DEPTH, show_progress=False)
            found = zip(numbers[0].tolist(), scores[0].tolist(), strict=True)
            run[query.id] = [(documents[number].id, score) for number, score in found if score > 0]
    return run


def _splitter(language: str) -> Callable[[str], list[str]]:
    """Return how texts are split for bm25s: words with Snowball's stems, or pairs of letters."""
    import bm25s
    from snowballstemmer import algorithms, stemmer

    if language in UNSPACED:
        return lambda text: ["".join(pair) for pair in pairwise(fold(text)) if " " not in pair]
    name = LANGUAGES[language].lower()
    stem = stemmer(name).stemWord if name in algorithms() else str

    def split(text: str) -> list[str]:
        found = bm25s.tokenize([text], stopwords=[], return_ids=False, show_progress=False)
        return [stem(word) for word in found[0]]

    return split
