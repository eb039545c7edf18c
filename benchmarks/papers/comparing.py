"""The section of `paper_trainings`: systems next to others, with the seeds in the error."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.harness.report import table
from benchmarks.papers.plans import BM25, NAMES, RERANKING, Training
from benchmarks.papers.relations import Run, group_runs, measure_cell
from benchmarks.papers.verdicts import MARGIN, Cell, correct
from ranklet.corpus.evaluation.systems import mark

# The pool of noise between seeds (relations.toml) of a kind of training next to what was not
# trained, and next to another training.
POOLS = {
    "cross_encoder": ("cross-encoder", "cross-encoders"), "terms": ("terms", "terms, both"),
    "retrieving": ("terms", "terms, both"), "translation": ("translation", "translation"),
    "dense": ("encoder", "encoders"), "student": ("encoder", "encoders"),
    "light": ("encoder", "encoders"),
}  # fmt: skip
Measured = Sequence[tuple[Training, Mapping[str, Any]]]


def section(found: Measured) -> str:
    """Return what was trained, and how it compares on the queries that both systems ranked."""
    runs = group_runs(Run.read(each) for plan, facts in found for each in list_runs(plan, facts))
    cells = _cells({plan.name: plan for plan, _ in found}, runs)
    rows = [
        [*key, f"{given['own']:.4f}, {cell.value:+.3f}{mark(p).strip()} ± {cell.half:.3f}"
               + (" =" if abs(cell.value) + cell.half <= MARGIN else "")]
        for measure in dict.fromkeys(key[3] for key, _, _ in cells)
        for own in [[each for each in cells if each[0][3] == measure]]
        for (key, given, cell), p in zip(own, correct([c for _, _, c in own]), strict=True)
    ]  # fmt: skip
    head = ["ranker", "learned from", "seeds", "minutes", "steps", "planned"]
    return f"""
{table(head, _trained(found))}

*Queries* are those that both systems ranked. A difference is the mean over queries and seeds. Its \
standard error has the queries' part, and the seeds', by the fixed pools of relations.toml. \
Two-sided tests, Holm's correction over all by one measure; intervals of 95 %. The last cell has \
the ranker's value and the difference. † p < .05, ‡ p < .01; "=" says that the interval is within \
± {MARGIN:g}.

{table(["ranker", "next to", "on", "measure", "seeds", "queries", "its value, difference"], rows)}
"""


def list_runs(plan: Training, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a training reached on each collection, the value of every query in order."""
    common = {
        "training": plan.name, "seed": plan.seed, "learns": plan.learns, "steps": facts["steps"],
        "start": next((name for name in plan.against if name in NAMES), ""),
        "machine": facts["machine"], "code": facts.get("code", ""), "chosen": facts["chosen"],
    }  # fmt: skip
    # A reranker changes no recall.
    measures = ("MRR@10", "nDCG@10", *(("R@1000",) if plan.kind == "dense" else ()))
    return [
        {**common, "collection": name, "values": {
            system: {each: [round(x, 4) for x in by[each].values()]
                     for each in measures if each in by}
            for system, by in systems.items()
        }}
        for name, systems in facts["values"].items()
    ]  # fmt: skip


def _cells(
    plans: Mapping[str, Training], runs: Mapping[tuple[str, str], list[Run]]
) -> Sequence[tuple[Sequence[Any], Mapping[str, Any], Cell]]:
    """Return all planned comparisons, without those of equal values."""
    found = []
    for plan in plans.values():
        for name, other, measure in (
            (name, other, measure)
            for name in plan.ranks
            for other in plan.against
            for measure in ("MRR@10", "nDCG@10", "R@1000")
        ):
            pools = POOLS.get(plan.kind, ("", ""))
            pool = "one network" if other == RERANKING else pools[other not in (BM25, *NAMES)]
            if plan.options.get("network") is False:
                pool = ""  # EM draws nothing
            given, cell = measure_cell(plan.name, other, name, measure, pool, runs)
            if given and (cell.value or given["error"]):
                key = plan.name, other, name, measure, given["trained"], f"{given['n']:,}"
                found.append((key, given, cell))
    return found


def _trained(found: Measured) -> list[list[object]]:
    rows: dict[str, list[tuple[Training, Mapping[str, Any]]]] = {}
    for plan, each in found:
        rows.setdefault(plan.name, []).append((plan, each))
    return [
        [name, own[0][0].learns, len(own), _range(f"{each['minutes']:.1f}" for _, each in own),
         _range(f"{each['steps']:,}" for _, each in own), f"{own[0][0].steps:,}"]
        for name, own in rows.items()
    ]  # fmt: skip


def _range(texts: Any) -> str:
    """Return the first and the last of some numbers, or one that is the same.

    >>> _range(["1.0", "2.0", "1.0"]), _range(["3", "3"])
    ('1.0 to 2.0', '3')
    """
    ordered = sorted(set(texts), key=lambda text: float(text.replace(",", "")))
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"
