"""Whether a better first list matters less, the more of it a cross-encoder reads.

Zhan et al. (Table 4) rerank what BM25 and RepBERT find. MiniLM as it comes is the better retriever
here, on medquad, and the default sum of both on qa-mix.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.trained import CROSS, MEDQUAD, QA_MIX, learned, tuned_bm25
from benchmarks.harness.place import Place
from benchmarks.harness.processes import one_thread
from benchmarks.harness.report import table
from benchmarks.papers.scored_lists import compared, reciprocal_ranks
from benchmarks.papers.searched import Asked, asked_of, encoded
from ranklet import runtime
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime.rankers.cross_encoder.ranker import CrossEncoderSettings
from ranklet.training.data.splits import read_split
from ranklet.training.evaluation.significance import interval, paired_t_test
from ranklet.training.imported.importing import read_model
from ranklet.training.pretrained.backbone import wheel_folder
from ranklet.training.rankers.dense import training as dense

PACKAGES = ("torch", "transformers", "onnxruntime")
STEPS, READ, QUERIES = 700, (5, 10, 20, 50, 100), 1_000
BM25, ENCODER, BOTH = "BM25", "MiniLM", "both"
UNTITLED = (MEDQUAD,)
COLLECTIONS = (MEDQUAD,)
OF_BM25 = 0.4  # the weight of BM25 in the sum of standardised scores
Lists = dict[str, list[NDArray[np.int64]]]


def run(place: Place) -> str:
    """Train, find, read and compare."""
    checkpoint = learned(
        place, "cross_encoder", QA_MIX, str(STEPS), steps=STEPS, queries=14_000, choosing=300,
        settings=CrossEncoderSettings(max_tokens=128), **(CROSS | {"evaluations": 3}),
    )  # fmt: skip
    path = place.keep(
        f"{QA_MIX}.first_lists.cross",
        lambda path: export_bundle(
            {"cross": checkpoint}, path, ExportOptions(variants=("int8",)), overwrite=True
        ),
        (), "1",
    )  # fmt: skip
    parts = [_section(place, path, name) for name in COLLECTIONS]
    return f"""
A vanilla cross-encoder that learned {checkpoint.training["steps"]:,} steps of 16 queries of \
qa-mix, 128 tokens, in {checkpoint.training["seconds"] / 60:.0f} minutes, served in 8 bits. The \
documents that it does not read follow in their first order. *Both* is the sum of standardised \
scores, {OF_BM25} of them BM25's.

{chr(10).join(parts)}
"""


def _section(place: Place, path: Path, name: str) -> str:
    collection, titles = place.collection(name), name not in UNTITLED
    queries = read_split(collection, "dev", limit=QUERIES)
    asked = asked_of(collection, queries, tuned_bm25(place, name, titles=titles), titles=titles)
    lists = _lists(asked)

    def build(target: Path) -> None:
        with one_thread():
            target.write_text(json.dumps(_read(runtime.load(path), asked, lists)))

    given = f"{path.with_name(f'{path.name}.stamp').read_text()} {QUERIES} {READ}"
    read = json.loads(place.keep(f"{name}.first_lists.json", build, (), given).read_text())
    values: dict[str, dict[int, NDArray[np.float64]]] = {}
    ids = asked.analysed.documents.ids
    for first, numbers in lists.items():
        values[first] = {0: reciprocal_ranks(ids, numbers, queries)}
        for most in READ:
            again = [_again(each, scores, most) for each, scores in zip(numbers, read, strict=True)]
            values[first][most] = reciprocal_ranks(ids, again, queries)
    return f"""### {name}{"" if titles else " without titles"}, {len(queries):,} dev queries

{
        table(
            ["MRR@10 of the first list", *(f"{n} read" for n in (0, *READ))],
            [
                [first, *(f"{own[n].mean():.4f}" for n in (0, *READ))]
                for first, own in values.items()
            ],
        )
    }

{_gains(values, ENCODER)}

{_gains(values, BOTH)}

{_changes(values)}
"""


def _gains(values: Any, other: str) -> str:
    """Return what a list gains on BM25's, by how much is read."""
    series: dict[str, NDArray[np.float64]] = {}
    pairs = []
    for most in (0, *READ):
        names = f"{other}, {most} read", f"BM25, {most} read"
        series |= {names[0]: values[other][most], names[1]: values[BM25][most]}
        pairs.append(names)
    return compared(series, pairs)


def _changes(values: Any) -> str:
    """Return how much smaller the gain is when more is read."""
    rows = []
    for other in (ENCODER, BOTH):
        gain = {most: values[other][most] - values[BM25][most] for most in (0, *READ)}
        p = paired_t_test(gain[READ[0]], gain[READ[-1]])
        less = interval(gain[READ[0]], gain[READ[-1]])
        rows.append([other, str(less), f"{p:.2g}"])
    head = ["list", f"its gain with {READ[0]} read − with {READ[-1]} read", "p"]
    return table(head, rows)


def _lists(asked: Asked) -> Lists:
    """Return the first documents of BM25, of the encoder and of their sum."""
    checkpoint = read_model(wheel_folder())
    model, settings = dense.load(checkpoint).eval(), checkpoint.settings
    of_all = encoded(model, checkpoint, asked.texts(), settings.max_document_tokens)
    texts = [each.text for each in asked.queries]
    of_queries = encoded(model, checkpoint, texts, settings.max_query_tokens)
    lists: Lists = {BM25: [], ENCODER: [], BOTH: []}
    for query, found, own in zip(of_queries, asked.found, asked.scores, strict=True):
        cosines = (of_all @ query).numpy()
        lexical = np.full(len(cosines), min(own, default=0), np.float32)
        lexical[found] = own
        near = np.argsort(-cosines, kind="stable")[: max(READ)]
        either = np.union1d(found[: max(READ)], near)
        mixed = OF_BM25 * _standard(lexical[either])
        mixed = mixed + (1 - OF_BM25) * _standard(cosines[either])
        lists[BM25].append(np.asarray(found[: max(READ)], np.int64))
        lists[ENCODER].append(np.asarray(near, np.int64))
        best = np.argsort(-mixed, kind="stable")[: max(READ)]
        lists[BOTH].append(np.asarray(either[best], np.int64))
    return lists


def _standard(scores: NDArray[Any]) -> NDArray[Any]:
    return (scores - scores.mean()) / (scores.std() + 1e-6) if len(scores) else scores


def _read(bundle: runtime.Bundle, asked: Asked, lists: Lists) -> list[dict[str, float]]:
    """Return the cross-encoder's scores of each query's documents, by their number."""
    made = []
    for at, query in enumerate(asked.queries):
        numbers = sorted({int(n) for own in lists.values() for n in own[at]})
        texts = [asked.text(number) for number in numbers]
        hits = bundle.rank(query.text, texts, k=max(1, len(texts))) if texts else ()
        made.append({str(numbers[hit.index]): hit.score for hit in hits})
        if at % 50 == 0:
            print(f"{at:,} of {len(asked.queries):,} queries", flush=True)
    return made


def _again(numbers: NDArray[np.int64], scores: dict[str, float], most: int) -> NDArray[np.int64]:
    first = sorted(numbers[:most].tolist(), key=lambda number: -scores[str(number)])
    return np.concatenate([np.array(first, np.int64), numbers[most:]])
