"""Marks stand where the score comes from, and lose no character."""

import re
from html import unescape
from random import Random

from ranklet.handlers.playground.marking import STEPS, best_part, marked
from ranklet.runtime.answers.highlight import Span


def plain(html: str) -> str:
    return unescape(re.sub(r"</?mark[^>]*>", "", html))


def test_marks_are_as_strong_as_all_spans_of_a_character_together() -> None:
    random = Random(3)
    for _ in range(50):
        text = "".join(random.choices("ab <&é", k=random.randint(0, 30)))
        ends = [sorted(random.choices(range(len(text) + 1), k=2)) for _ in range(4)]
        spans = [Span(begin, end, random.choice([0.125, 0.25, -0.25, 1.0])) for begin, end in ends]
        html = marked(text, spans, 1.0)
        assert plain(html) == text
        at = 0
        for part in re.split(r"(<mark.*?</mark>)", html):
            strength = re.match(r'<mark class="m(\d+)( went-on)?"', part)
            for _ in plain(part):
                value = sum(each.value for each in spans if each.begin <= at < each.end)
                shown = value >= 0.02
                step = max(1, round(min(1.0, value) * STEPS))
                assert (int(strength[1]) if strength else 0) == (step if shown else 0)
                at += 1


def test_the_best_part_of_a_long_text_has_the_marks() -> None:
    text = "a word " * 100 + "dough " + "a word " * 100
    at = text.index("dough")
    html = best_part(text, [Span(at, at + 5, 1.0), Span(2, 6, 0.01)], 1.0)
    assert ">dough</mark>" in html
    assert html.startswith("… ")
    assert html.endswith(" …")
    assert html.count("<mark") == 1
