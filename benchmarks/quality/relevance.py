"""Whether a hit's relevance tells answers from the best of what is there.

Every query is asked with its answers and without them, as if the collection had none. What ranklet
brings for a collection is fitted on queries of other domains. `ranklet calibrate` then learns from
some queries of the collection, and all others of the same split tell how true it became.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.fusion.collections import BM25, MINILM
from benchmarks.harness.place import ROOT, MissingDataError, Place
from benchmarks.harness.report import goal, table
from benchmarks.quality.relevance_collections import (
    CODE_HERE,
    MEASURED,
    Measured,
    bundle_of,
    off_topic,
)
from benchmarks.quality.relevance_picture import Told, picture
from ranklet import runtime
from ranklet.corpus.building.default_pipelines import SUM
from ranklet.corpus.collections.collection import Query, write_collection
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.evaluation.gaps import BELOW
from ranklet.corpus.tuning.calibration import auc, calibration_error, fit_logistic
from ranklet.runtime.pipelines import relevance
from ranklet.runtime.pipelines.relevance import NUMBERS, OF_ALL, chances
from ranklet.runtime.writing.atomic_file import atomic_file
from ranklet.workflows.learn.calibrate import READ, calibrate

PACKAGES = ()
JUDGED = 100  # queries of its own that a collection is calibrated on
DRAWS = 5  # of these queries
UNSEEN, LEARNED = 8, 6  # goals of the mean error, %
SHOWN, OFF_TOPIC_GOAL = 0.3, 4  # a relevance that says yes, and of queries of other subjects, %
ASKING = (*CODE_HERE, "runtime/execution", "runtime/pipelines/relevance.py", "runtime/search")
WORDS, VECTORS, SUMS = "words", "vectors", "words and vectors"
PIPELINES = {WORDS: BM25, VECTORS: MINILM, SUMS: SUM}
OFF_TOPIC_COUNTS = 0.3  # what queries of other subjects count in all; chosen on train
OF_SCORES = {WORDS: (2.5,), VECTORS: (0.0,), SUMS: (2.0, 0.0)}  # by ranker
DOMAINS = tuple(dict.fromkeys(each.domain for each in MEASURED))
PICTURE = ROOT / "docs" / "relevance.svg"
TOLD = """\
Each query is asked with its answers and without them. *Right*: the share of queries whose best \
hit answers them. *AUC*: how often a right best hit has more than a wrong one, by the score and \
by relevance. *Error*: the calibration error with weights of other domains, and after `ranklet \
calibrate` has learned from so many of a collection's queries, both of all others, a mean of \
five draws. *Says*: what the command then prints. *Off-topic*: the share of questions of other \
subjects that reach .3 with weights of other domains. Weights, and what was chosen, are of \
queries of train; the table is of dev (scifact: test). Forms of one collection have one domain, \
as have both of Wikipedia, and all of Debian. *Packages alike* are those of which eight or more \
begin with the same word, and *lines of packages* are found by the first sentences of their \
descriptions. There are at most 500 queries of a split and 4,000 documents besides their \
answers, with vectors 250 and 1,000."""


class Found(NamedTuple):
    """The best hits of a split's queries, each of which was asked with its answers and without."""

    numbers: NDArray[np.float64]  # what `Bundle.evidence` says, (hits, features)
    relevant: NDArray[np.float64]  # 1 or 0, (hits,)
    scores: NDArray[np.float64]  # (hits,)
    query: NDArray[np.intp]  # which one, (hits,)
    hidden: NDArray[np.bool_]  # whether its answers were, (hits,)
    best: NDArray[np.bool_]  # whether it is the first hit, (hits,)
    origin: NDArray[np.intp]  # the domain of a query of another subject, in `DOMAINS`; else −1

    @property
    def own(self) -> NDArray[np.bool_]:
        """Whether the query is the collection's, (hits,)."""
        return self.origin < 0

    def of(self, chosen: NDArray[np.bool_]) -> "Found":
        """Return some of the hits; `chosen` is (hits,)."""
        return Found._make(each[chosen] for each in self)


class Calibrated(NamedTuple):
    """What `ranklet calibrate` made of some queries."""

    weights: tuple[float, ...]
    said: float  # the error that it printed
    queries: list[int]  # that it learned from


Splits = Mapping[str, tuple[Found, Found]]  # of train and of the reported split, by collection


def run(place: Place) -> str:
    """Ask the queries of all collections by words, and draw what they are told."""
    found = dict(_found(place, WORDS))
    text, errors = section(place, WORDS, found)
    told = {}
    for name, (_, asked) in found.items():
        first = asked.of(asked.best & asked.own)
        likely = chances(first.numbers, brought(found, WORDS, domain(name)))
        told[name] = {WORDS: Told(likely, first.relevant)}
    with atomic_file(PICTURE) as file:
        file.write(picture(told, {WORDS: errors}, (0, JUDGED)).encode())
    return f"{TOLD} [Picture](../../docs/relevance.svg).\n\n{text}"


def compare_vectors(place: Place) -> str:
    """Ask the queries of some collections by vectors, and by both."""
    systems = (VECTORS, SUMS)
    return "\n\n".join(section(place, each, dict(_found(place, each)))[0] for each in systems)


def _found(place: Place, system: str) -> Iterator[tuple[str, tuple[Found, Found]]]:
    for each in measured(system):
        try:
            yield each.name, (found_of(place, each, system, 0), found_of(place, each, system, 1))
        except MissingDataError as missing:
            print(f"{each.name}: {missing}", file=sys.stderr)


def measured(system: str) -> list[Measured]:
    """Return the collections on which a system is measured."""
    return [each for each in MEASURED if each.encoded or system == WORDS]


def found_of(place: Place, each: Measured, system: str, split: int) -> Found:
    """Return the best hits of the queries of train, or of the reported split."""

    def make(path: Path) -> None:
        bundle, queries = bundle_of(place, each, vectors=system != WORDS)
        rows, asked = [], queries[("train", each.split)[split]]
        others = off_topic(place, each, split, vectors=system != WORDS)
        every = [(query.text, query.relevant, -1) for query in asked]
        every += [(text, {}, DOMAINS.index(origin)) for origin, text in others]
        for number, (text, relevant, origin) in enumerate(every):
            for hidden in (False, True) if relevant else (True,):
                hide = tuple(relevant) if hidden else ()
                best = bundle.evidence(text, READ, PIPELINES[system], hide=hide)
                for at, (name, score, row) in enumerate(zip(*best, strict=True)):
                    right = int(name in relevant)
                    rows.append([number, hidden, at, right, float(score), origin, *row.tolist()])
        path.write_text(json.dumps(rows))

    name = f"relevance.{each.name}.{system}.{split}.json".replace(" ", "-")
    rows = np.array(json.loads(place.keep(name, make, ASKING).read_text()))
    query, hidden, at, right, score, origin = rows[:, :6].T
    query, origin = query.astype(np.intp), origin.astype(np.intp)
    return Found(rows[:, 6:], right, score, query, hidden == 1, at == 0, origin)


def domain(name: str) -> str:
    """Return what a collection is left out with."""
    return next(each.domain for each in MEASURED if each.name == name)


def brought(found: Splits, system: str, without: str = "") -> tuple[float, ...]:
    """Return the weights that collections teach, by domains of which each counts the same.

    The weight of the score itself is given, because more of it tells better within a collection
    and worse between them.
    """
    taught = {
        name: train.of(np.array([*DOMAINS, None])[train.origin] != (without or "none"))
        for name, (train, _) in found.items()
        if domain(name) != without
    }
    shares = Counter(map(domain, taught))
    numbers = np.concatenate([each.numbers for each in taught.values()])
    counts = [_counts(each) / shares[domain(name)] for name, each in taught.items()]
    scores = np.arange(numbers.shape[1]) % len(NUMBERS) == len(OF_ALL)
    fixed = np.array(OF_SCORES[system])
    constant, *others = fit_logistic(
        numbers[:, ~scores],
        np.concatenate([each.relevant for each in taught.values()]),
        np.concatenate(counts),
        ridge=1e-6,
        offset=numbers[:, scores] @ fixed,
    )
    weights = np.empty(numbers.shape[1])
    weights[scores], weights[~scores] = fixed, others
    return (constant, *weights.tolist())


def _counts(found: Found) -> NDArray[np.float64]:
    """Return what each hit counts; those of the collection's own queries count 1 together."""
    counts = np.where(found.best, 1.0, 0.5)
    counts[found.own] /= counts[found.own].sum()
    counts[~found.own] *= OFF_TOPIC_COUNTS / max(1.0, counts[~found.own].sum())
    return counts


def calibrated(
    place: Place, each: Measured, system: str, prior: Sequence[float]
) -> list[Calibrated]:
    """Return what `ranklet calibrate` makes of a collection that ranklet brings these weights for.

    It learns from some queries of the reported split, drawn several times.
    """

    def make(path: Path) -> None:
        bundle, queries = bundle_of(place, each, vectors=system != WORDS)
        rankers = bundle.manifest.pipeline(PIPELINES[system]).rankers
        shipped = {bundle.manifest.compared(rankers): tuple(prior)}
        asked, rng, made = queries[each.split], np.random.default_rng(0), []
        for _ in range(DRAWS):
            drawn = sorted(rng.choice(len(asked), JUDGED, replace=False).tolist())
            folder, target = path.with_suffix(".judged"), path.with_suffix(".ranklet")
            _write_judged(folder, [asked[at] for at in drawn])
            with patch.object(relevance, "SHIPPED", shipped):
                refit = calibrate(
                    bundle.files.path, folder, target, pipeline=PIPELINES[system],
                    overwrite=True,
                )  # fmt: skip
            (own,) = runtime.load(target).manifest.relevance
            made.append(Calibrated(own.weights, refit.after, drawn))
        path.write_text(json.dumps(made))

    name = f"relevance.{each.name}.{system}.calibrated.json".replace(" ", "-")
    code = (*ASKING, "src/ranklet/workflows/learn/calibrate.py", "corpus/tuning/calibration.py")
    made = place.keep(name, make, code, " ".join(f"{each:.6g}" for each in prior))
    return [Calibrated(tuple(a), b, c) for a, b, c in json.loads(made.read_text())]


def _write_judged(folder: Path, judged: Sequence[JudgedQuery]) -> None:
    queries = [Query(each.id, each.text) for each in judged]
    qrels = {each.id: each.relevant for each in judged}
    write_collection(folder, [], {"judged": (queries, qrels)}, overwrite=True)


def section(place: Place, system: str, found: Splits) -> tuple[str, list[float]]:
    """Return the table of a system with the weights that all teach, and its mean errors."""
    rows, sums, below, through = [], [], [], []
    for each in measured(system):
        if each.name not in found:
            continue
        asked = found[each.name][1]
        first, prior = asked.of(asked.best & asked.own), brought(found, system, each.domain)
        foreign = asked.of(asked.best & ~asked.own)
        likely, truth = chances(first.numbers, prior), first.relevant
        made = calibrated(place, each, system, prior)
        kept = [first.of(~np.isin(first.query, one.queries)) for one in made]
        before = [_error(own, prior) for own in kept]
        after = [_error(own, one.weights) for own, one in zip(kept, made, strict=True)]
        errors = [before, after, [one.said for one in made]]
        values = [auc(first.scores, truth), auc(likely, truth), *np.mean(errors, axis=1).tolist()]
        sums.append(values)
        low, off = likely < BELOW, chances(foreign.numbers, prior) >= SHOWN
        through.append([off.mean(), (likely[truth == 1] >= SHOWN).mean()])
        below.append([low[first.hidden].mean(), low[truth == 1].mean()])
        shown = [f"{value:.3f}" for value in values]
        share = f"{off.mean():.0%}"
        rows.append([each.name, f"{truth[~first.hidden].mean():.2f}", *shown, share])
    means = np.mean(np.array(sums), axis=0).tolist()
    passed, answers = np.mean(through, axis=0)
    rows.append(["**mean**", "", *(f"**{value:.3f}**" for value in means), f"**{passed:.1%}**"])
    head = ["collection", "right", "AUC of scores", "AUC", "error", f"after {JUDGED}", "says"]
    head.append("off-topic")
    hidden, right = np.mean(below, axis=0)
    taught = ", ".join(f"{each:.3f}" for each in brought(found, system))
    text = f"""**{system}**

{table(head, rows)}

All collections teach {taught}. Below {BELOW} are {hidden:.0%} of the queries without an answer, \
and {right:.0%} of those whose best hit is right. {SHOWN} reach {passed:.1%} of the queries of \
other subjects, and {answers:.0%} of those whose best hit is right.

{goal("mean error of unseen collections", 100 * means[2], UNSEEN, "%")}
{goal(f"queries of other subjects that reach {SHOWN}", 100 * passed, OFF_TOPIC_GOAL, "%")}
{goal(f"mean error after {JUDGED} judged queries", 100 * means[3], LEARNED, "%")}"""
    return text, means[2:4]


def _error(first: Found, weights: Sequence[float]) -> float:
    return calibration_error(chances(first.numbers, weights), first.relevant)
