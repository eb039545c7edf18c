"""How long rescoring takes by the number of candidates and by the length of documents."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.growth.sizes import NUMPY, RANK
from benchmarks.growth.synthetic import Model, questions, write
from benchmarks.harness.processes import fresh
from ranklet.corpus.index import index_bundle
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Source

CANDIDATES = (100, 300, 1_000, 3_000, 10_000)
PASSAGES = 100_000  # of which the candidates are
LENGTHS = (32, 64, 128, 256, 512)  # words of a document
DOCUMENTS, DEPTH = 10_000, 1_000  # of each length, and candidates of them
QUESTIONS, ROUNDS = 100, 3


def measure(
    model: Model,
    rankers: Path,
    work: Path,
    target: Path,
    *,
    passages: int = PASSAGES,
    documents: int = DOCUMENTS,
) -> None:
    """Write the times of rescoring by Model 1 as JSON, by candidates and by words of a document.

    Args:
        model: what documents are drawn from.
        rankers: a bundle with BM25 and Model 1.
        work: folder for what is built.
        target: the file.
        passages: of which there are up to 10,000 candidates.
        documents: of each length.
    """
    bundle = _indexed(model, rankers, work / "growth.depths", passages)
    by_depth = {depth: _times(model, bundle, depth) for depth in CANDIDATES}
    by_length = {}
    for length in LENGTHS:
        bundle = _indexed(model, rankers, work / "growth.lengths", documents, length)
        by_length[length] = _times(model, bundle, DEPTH)
    found = {"candidates": by_depth, "words": by_length}
    target.write_text(json.dumps(found, indent=1))


def _indexed(
    model: Model, rankers: Path, path: Path, count: int, length: int | None = None
) -> Path:
    texts = path.with_suffix(".csv")
    write(model, count, texts, length=length)
    source = Source(texts, SourceOptions(passage_words=0))
    return Path(index_bundle(rankers, source, path.with_suffix(".ranklet"), overwrite=True))


def _times(model: Model, bundle: Path, depth: int) -> dict[str, Any]:
    """Return p50 and p99 in ms of BM25 alone and of Model 1 on what it found."""
    retrieve = {"stage": "retrieve", "ranker": "bm25", "k": depth}
    recipes = {"bm25": [retrieve], "model1": [retrieve, {"stage": "rescore", "ranker": "model1"}]}
    found = {}
    for name, recipe in recipes.items():
        values = {"path": str(bundle), "texts": questions(model, QUESTIONS), "turns": ROUNDS}
        ms = np.median(np.array(fresh(NUMPY + RANK, {**values, "recipe": recipe})["ms"]), axis=0)
        found[name] = {"p50": float(np.percentile(ms, 50)), "p99": float(np.percentile(ms, 99))}
    return found
