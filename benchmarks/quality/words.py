"""BM25 of `ranklet build` next to bm25s with Snowball's stems, on all collections.

Each is built without options and ranks queries of dev, or of test where there are any. Choices were
made on train. The time of a build is that of all its processes.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.evaluation.significance import compare
from ranklet.corpus.evaluation.systems import evaluate, mark, measure_run
from ranklet.corpus.languages.names import language_code
from ranklet.runtime import load
from ranklet.runtime.ground.sets import evenly
from ranklet.runtime.text.scripts import fold
from ranklet.runtime.text.stems import SNOWBALL

PACKAGES = ("bm25s", "PyStemmer", "snowballstemmer")
MEASURES, DEPTH, QUERIES = ("nDCG@10", "R@100"), 100, 1000
NAMES = (
    "debian-de", "debian-fr", "debian-ja", "debian-pl", "debian-pt_BR", "debian-ru",
    "debian-packages", "scifact", "medquad", "qa-mix",
)  # fmt: skip
OURS, PEER = "BM25", "bm25s with stems"


def run(place: Place) -> str:
    """Rank the queries of each collection by both."""
    rows = [_row(place, name) for name in NAMES]
    head = ["collection, queries", "nDCG@10", PEER, "difference", "R@100", PEER, "MB", "build, s"]
    return f"""
{table(head, rows)}

Differences with p-values of two-sided paired t-tests. bm25s runs with its defaults, \
and with pairs of letters in Japanese. MB are those of the bundle, texts included, and seconds \
those of a processor.
"""


def _row(place: Place, name: str) -> list[str]:
    collection = place.collection(name)
    split = "test" if name == "scifact" else "dev"
    queries = read_split(collection, split)
    queries = [queries[at] for at in evenly(len(queries), QUERIES)]
    path = place.work / f"{name}.words"
    seconds = _built(collection.path / "corpus.jsonl.gz", path)
    (ours,) = evaluate(load(path), queries, {OURS: None}, measures=MEASURES, depth=DEPTH)
    written = name.removeprefix("debian-")
    language = "en" if written == name or written == "packages" else language_code(written)
    peer = measure_run(queries, _peer(collection, language, queries), MEASURES)
    (found,) = compare({OURS: ours.values["nDCG@10"], PEER: peer["nDCG@10"]}, pairs=[(OURS, PEER)])
    p = f"{found.p_holm:.3f}" if found.p_holm >= 0.001 else "< 0.001"
    against = f"{found.difference:+.3f}{mark(found.p_holm).strip()} ({p})"
    size = sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    gained, recalled = (
        [f"{values[each].mean():.3f}" for values in (ours.values, peer)] for each in MEASURES
    )
    label = f"{name}, {len(queries):,}"
    return [label, *gained, against, *recalled, f"{size / 1e6:.1f}", f"{seconds:.1f}"]


def _built(source: Path, target: Path) -> float:
    """Build a bundle and return the seconds of a processor that it took."""
    before = os.times()
    command = [sys.executable, "-m", "ranklet", "build", str(source), "-o", str(target), "--force"]
    subprocess.run(command, check=True, capture_output=True)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


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
    import Stemmer

    if language not in SNOWBALL:
        return lambda text: ["".join(pair) for pair in pairwise(fold(text)) if " " not in pair]
    stem = Stemmer.Stemmer(SNOWBALL[language]).stemWord
    stopped = "en" if language == "en" else []

    def split(text: str) -> list[str]:
        found = bm25s.tokenize([text], stopwords=stopped, return_ids=False, show_progress=False)
        return [stem(word) for word in found[0]]

    return split
