"""Questions that a newcomer to Python asks, each with the documents that answer it.

The questions and most answers were written before any ranker had seen them, and nothing is tuned on
them. Afterwards the first three documents of every ranker and fusion were read once, and those that
answer the question were added, for all systems alike. A line of questions.txt has a question and
the documents that answer it.
"""

from pathlib import Path

QUESTIONS: dict[str, tuple[str, ...]] = {
    question: tuple(answers.split())
    for line in Path(__file__).with_name("questions.txt").read_text("utf-8").splitlines()
    for question, answers in [line.split(": ")]
}
