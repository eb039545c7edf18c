import pytest

from ranklet.commands.demo.python_docs import collect
from ranklet.commands.demo.questions import QUESTIONS


@pytest.mark.slow
def test_every_question_can_be_answered() -> None:
    ids = {doc.id for doc in collect()}
    assert [question for question, answers in QUESTIONS.items() if not ids & set(answers)] == []


def test_there_are_forty_questions_with_answers_named_once() -> None:
    assert len(QUESTIONS) == 40
    assert all(len(set(answers)) == len(answers) > 0 for answers in QUESTIONS.values())
