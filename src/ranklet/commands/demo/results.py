"""Compare systems on test queries and on a newcomer's questions."""

from collections.abc import Mapping, Sequence

from ranklet.commands.demo.questions import QUESTIONS
from ranklet.runtime.bundle import Bundle
from ranklet.training.evaluation.significance import Comparison
from ranklet.training.evaluation.systems import Evaluation, comparisons

FIRST = 3  # an answer counts if it is among the first three

Places = Mapping[str, int | None]  # by question, the place of the best answer; None if beyond FIRST


def answered(bundle: Bundle, pipeline: str) -> Places:
    """Return where the best answer to each question stands, from 1."""
    places: dict[str, int | None] = {}
    for question, answers in QUESTIONS.items():
        hits = bundle.rank_ids(question, k=FIRST, pipeline=pipeline)
        right = [place for place, (name, _) in enumerate(hits, 1) if name in answers]
        places[question] = right[0] if right else None
    return places


def hits(places: Places) -> int:
    """Return how many questions have a right answer among the first ones.

    >>> hits({"how": 1, "why": None, "when": 3})
    2
    """
    return sum(place is not None for place in places.values())


def results_table(evaluations: Sequence[Evaluation], found: Mapping[str, Places]) -> str:
    """Return a table with one system per line, of one measure and of answered questions."""
    (measure,) = evaluations[0].values
    queries, width = evaluations[0].queries, max(len(each.pipeline) for each in evaluations)
    lines = [
        f"{'':{width}}  {f'{queries} test queries':>17}  {f'{len(QUESTIONS)} questions':>20}",
        f"{'':{width}}  {measure:>17}  {f'right in the first {FIRST}':>20}",
    ]
    for each in evaluations:
        right = hits(found[each.pipeline])
        cells = f"{each.mean(measure):>17.3f}  {f'{right} ({right / len(QUESTIONS):.0%})':>20}"
        lines.append(f"{each.pipeline:{width}}  {cells}")
    return "\n".join(lines)


def conclusion(evaluations: Sequence[Evaluation], found: Mapping[str, Places]) -> str:
    """Return what the table shows, in words: what the last ranker added, and BM25 against all.

    The last system fuses one ranker more than the system before it.
    """
    (measure,) = evaluations[0].values
    first, before, last = evaluations[0], evaluations[-2], evaluations[-1]
    right, plain = hits(found[last.pipeline]), hits(found[first.pipeline])
    tested = comparisons([before, last], measure, before.pipeline).get(last.pipeline)
    return (
        f"The last ranker {_verdict(tested)} {measure} on modules that no ranker had seen, from "
        f"{before.mean(measure):.3f} to {last.mean(measure):.3f}. {last.pipeline[0].upper()}"
        f"{last.pipeline[1:]} answer {right} of {len(QUESTIONS)} questions among the first {FIRST} "
        f"hits, where {first.pipeline} alone answers {plain}."
    )


def _verdict(comparison: Comparison | None) -> str:
    if comparison is None or comparison.p >= 0.05:
        return "does not significantly change"
    return "significantly raises" if comparison.difference > 0 else "significantly lowers"
