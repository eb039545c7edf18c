"""Light contextualisation next to its oracle: SRM, LCM, and static queries beyond the thesis.

In the shape of Boualili's Tables 8.1 to 8.4, with smaller networks: a ColBERT of MiniLM-L6 with 128
dimensions is the oracle. All systems learn from the same texts and queries of qa-mix. What was
trained and scored is kept, so that the tables can grow from run to run.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.late_interaction import qa_mix_colbert
from benchmarks.built.light import BASE, LEARNING_QUERIES, ORACLE, Found, judged, material, scores
from benchmarks.built.token_vectors import DEPTH, REPORTED, Ranked
from benchmarks.harness.judging import judged_lists, values_of
from benchmarks.harness.place import Place
from benchmarks.harness.query_scaling import of_unit_variance
from benchmarks.harness.report import table
from ranklet.training.checkpoint import read_checkpoint
from ranklet.training.evaluation.measures import Judged as Graded
from ranklet.training.evaluation.measures import parse_measure, per_query
from ranklet.training.evaluation.significance import compare
from ranklet.training.evaluation.systems import mark
from ranklet.training.rankers.srm.options import Options
from ranklet.training.tuning.cross_validation import interpolate

PACKAGES = ("torch", "transformers")
MEASURES = ("MRR@10", "nDCG@10")
BM25 = "BM25, tuned"
SEEDS = (0, 1, 2)
PROCESSES = 2


class System(NamedTuple):
    """A row of the tables.

    Attributes:
        changes: options that differ from those that all systems share.
        seeds: of its trainings.
    """

    changes: dict[str, Any]
    seeds: tuple[int, ...] = SEEDS


NEAR: dict[str, Any] = {"context": "neighbours"}
ORACLES: dict[str, Any] = {**NEAR, "window": 1, "documents": "oracle"}
MEANS: dict[str, Any] = {
    "sub_embeddings": 1, "window": 0, "distil_steps": 0, "fine_tune": False,
}  # fmt: skip
ONE = (0,)  # seed of the systems that no relation and no bar below depends on
SYSTEMS = {
    "SRM-K1": System({"sub_embeddings": 1, "window": 0}),
    "SRM, K = 5": System({"sub_embeddings": 5, "window": 0}, ONE),
    "SRM, K = 10": System({"window": 0}),
    "SRM-Avg": System({"window": 0, "mixing": "average"}),
    "SRM-Top1": System({"window": 0, "mixing": "top1"}),
    "SRM-LCM, window 1": System({"window": 1}),
    "SRM-LCM, window 3": System({"window": 3}, ONE),
    "SRM-LCM, window 5": System({"window": 5}, ONE),
    "SRM-LCM, whole text": System({"window": 512}, ONE),
    "SRM-K1-LCM": System({"sub_embeddings": 1, "window": 1}),
    "SRM-Top1-LCM": System({"mixing": "top1", "window": 1}, ONE),
    "H1: SRM, static": System({**NEAR, "window": 0}, ONE),
    "H1: SRM-LCM, static": System({**NEAR, "window": 1}),
    "H1: SRM-K1-LCM, static": System({**NEAR, "sub_embeddings": 1, "window": 1}, ONE),
    "H1: SRM-LCM, static, IDF": System({**NEAR, "window": 1, "idf": True}),
    "H2: static query, oracle's documents": System(ORACLES),
    "H2: the same, the table fine-tuned, too": System({**ORACLES, "train_table": True}, ONE),
    "H3: means of the oracle's vectors": System(MEANS, ONE),
    "H3: the same with IDF": System({**MEANS, "idf": True}, ONE),
}
TABLES = {
    "Table 8.1: sub-embeddings per token": [ORACLE, "SRM-K1", "SRM, K = 5", "SRM, K = 10"],
    "Table 8.2: how sub-embeddings are mixed": [
        ORACLE, "SRM, K = 10", "SRM-Avg", "SRM-Top1", "SRM-K1",
    ],
    "Table 8.3: neighbours on each side": [
        ORACLE, "SRM, K = 10", "SRM-LCM, window 1", "SRM-LCM, window 3", "SRM-LCM, window 5",
        "SRM-LCM, whole text",
    ],
    "Table 8.4: sub-embeddings with and without neighbours": [
        ORACLE, "SRM, K = 10", "SRM-LCM, window 1", "SRM-K1", "SRM-K1-LCM", "SRM-Top1",
        "SRM-Top1-LCM",
    ],
    "Beyond the thesis: no network reads the query": [
        ORACLE, "SRM-K1-LCM", "SRM-K1", "H1: SRM, static", "H1: SRM-LCM, static",
        "H1: SRM-LCM, static, IDF", "H1: SRM-K1-LCM, static",
        "H2: static query, oracle's documents", "H2: the same, the table fine-tuned, too",
        "H3: means of the oracle's vectors", "H3: the same with IDF",
    ],
}  # fmt: skip
# What the thesis found, first ≥ or > second.
RELATIONS = [
    (ORACLE, "SRM-LCM, window 1"),
    ("SRM-LCM, window 1", "SRM, K = 10"),
    ("SRM, K = 10", "SRM-K1"),
    ("SRM-K1", "SRM-Avg"),
    ("SRM, K = 10", "SRM-Top1"),
    ("SRM-Top1", "SRM-K1"),
    ("SRM-K1-LCM", "SRM-K1"),
    ("SRM-Top1-LCM", "SRM-Top1"),
    ("SRM-LCM, window 1", "SRM-LCM, whole text"),
]
BAR, FLOOR = "SRM-K1-LCM", "SRM-K1"  # of the systems beyond the thesis


class Values(NamedTuple):
    """What a system reached on a collection."""

    per_seed: dict[str, NDArray[np.float64]]  # of each measure, (seeds, queries)
    fused: NDArray[np.float64]  # MRR@10 with BM25, the seeds' mean, (queries,)


def run(place: Place) -> str:
    """Train and score what is not kept, and compare."""
    found = all_scores(place, SYSTEMS)
    parts = [_intro(place)]
    for collection in REPORTED:
        lists = judged(place, collection).ranked
        values = {name: _values(each, collection, lists) for name, each in found.items()}
        values[BM25] = _bm25(lists)
        parts += _tables(collection, lists, values)
    return "\n\n".join(parts)


def all_scores(place: Place, systems: Mapping[str, System]) -> dict[str, list[Found]]:
    """Return every system's scores by seed; what is not kept is trained in two processes."""
    jobs: list[tuple[str, int, dict[str, Any]]] = [(ORACLE, 0, {})]
    for seed in SEEDS:  # the first seed of all systems first
        jobs += [(name, seed, each.changes) for name, each in systems.items() if seed in each.seeds]
    material(place)  # before the processes begin, so that only one of them computes vectors
    for collection in REPORTED:
        judged(place, collection)
    with ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool:
        kept = list(pool.map(partial(_job, place), jobs))
    found: dict[str, list[Found]] = {}
    for (name, *_), each in zip(jobs, kept, strict=True):
        found.setdefault(name, []).append(each)
    return found


def _job(place: Place, job: tuple[str, int, dict[str, Any]]) -> Found:
    import torch

    torch.set_num_threads(max(1, (os.cpu_count() or 1) // PROCESSES))
    return scores(place, *job)


def _values(found: Iterable[Found], collection: str, lists: Ranked) -> Values:
    seeds = [_graded(lists, each.scores[collection]) for each in found]
    return Values(
        {
            measure: np.stack(
                [per_query(each, each.features[:, :, 1], parse_measure(measure)) for each in seeds]
            )
            for measure in MEASURES
        },
        np.mean([interpolate(each, MEASURES[0]).values for each in seeds], axis=0),
    )


def _bm25(lists: Ranked) -> Values:
    own = values_of(lists.queries, _names(lists), lists.bm25, MEASURES)
    return Values({name: each[None] for name, each in own.items()}, own[MEASURES[0]])


def _graded(lists: Ranked, scored: Sequence[NDArray[np.float32]]) -> Graded:
    """Return candidates with the scores of BM25 and of a system, of unit variance per query."""
    both = zip(lists.bm25, scored, strict=True)
    features = [of_unit_variance(np.stack(each, 1)) for each in both]
    return judged_lists(lists.queries, _names(lists), features)


def _names(lists: Ranked) -> list[list[str]]:
    return [lists.names(own) for own in lists.candidates]


def _tables(collection: str, lists: Ranked, values: Mapping[str, Values]) -> list[str]:
    means = {
        name: {measure: each.per_seed[measure].mean(0) for measure in MEASURES}
        for name, each in values.items()
    }
    others = [name for name in values if name != ORACLE]
    signs = {
        measure: {
            each.first: mark(each.p_holm).strip()
            for each in compare(
                {name: own[measure] for name, own in means.items()},
                pairs=[(name, ORACLE) for name in others],
            )
        }
        for measure in MEASURES
    }
    split = REPORTED[collection][0]
    parts = [f"### {collection} {split}, {len(lists.queries):,} queries, BM25's first {DEPTH}"]
    for title, names in TABLES.items():
        rows = [_row(name, values[name], values[ORACLE], signs) for name in [BM25, *names]]
        head = ["system", *MEASURES, "of the oracle", "MRR@10 with BM25"]
        parts.append(f"{title}\n\n{table(head, rows)}")
    parts.append(
        "† p < .05, ‡ p < .01 against the oracle (two-sided paired t-tests over queries of the "
        "mean of the seeds, Holm's correction). Brackets: lowest and highest seed. *With BM25*: "
        "α · BM25 + (1 − α) · MaxSim, of unit variance over a query's candidates, α by 5-fold "
        "cross-validation."
    )
    parts.append(_relations(means, RELATIONS, "the thesis' relation, MRR@10"))
    static = TABLES[list(TABLES)[-1]][3:]
    against = [(name, other) for name in static for other in (BAR, FLOOR)]
    parts.append(_relations(means, against, "beyond the thesis, MRR@10"))
    return parts


def _row(
    name: str, own: Values, oracle: Values, signs: Mapping[str, Mapping[str, str]]
) -> list[str]:
    cells = []
    for measure in MEASURES:
        seeds = own.per_seed[measure].mean(1)
        spread = f" ({seeds.min():.3f}–{seeds.max():.3f})" if len(seeds) > 1 else ""
        cells.append(f"{seeds.mean():.4f}{signs[measure].get(name, '')}{spread}")
    share = own.per_seed[MEASURES[0]].mean() / oracle.per_seed[MEASURES[0]].mean()
    return [name, *cells, f"{share:.1%}", f"{own.fused.mean():.4f}"]


def _relations(
    means: Mapping[str, Mapping[str, NDArray[np.float64]]],
    pairs: Sequence[tuple[str, str]],
    title: str,
) -> str:
    own = {name: each[MEASURES[0]] for name, each in means.items()}
    rows = []
    for each in compare(own, pairs=pairs):
        low, high = _interval(own[each.first] - own[each.second])
        least = 0.0 if each.first == ORACLE else np.nextafter(0, 1)
        if each.difference < least:
            verdict = "fails" if each.p_holm < 0.05 else "fails, not significant"
        else:
            verdict = "holds" if each.p_holm < 0.05 else "holds, not significant"
        rows.append(
            [
                f"{each.first} {'≥' if each.first == ORACLE else '>'} {each.second}",
                f"{each.difference:+.4f}",
                f"{low:+.4f} to {high:+.4f}",
                f"{each.p_holm:.3g}",
                verdict,
            ]
        )
    head = [title, "difference", "95 % interval", "p (Holm)", ""]
    return table(head, rows)


def _interval(differences: NDArray[np.float64]) -> tuple[float, float]:
    error = 1.96 * differences.std(ddof=1) / np.sqrt(len(differences))
    return float(differences.mean() - error), float(differences.mean() + error)


def _intro(place: Place) -> str:
    oracle = read_checkpoint(qa_mix_colbert(place)).training
    comparison = oracle["comparison"]
    return f"""\
The oracle is MiniLM-L6 with a projection to 128 numbers, the cosine and in-batch negatives, \
{oracle["steps"]} steps of {oracle["options"]["batch"]} queries of qa-mix in \
{oracle["seconds"] / 60:.0f} minutes. {comparison["measure"]} is {comparison["before"]:.3f} \
before, {comparison["after"]:.3f} after, and {comparison["bm25"]:.3f} with BM25. The tables of \
light vectors begin with centroids of the oracle's vectors. Distillation takes \
{BASE["distil_steps"]} steps of {BASE["distil_batch"]} texts with {Options.distil_tokens} tokens \
each (all documents of qa-mix and scifact, {LEARNING_QUERIES:,} training queries). Fine-tuning \
takes {BASE["steps"]} steps of {BASE["batch"]} queries of qa-mix by Margin-MSE, with the oracle as \
the teacher. Nothing was chosen on the queries below, and no judgement of scifact was used."""
