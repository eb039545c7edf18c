"""Questions that a newcomer to Python asks, each with the documents that answer it.

The questions and most answers were written before any ranker had seen them, and nothing is tuned on
them. Afterwards the first three documents of every ranker and fusion were read once, and those that
answer the question were added, for all systems alike. A line of questions.txt has a question and
the documents that answer it.
"""

from pathlib import Path

from ranklet.runtime.storage.package_files import package_text

QUESTIONS: dict[str, tuple[str, ...]] = {
    question: tuple(answers.split())
    for line in package_text(Path(__file__).with_name("questions.txt")).splitlines()
    for question, answers in [line.split(": ")]
}
