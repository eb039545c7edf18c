"""Long lists of postings: adding up all of them range by range, next to MaxScore and tantivy.

Passages and questions are those of `growth`. Beyond the collections that are built, only the lists
of the questions' words are made and searched.
"""

import json
import shutil
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.footprint.build_memory import RANKLET, TANTIVY
from benchmarks.growth.growth import _model
from benchmarks.growth.processes import size, watched
from benchmarks.growth.sizes import NUMPY, QUESTIONS, ROUNDS
from benchmarks.growth.synthetic import AT_ONCE, Model, passages, questions, write
from benchmarks.harness.place import CODE, Place
from benchmarks.harness.processes import fresh
from benchmarks.harness.report import goal, table
from ranklet.runtime.lexical import impact_index
from ranklet.runtime.lexical.bm25 import idf, saturation
from ranklet.runtime.lexical.impact_index import ImpactIndex, largest_impacts

PACKAGES = ("tantivy",)
BUILT = (300_000, 1_000_000)  # passages
LISTED = 10_000_000  # of which there are only lists
DEPTHS = (10, 100)
K1, B = 0.9, 0.4
_OWN = ("benchmarks/growth", "runtime/search", "runtime/storage")
_NEVER = 1 << 40  # postings from which on all are added up

RANK = """
from time import process_time
from ranklet import runtime
from ranklet.runtime.lexical import impact_index
from ranklet.runtime.rankers.bm25 import BM25
bundle, real, nested = runtime.load(path), impact_index._MANY, BM25.nested
for name, many, short in (("before", never, property(lambda _: False)), ("now", real, nested)):
    impact_index._MANY, BM25.nested = many, short
    for k in depths:
        rounds = []
        for turn in range(turns + 1):  # the first is not counted
            took = []
            for text in texts:
                begin = process_time()
                bundle.rank(text, k=k)
                took.append((process_time() - begin) * 1e3)
            rounds.append(took)
        answer[f"{name} {k}"] = rounds[1:]
"""
TANTIVY_RANK = """
from time import process_time
import tantivy
index = tantivy.Index.open(path)
searcher = index.searcher()
for k in depths:
    rounds = []
    for turn in range(turns + 1):
        took = []
        for text in texts:
            begin = process_time()
            found = searcher.search(index.parse_query(text.replace("'", " "), ["body"]), k)
            [searcher.doc(address)["body"] for _, address in found.hits]
            took.append((process_time() - begin) * 1e3)
        rounds.append(took)
    answer[f"tantivy {k}"] = rounds[1:]
"""


def run(place: Place) -> str:
    """Measure what is not kept."""
    model = _model(place)
    code = (*CODE, *_OWN)
    found = {}
    for count in BUILT:
        measure = partial(_built, model, count, place.work)
        found[count] = json.loads(place.keep(f"long_lists.{count}.json", measure, code).read_text())
    lists = place.keep(f"long_lists.{LISTED}.json", partial(_listed, model, LISTED), code)
    found[LISTED] = json.loads(lists.read_text())
    return report(found)


def report(found: dict[int, dict[str, Any]]) -> str:
    """Return the tables, by passages."""
    rows, last, largest = [], found[LISTED]["ms"], found[BUILT[-1]]
    for count, figures in found.items():
        for k in DEPTHS:
            row = [f"{count:,}", k]
            for name in ("before", "now", "tantivy"):
                p50, p99 = figures["ms"].get(f"{name} {k}", ("", ""))
                row += [f"{p50:.2f}", f"{p99:.2f}"] if p50 != "" else ["", ""]
            rows.append(row)
    head = ["passages", "top", "before, p50", "p99", "now, p50", "p99", "tantivy, p50", "p99"]
    stored = [
        [f"{count:,}", *(f"{figures[name] / count:.0f}" for name in ("bundle", "texts", "tantivy"))]
        for count, figures in found.items()
        if "bundle" in figures
    ]
    return f"""
{QUESTIONS} questions of 5 words, ms of processor time, one thread, the median of {ROUNDS} rounds \
each. With {BUILT[0]:,} and {BUILT[1]:,} passages from a text to the texts of the hits; with \
{LISTED:,} only the lists of the questions' words were made and searched \
({found[LISTED]["postings"]:,.0f} postings per question on average). *Before* is MaxScore alone, \
to the depth of the pipeline (1,000; with {LISTED:,} to the hits); *now* adds long lists up range \
by range, and reads a list as far as hits come back. All scores of the lists are equal to the bit.

{table(head, rows)}

{goal(f"top 10 of {LISTED:,}, p50", last["now 10"][0], 8)}
{goal(f"top 10 of {LISTED:,}, p99", last["now 10"][1], 25)}

Bytes of a passage, of which texts; both store the texts.

{table(["passages", "bundle", "its texts", "tantivy"], stored)}

{goal("bundle, of tantivy's bytes,", largest["bundle"] / largest["tantivy"], 1, "×")}
"""


def _built(model: Model, count: int, work: Path, target: Path) -> None:
    texts = work / f"long_lists.{count}.csv"
    bundle, peer = texts.with_suffix(".ranklet"), texts.with_suffix(".tantivy")
    for folder in (bundle, peer):
        shutil.rmtree(folder, ignore_errors=True)
    write(model, count, texts)
    watched(RANKLET, texts, bundle)
    watched(TANTIVY, texts, peer)
    values = {"texts": questions(model, QUESTIONS), "turns": ROUNDS, "depths": DEPTHS}
    ours = fresh(NUMPY + RANK, {**values, "path": str(bundle), "never": _NEVER})
    theirs = fresh(TANTIVY_RANK, {**values, "path": str(peer)})
    rounds = {name: each for name, each in (ours | theirs).items() if name[-1] == "0"}
    found = {
        "ms": {name: _shares(np.array(each)) for name, each in rounds.items()},
        "bundle": size(bundle),
        "texts": sum(path.stat().st_size for path in (bundle / "documents").glob("texts*")),
        "tantivy": size(peer),
    }
    for path in (bundle, peer):
        shutil.rmtree(path)
    texts.unlink()
    target.write_text(json.dumps(found))


def _listed(model: Model, count: int, target: Path) -> None:
    asked = [text.split() for text in questions(model, QUESTIONS)]
    terms = {word: at for at, word in enumerate(sorted({word for each in asked for word in each}))}
    index, held = _lists(model, count, terms), impact_index._MANY
    queries = [np.array(sorted({terms[word] for word in each}), np.int32) for each in asked]
    found: dict[str, Any] = {"ms": {}}
    lengths = np.diff(index.offsets)
    found["postings"] = float(np.mean([lengths[each].sum() for each in queries]))
    for k in DEPTHS:
        ranked: dict[str, list[Any]] = {}
        for name, many in (("before", _NEVER), ("now", held)):
            impact_index._MANY = many
            rounds = []
            for _ in range(ROUNDS + 1):
                took, ranked[name] = [], []
                for query in queries:
                    begin = process_time()
                    ranked[name].append(index.retrieve(query, np.ones(len(query), np.float32), k))
                    took.append((process_time() - begin) * 1e3)
                rounds.append(took)
            found["ms"][f"{name} {k}"] = _shares(np.array(rounds[1:]))
        for old, new in zip(ranked["before"], ranked["now"], strict=True):
            if not all(map(np.array_equal, old, new)):
                raise ValueError("the two ways rank differently")
    target.write_text(json.dumps(found))


def _lists(model: Model, count: int, terms: dict[str, int]) -> ImpactIndex:
    """Return an index of BM25 with only these words."""
    spelled = {word: rank for rank, word in enumerate(model.spellings)}
    term_of = np.full(len(model.spellings), -1, np.int32)
    term_of[[spelled[word] for word in terms]] = list(terms.values())
    documents, owners, counts, lengths = [], [], [], []
    for at, drawn in enumerate(passages(model, count, 0)):
        lengths.append(np.diff(drawn.ends, prepend=0))
        found = term_of[drawn.tokens]
        there = np.flatnonzero(found >= 0)
        place = np.repeat(np.arange(len(drawn.ends)), lengths[-1])[there]
        pairs, tf = np.unique(found[there].astype(np.int64) * AT_ONCE + place, return_counts=True)
        owners.append((pairs // AT_ONCE).astype(np.int16))
        documents.append((pairs % AT_ONCE + at * AT_ONCE).astype(np.uint32))
        counts.append(tf.astype(np.uint8))
    order = np.argsort(np.concatenate(owners), kind="stable")
    sorted_documents = np.concatenate(documents)[order]
    df = np.bincount(np.concatenate(owners), minlength=len(terms))
    of_all = np.concatenate(lengths).astype(np.float32)
    weights = saturation(
        np.concatenate(counts)[order], of_all[sorted_documents], float(of_all.mean()), K1, B
    )
    impacts = np.repeat(idf(df, count), df) * weights
    offsets = np.concatenate([[0], np.cumsum(df)]).astype(np.int64)
    return ImpactIndex(offsets, sorted_documents, impacts, largest_impacts(offsets, impacts), count)


def _shares(rounds: NDArray[np.float64]) -> tuple[float, float]:
    """Return p50 and p99 of questions, whose figures are their medians."""
    ms = np.median(rounds, axis=0)
    return float(np.percentile(ms, 50)), float(np.percentile(ms, 99))
