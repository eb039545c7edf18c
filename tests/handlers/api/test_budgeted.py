"""Answers within a budget, and what is told of texts that were cut."""

from dataclasses import replace
from typing import Any

from ranklet.handlers.api.answers import rank
from ranklet.handlers.api.budgeted import answer_within
from ranklet.handlers.api.limits import Limits
from ranklet.runtime.bundle import Bundle

LIMITS = Limits()
ASKED: dict[str, Any] = {"query": "rising dough", "k": 3}


def test_with_time_enough_it_is_the_same_answer(bundle: Bundle) -> None:
    answer, left_out = answer_within(60_000, "/rank", bundle, ASKED, LIMITS)
    plain = rank(bundle, ASKED, LIMITS).body
    assert isinstance(plain, dict)
    assert isinstance(answer.body, dict)
    assert answer.body["hits"] == plain["hits"]
    assert set(answer.body) == {"query", "hits", "ms"}
    assert left_out == ()


def test_without_time_the_first_stage_answers_and_says_so(bundle: Bundle) -> None:
    answer, left_out = answer_within(0, "/rank", bundle, ASKED, LIMITS)
    assert isinstance(answer.body, dict)
    assert answer.body["budget_spent"] is True
    assert answer.body["left_out"] == list(left_out) != []
    assert answer.body["hits"]


def test_a_list_has_no_room_to_say_it(bundle: Bundle) -> None:
    body = {"query": "dough", "texts": ["Knead the dough.", "Wash."]}
    answer, left_out = answer_within(0, "/rerank", bundle, body, LIMITS)
    assert isinstance(answer.body, list)
    assert len(answer.body) == 2
    assert left_out


def test_cut_texts_are_counted_in_the_answer(bundle: Bundle) -> None:
    class Cutting:
        def __len__(self) -> int:
            return len(bundle)

        def rank(self, *given: Any, **options: Any) -> Any:
            return replace(bundle.rank(*given, **options), truncated={"dense": 2})

    answer = rank(Cutting(), ASKED, LIMITS)  # type: ignore[arg-type]
    assert isinstance(answer.body, dict)
    assert answer.body["truncated"] == {"dense": 2}
