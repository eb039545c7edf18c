from ranklet.commands.demo.questions import QUESTIONS
from ranklet.commands.demo.results import conclusion


def test_the_conclusion_says_how_many_questions_are_answered() -> None:
    some = {question: 1 if at < 36 else None for at, question in enumerate(QUESTIONS)}
    few = {question: 3 if at < 20 else None for at, question in enumerate(QUESTIONS)}
    text = conclusion(some, few)
    assert "answers 36 of 40 questions" in text
    assert text.endswith("BM25 alone answers 20.")
