"""What one collection of passages takes: to build, to open, to search, and on disk."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.growth.processes import forget, size, watched
from benchmarks.growth.synthetic import Model, questions, write
from benchmarks.harness.place import Place
from benchmarks.harness.processes import fresh
from ranklet.corpus.sources.source import Source

QUESTIONS, TERMS = 300, 5
ROUNDS = 3  # of the questions; a question's figure is its median
STARTS = 5  # fresh processes
BM25S_MOST = 1_000_000  # passages; bm25s keeps all texts and tokens in memory
KEPT = 300_000  # passages up to which indexes are kept for a look

RANKLET = """
import sys, ranklet
ranklet.build(sys.argv[1], sys.argv[2], overwrite=True)
"""
TANTIVY = """
import csv, os, sys, tantivy
builder = tantivy.SchemaBuilder()
builder.add_text_field("id", stored=True, tokenizer_name="raw")
builder.add_text_field("body", stored=True, tokenizer_name="en_stem")
os.makedirs(sys.argv[2])
index = tantivy.Index(builder.build(), path=sys.argv[2])
writer = index.writer(heap_size=200_000_000, num_threads=2)
with open(sys.argv[1], newline="") as file:
    for row in csv.DictReader(file):
        writer.add_document(tantivy.Document(id=row["id"], body=row["text"]))
writer.commit()
writer.wait_merging_threads()
"""
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
TANTIVY_RANK = """
from time import perf_counter
import tantivy
index = tantivy.Index.open(path)
searcher = index.searcher()
rounds = []
for turn in range(turns + 1):
    took = []
    for text in texts:
        begin = perf_counter()
        found = searcher.search(index.parse_query(text.replace("'", " "), ["body"]), 10)
        [searcher.doc(address)["body"] for _, address in found.hits]
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
        **searched(model, bundle),
        **_peers(model, count, texts, peer, other),
    }
    for path in (texts, bundle, peer, other):
        if path.is_file():
            path.unlink()
        elif count > KEPT:
            shutil.rmtree(path, ignore_errors=True)
    target.write_text(json.dumps(found, indent=1))


def measure_real(place: Place, name: str, target: Path) -> None:
    """Write how long both take to build the passages of a collection, as JSON."""
    texts = place.work / f"growth.{name}.csv"
    with texts.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text"])
        passages = Source(place.collection(name).path).documents()
        writer.writerows([at, f"{each.title}\n{each.text}"] for at, each in enumerate(passages))
    found = {}
    for builder, code in (("ranklet", RANKLET), ("tantivy", TANTIVY)):
        built = texts.with_suffix(f".{builder}")
        shutil.rmtree(built, ignore_errors=True)
        found[builder] = watched(code, texts, built)._asdict()
        shutil.rmtree(built)
    texts.unlink()
    target.write_text(json.dumps(found))


def searched(model: Model, bundle: Path) -> dict[str, Any]:
    """Return the times of questions and of first answers, and the memory of a process, MB."""
    asked = questions(model, QUESTIONS, terms=TERMS)
    values = {"path": str(bundle), "texts": asked, "turns": ROUNDS, "recipe": None}
    answered = fresh(NUMPY + RANK, values)
    first = {"path": str(bundle), "text": asked[0]}
    warm = [fresh(NUMPY + START, first)["laps"]["first answer"] for _ in range(STARTS)]
    cold = []
    for _ in range(STARTS):
        forget(bundle)
        cold.append(fresh(NUMPY + START, first)["laps"]["first answer"])
    return {
        **_shares(answered),
        "serving": answered["RssAnon"] / 1e6,
        "start": float(np.median(warm)),
        "start from disk": float(np.median(cold)),
    }


def _shares(answered: dict[str, Any]) -> dict[str, float]:
    """Return p50 and p99 of questions in ms, whose figures are their medians."""
    ms = np.median(np.array(answered["ms"]), axis=0)
    return {f"p{share}": float(np.percentile(ms, share)) for share in (50, 99)}


def parts(bundle: Path) -> dict[str, int]:
    """Return the bytes of the parts of a bundle."""
    found = dict.fromkeys(PARTS, 0)
    for path in bundle.rglob("*"):
        name = path.relative_to(bundle).as_posix()
        for part, begins in PARTS.items():
            if path.is_file() and name.startswith(begins):
                found[part] += path.stat().st_size
    return found


def _peers(model: Model, count: int, texts: Path, peer: Path, other: Path) -> dict[str, Any]:
    built = watched(TANTIVY, texts, peer)._asdict()
    values = {"path": str(peer), "texts": questions(model, QUESTIONS, terms=TERMS), "turns": ROUNDS}
    found: dict[str, Any] = {}
    found["tantivy"] = {**built, **_shares(fresh(TANTIVY_RANK, values)), "bytes": size(peer)}
    if count <= BM25S_MOST:
        found["bm25s"] = watched(BM25S, texts, other)._asdict()
        corpus = sum(path.stat().st_size for path in other.glob("corpus*"))
        found["bm25s"] |= {"bytes": size(other), "index": size(other) - corpus}
    return found
