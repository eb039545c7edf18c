"""The default fusion of a new search next to its halves, to ranks and to a measured spread of BM25.

Nothing is trained, and no weight was chosen on the queries that are reported. The spread of BM25
was chosen on queries of train, whose table stands at the end.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.fusion.collections import (
    BM25,
    COMPARED,
    Compared,
    bundle_of,
    choice_of,
    model_of,
    queries_of,
)
from benchmarks.harness.place import CODE, Place
from benchmarks.harness.report import table
from ranklet.corpus.building.default_fusion import (
    WORDS_SPREAD,
    measured_spreads,
    shares_of,
    weights_of,
)
from ranklet.corpus.building.default_pipelines import BY_RANKS, SUM
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.evaluation.significance import compare, interval
from ranklet.corpus.evaluation.systems import evaluate
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.pipeline import Fuse, Pipeline

PACKAGES = ("onnxruntime", "tokenizers", "torch", "transformers")
MEASURES = ("MRR@10", "nDCG@10", "R@100")
DEPTH = 100
DOCUMENTS = 2_500  # of a collection, at most, besides those that answer a query
DEFAULT, RANKS = f"sum, BM25's spread {WORDS_SPREAD:g} (default)", "reciprocal ranks, k = 60"
WORDS, MEANING = "BM25 alone", "encoder alone"
MEASURED = "sum, BM25's spread measured, too"  # the default before
SPREADS = (0.05, 0.07, 0.09, 0.11, 0.13, 0.16, 0.2)  # of BM25, beside the default's
LEAST_GAIN = 0.015  # of mean nDCG@10 over reciprocal ranks, the goal

CODE_HERE = (*CODE, "runtime/pipeline.py", "benchmarks/fusion")
Values = Mapping[str, Mapping[str, NDArray[np.float64]]]  # by system and measure


def run(place: Place) -> str:
    """Build each collection, and compare the fusions on its queries."""
    found, train, weights = dict[str, Values](), dict[str, Values](), dict[str, str]()
    for each in COMPARED:
        of = values_of(place, each._replace(documents=min(DOCUMENTS, each.documents)))
        name = f"{each.name}, {each.model}"
        found[name], train[name] = of["reported"], of["train"]
        weights[name] = f"{of['weight']:.2f}"
    return f"""
{means(found)}

{each_collection(found, weights)}

{verdicts(found)}

At most {DOCUMENTS:,} documents each, or those that answer queries where these are more. *Before*: \
the spread of BM25 was measured, as the encoder's is.

The spread was chosen on queries of train:

{means(train)}
"""


def values_of(place: Place, each: Compared) -> dict[str, Any]:
    """Return the values of the reported queries and of train, and BM25's weight; they are kept."""

    def make(path: Path) -> None:
        bundle = bundle_of(place, each, model_of(each))
        recipes = systems(bundle, each.model)
        told = {
            "reported": _values(bundle, queries_of(place, each), recipes),
            "train": _values(bundle, choice_of(place, each), recipes),
            "weight": fuse_of(bundle).weights[0],
        }
        path.write_text(json.dumps(told))

    path = place.keep(f"{each.name}.{each.model}.{each.documents}.fusion.json", make, CODE_HERE)
    told: dict[str, Any] = json.loads(path.read_text())
    for part in ("reported", "train"):
        told[part] = {
            system: {measure: np.array(values) for measure, values in of.items()}
            for system, of in told[part].items()
        }
    return told


def _values(
    bundle: Bundle, queries: list[JudgedQuery], recipes: Mapping[str, Pipeline]
) -> dict[str, dict[str, list[float]]]:
    evaluations = evaluate(bundle, queries, recipes, measures=MEASURES, depth=DEPTH)
    return {
        each.pipeline: {name: values.tolist() for name, values in each.values.items()}
        for each in evaluations
    }


def systems(bundle: Bundle, model: str) -> dict[str, Pipeline]:
    """Return the pipelines that are compared, by name."""
    standard = bundle.manifest.pipelines
    lists = standard[SUM].stages[:-1]
    spread = measured_spreads(bundle, (BM25, model))
    sums = {MEASURED: spread[BM25], **{f"sum, BM25's spread {each:g}": each for each in SPREADS}}
    shares = shares_of(bundle.manifest.rankers)
    fuses = {
        name: Fuse("linear", tuple(weights), tuple(weights.values()))
        for name, each in sums.items()
        for weights in [weights_of({**spread, BM25: each}, shares)]
    }
    return {
        WORDS: standard[BM25],
        MEANING: standard[model],
        RANKS: standard[BY_RANKS],
        DEFAULT: standard[SUM],
        **{name: Pipeline((*lists, fuse)) for name, fuse in fuses.items()},
    }


def fuse_of(bundle: Bundle) -> Fuse:
    """Return the fusion of the default pipeline."""
    stage = bundle.manifest.pipelines[SUM].stages[-1]
    if not isinstance(stage, Fuse):
        raise TypeError(f"the default pipeline ends with {stage}")
    return stage


def means(found: Mapping[str, Values]) -> str:
    """Return the table of means over collections, and of differences from reciprocal ranks."""
    rows = []
    for system in next(iter(found.values())):
        cells = [
            f"{np.mean([values[system][measure].mean() for values in found.values()]):.3f}"
            for measure in MEASURES
        ]
        rows.append([system, *cells, *against(found, system, RANKS)])
    head = ["system", *MEASURES, "nDCG@10 − ranks", "better on", "significantly better / worse"]
    return table(head, rows)


def against(found: Mapping[str, Values], system: str, base: str) -> list[str]:
    """Return a system's mean difference of nDCG@10, where it is better, and how often surely."""
    if system == base:
        return ["", "", ""]
    tests = [_test(values, system, base) for values in found.values()]
    gains = [gain for gain, _ in tests]
    surely = [gain for gain, p in tests if p < 0.05]
    above, below = (sum(sign * gain > 0 for gain in surely) for sign in (1, -1))
    better = f"{sum(gain > 0 for gain in gains)} of {len(gains)}"
    return [f"{np.mean(gains):+.3f}", better, f"{above} / {below}"]


def _test(values: Values, system: str, base: str) -> tuple[float, float]:
    """Return a difference of nDCG@10 and its p-value."""
    pair = {name: values[name]["nDCG@10"] for name in (system, base)}
    (tested,) = compare(pair, pairs=[(system, base)])
    return tested.difference, tested.p


def each_collection(found: Mapping[str, Values], weights: Mapping[str, str]) -> str:
    """Return the table of nDCG@10 by collection."""
    rows = []
    for name, values in found.items():
        cells = [
            f"{values[each]['nDCG@10'].mean():.3f}"
            for each in (WORDS, MEANING, RANKS, MEASURED, DEFAULT)
        ]
        gain = interval(values[DEFAULT]["nDCG@10"], values[MEASURED]["nDCG@10"])
        rows.append([name, *cells, weights[name], str(gain)])
    head = ["collection, encoder", "BM25", "encoder", "ranks", "before", "default"]
    return table([*head, "weight of BM25", "default − before"], rows)


def verdicts(found: Mapping[str, Values]) -> str:
    """Return which goals are met."""
    worse = []
    for name, values in found.items():
        better = max((WORDS, MEANING), key=lambda each: values[each]["nDCG@10"].mean())
        gain, p = _test(values, DEFAULT, better)
        if gain < 0 and p < 0.05:
            worse.append(f"{name} ({gain:+.3f})")
    gains = {name: _test(values, DEFAULT, RANKS)[0] for name, values in found.items()}
    below = [name for name, gain in gains.items() if gain <= 0]
    mean = float(np.mean(list(gains.values())))
    return "\n".join(
        [
            _goal("significantly worse than the better half on none", not worse, worse),
            _goal("better than reciprocal ranks on all but at most one", len(below) <= 1, below),
            _goal(f"mean nDCG@10 at least +{LEAST_GAIN}", mean >= LEAST_GAIN, [f"{mean:+.3f}"]),
        ]
    )


def _goal(what: str, met: bool, facts: list[str]) -> str:
    return f"- Goal: {what}: {'met' if met else '**missed**'}; {', '.join(facts) or 'none'}."
