"""Count the questions of a newcomer that a search answers."""

from collections.abc import Mapping

from ranklet.commands.demo.questions import QUESTIONS
from ranklet.runtime.bundle import Bundle

FIRST = 3  # an answer counts if it is among the first three

Places = Mapping[str, int | None]  # by question, the place of the best answer; None if beyond FIRST


def find_answers(bundle: Bundle, pipeline: str | None = None) -> Places:
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


def conclusion(found: Places, plain: Places) -> str:
    """Return how many questions a search answers, next to BM25 alone."""
    return (
        f"The search answers {hits(found)} of {len(found)} questions of a newcomer among its first "
        f"{FIRST} hits. BM25 alone answers {hits(plain)}."
    )
