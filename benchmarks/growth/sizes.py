"""What one collection of synthetic passages takes: to build, to open, to search, and on disk."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.footprint.build_memory import RANKLET, TANTIVY
from benchmarks.growth.processes import forget, size, watched
from benchmarks.growth.synthetic import Model, questions, write
from benchmarks.harness.processes import fresh

QUESTIONS, TERMS = 300, 5
ROUNDS = 3  # of the questions; a question's figure is its median
STARTS = 5  # fresh processes
BM25S_MOST = 1_000_000  # passages; bm25s keeps all texts and tokens in memory
KEPT = 300_000  # passages up to which indexes are kept for a look

NUMPY = """
import numpy
lap("numpy")
"""
START = """
from ranklet import runtime
bundle = runtime.load(path)
bundle.rank(text, k=10)
lap("first answer")
"""
RANK = """
from time import perf_counter
from ranklet import runtime
bundle = runtime.load(path)
rounds = []
for turn in range(turns + 1):  # the first is not counted
    took = []
    for text in texts:
        begin = perf_counter()
        bundle.rank(text, k=10, pipeline=recipe)
        took.append((perf_counter() - begin) * 1e3)
    rounds.append(took)
answer["ms"] = rounds[1:]
"""
BM25S = """
import csv, sys, bm25s
with open(sys.argv[1], newline="") as file:
    texts = [row["text"] for row in csv.DictReader(file)]
tokens = bm25s.tokenize(texts, stopwords="en", show_progress=False)
index = bm25s.BM25()
index.index(tokens, show_progress=False)
index.save(sys.argv[2], corpus=texts, show_progress=False)
"""
PARTS = {
    "texts, ids": ("documents/texts", "documents/titles", "documents/ids", "documents/by_id"),
    "words": ("documents/words",),
    "postings": ("rankers/bm25/",),
    "vocabulary": ("text/",),
}


def measure(model: Model, count: int, work: Path, target: Path) -> None:
    """Write the figures of a collection as JSON.

    Args:
        model: what its passages are drawn from.
        count: of its passages.
        work: folder for what is built, most of which is removed.
        target: the file.
    """
    texts = work / f"growth.{count}.csv"
    write(model, count, texts)
    ends = ("ranklet", "tantivy", "bm25s")
    bundle, peer, other = (work / f"growth.{count}.{end}" for end in ends)
    for folder in (bundle, peer, other):
        shutil.rmtree(folder, ignore_errors=True)
    built = watched(RANKLET, texts, bundle)
    found: dict[str, Any] = {
        "passages": count,
        "text": texts.stat().st_size,
        "build": built._asdict(),
        "bundle": size(bundle),
        "parts": parts(bundle),
        "small": size(bundle) - 3 * postings(bundle),
        **searched(model, bundle),
        **_peers(texts, peer, other, count),
    }
    for path in (texts, bundle, peer, other):
        if path.is_file():
            path.unlink()
        elif count > KEPT:
            shutil.rmtree(path, ignore_errors=True)
    target.write_text(json.dumps(found, indent=1))


def searched(model: Model, bundle: Path) -> dict[str, Any]:
    """Return the times of questions and of first answers, and the memory of a process, MB."""
    asked = questions(model, QUESTIONS, terms=TERMS)
    values = {"path": str(bundle), "texts": asked, "turns": ROUNDS, "recipe": None}
    answered = fresh(NUMPY + RANK, values)
    ms = np.median(np.array(answered["ms"]), axis=0)
    first = {"path": str(bundle), "text": asked[0]}
    warm = [fresh(NUMPY + START, first)["laps"]["first answer"] for _ in range(STARTS)]
    cold = []
    for _ in range(STARTS):
        forget(bundle)
        cold.append(fresh(NUMPY + START, first)["laps"]["first answer"])
    return {
        "p50": float(np.percentile(ms, 50)),
        "p99": float(np.percentile(ms, 99)),
        "serving": answered["RssAnon"] / 1e6,
        "start": float(np.median(warm)),
        "start from disk": float(np.median(cold)),
    }


def parts(bundle: Path) -> dict[str, int]:
    """Return the bytes of the parts of a bundle."""
    found = dict.fromkeys(PARTS, 0)
    for path in bundle.rglob("*"):
        name = path.relative_to(bundle).as_posix()
        for part, begins in PARTS.items():
            if path.is_file() and name.startswith(begins):
                found[part] += path.stat().st_size
    return found


def postings(bundle: Path) -> int:
    """Return the number of postings of BM25."""
    return len(np.load(bundle / "rankers" / "bm25" / "documents.npy", mmap_mode="r"))


def _peers(texts: Path, peer: Path, other: Path, count: int) -> dict[str, Any]:
    found: dict[str, Any] = {"tantivy": {**watched(TANTIVY, texts, peer)._asdict()}}
    found["tantivy"]["bytes"] = size(peer)
    if count <= BM25S_MOST:
        found["bm25s"] = watched(BM25S, texts, other)._asdict()
        corpus = sum(path.stat().st_size for path in other.glob("corpus*"))
        found["bm25s"] |= {"bytes": size(other), "index": size(other) - corpus}
    return found
