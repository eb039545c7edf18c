"""The papers' relations with their evidence, read from relations.toml and runs.jsonl."""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers.plans import BM25, NAMES
from benchmarks.papers.verdicts import Cell, Claim, correct, join_errors, judge, judge_cell
from ranklet.corpus.evaluation.significance import t_quantile

TABLE = Path(__file__).with_name("relations.toml")
KEPT = "papers.runs.jsonl"  # what `paper_trainings` leaves in the work folder
RUNS = TABLE.with_name("runs.jsonl")  # a line per training, seed and collection
COLLECTIONS = {
    "m": "medquad", "q": "qa-mix", "g": "google-wiki", "s": "scifact", "d": "debian-packages",
    "n": "needle",
}  # fmt: skip
NO_RUNS = "no runs"
ALONE = ("terms", "cross-encoder", "encoder")  # pools of a network next to what was not trained


class Run(NamedTuple):
    """What a training with a seed has reached on a collection.

    Attributes:
        start: the name of what its training began with; empty if it was no encoder.
        values: of every query in the order of the split, by system ("" is the training) and
            measure.
    """

    training: str
    seed: int
    collection: str
    start: str
    values: Mapping[str, Mapping[str, Sequence[float]]]

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> "Run":
        """Return what a line of runs.jsonl says."""
        return cls(*(given[name] for name in cls._fields))


Runs = Mapping[tuple[str, str], list[Run]]  # by training and collection


class Judged(NamedTuple):
    """A relation with its verdict.

    Attributes:
        given: its entry in relations.toml.
        cells: what was measured, with the entries that say it.
        p: of the cells, corrected.
        outcomes: the verdicts of the cells.
        verdict: of the relation.
    """

    given: Mapping[str, Any]
    cells: Sequence[tuple[Mapping[str, Any], Cell]]
    p: Sequence[float]
    outcomes: Sequence[str]
    verdict: str


def group_runs(runs: Iterable[Run]) -> dict[tuple[str, str], list[Run]]:
    """Return runs by training and collection."""
    found: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        found.setdefault((run.training, run.collection), []).append(run)
    return found


def read_runs(path: Path = RUNS) -> dict[tuple[str, str], list[Run]]:
    """Return the runs that are kept."""
    return group_runs(Run.read(json.loads(line)) for line in _lines(path))


def keep_runs(new: Iterable[Mapping[str, Any]], path: Path = RUNS) -> None:
    """Write runs in place of earlier ones of the same training, seed and collection."""
    found = {}
    for run in (*map(json.loads, _lines(path)), *new):
        found[run["training"], run["seed"], run["collection"]] = run
    lines = [json.dumps(found[key], separators=(",", ":")) for key in sorted(found)]
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def judge_all(path: Path = TABLE, runs: Path = RUNS) -> list[Judged]:
    """Return all relations in the order of the file, judged paper by paper."""
    given, kept = tomllib.loads(path.read_text("utf-8")), read_runs(runs)
    judged = []
    for paper in dict.fromkeys(each["paper"] for each in given["relation"]):
        relations = [each for each in given["relation"] if each["paper"] == paper]
        cells = [[_cell(cell, kept) for cell in each["cells"]] for each in relations]
        p = iter(correct([cell for each in cells for _, cell in each]))
        for relation, own in zip(relations, cells, strict=True):
            names = ("margin", "low", "high")
            claim = Claim(relation["claim"], **{n: relation[n] for n in names if n in relation})
            corrected = [next(p) for _ in own]
            outcomes = [
                judge_cell(claim, cell, each)
                for (_, cell), each in zip(own, corrected, strict=True)
            ]
            judged.append(Judged(relation, own, corrected, outcomes, judge(outcomes)))
    return judged


def measure_cell(
    name: str, other: str, collection: str, measure: str, pool: str, runs: Runs
) -> tuple[dict[str, Any], Cell]:
    """Compare a training with another system on a collection, by the values of all queries.

    Returns what was measured, as a cell of relations.toml says it, and the cell; nothing and a
    cell that decides nothing if there are no runs.
    """
    own, both = runs.get((name, collection), []), []
    for run in own:
        others = {each.seed: each.values[""] for each in runs.get((other, collection), ())}
        # A start has one seed, which stands beside each.
        theirs = run.values.get(other) or others.get(0 if other in NAMES else run.seed, {})
        values = [of.get(measure, ()) for of in (run.values[""], theirs, run.values[BM25])]
        if n := min(map(len, values)):
            both.append([each[:n] for each in values])
    n = min((len(each[0]) for each in both), default=0)
    if n < 2:
        return {}, Cell(0.0, nothing=NO_RUNS)
    ours, theirs_, bm25 = np.array([[v[:n] for v in each] for each in both]).mean(0)
    difference, value = ours - theirs_, float(ours.mean())
    given = {
        "difference": float(difference.mean()), "n": n, "seeds": len(both) if pool else 0,
        "error": max(float(difference.std(ddof=1)) / n**0.5, 1e-9), "noise": pool,
        "own": value, "trained": len(both),
        **({"start": own[0].start, "measure": measure} if pool and own[0].start else {}),
        **({} if not pool or pool in ALONE else {"bm25": float(bm25.mean())}),
        "value": value if pool in ALONE else max(value, float(theirs_.mean())),
    }  # fmt: skip
    return given, _judge_figures(given, collection, runs)


def _cell(given: Mapping[str, Any], runs: Runs) -> tuple[Mapping[str, Any], Cell]:
    """Return a measurement of relations.toml with what is known of it."""
    collection = COLLECTIONS.get(given["on"], given["on"])
    if "runs" not in given:
        return given, _judge_figures(given, collection, runs)
    measure, pool = given.get("measure", "MRR@10"), given.get("noise", "")
    name, other = given["runs"]
    found, cell = measure_cell(name, other, collection, measure, pool, runs)
    return {**found, **given}, cell._replace(nothing=given.get("other") or cell.nothing)


def _judge_figures(given: Mapping[str, Any], collection: str, runs: Runs) -> Cell:
    """Return the cell of a measurement whose figures are known."""
    nothing = given.get("other") or _below(given, collection, runs)
    if "difference" not in given:
        return Cell(given["value"], nothing=nothing)
    if not given.keys() & {"half", "error"}:
        known = "" if "p" in given else "not tested"
        return Cell(given["difference"], p=given.get("p"), nothing=nothing or known)
    n, seeds = given["n"], given.get("seeds", 0)
    error = given["error"] if "error" in given else given["half"] / t_quantile(0.05, n - 1)
    # The interval of several seeds that was reported has their noise already.
    pool = _pools().get(given.get("noise", "")) if "error" in given or seeds == 1 else None
    noise = (pool["sd"], pool["freedom"], seeds) if pool else (0.0, 1, 0)
    made = join_errors(error, n, *noise)
    return made._replace(value=given["difference"], nothing=nothing)


@cache
def _pools() -> Mapping[str, Any]:
    pools: Mapping[str, Any] = tomllib.loads(TABLE.read_text("utf-8"))["noise"]
    return pools


def _below(given: Mapping[str, Any], collection: str, runs: Runs) -> str:
    """Return what the better network does not reach, as text; empty if it reaches all."""
    start, value = given.get("start", 0.0), given.get("value", 1.0)
    if isinstance(start, str):
        found = runs.get((start, collection))
        measure = given.get("measure", "MRR@10")
        start = float(np.mean(found[0].values[""][measure][: given["n"]])) if found else 0.0
    for name, least in (("start", start), ("BM25", given.get("bm25", 0.0))):
        if value < least:
            return f"{name} {least:.3f}".replace("0.", ".")
    return ""


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines() if path.is_file() else []
