"""Synthetic passages have the statistics that they are said to have."""

import csv
from itertools import pairwise
from pathlib import Path

import numpy as np
from benchmarks.growth import synthetic as module
from benchmarks.growth.synthetic import Model, learned, passages, questions, texts, write

REAL = ["the cat and the dog", "a dog on the road with seven other animals", "the"]


def model(forms: int = 5_000) -> Model:
    return learned(REAL, forms)


def test_words_are_those_of_the_collection_most_frequent_first_and_then_made_up() -> None:
    found = model(100)
    assert found.spellings[:2] == ["the", "dog"]
    assert len(set(found.spellings)) == 100
    assert np.isclose(found.below[-1], 1)
    assert np.isclose(found.lengths.mean(), module.MEAN, atol=1)


def test_frequencies_follow_zipf_and_mandelbrot() -> None:
    tokens = np.concatenate([each.tokens for each in passages(model(), 20_000, seed=1)])
    share = np.bincount(tokens, minlength=5_000) / len(tokens)
    wanted = (np.arange(1, 5_001) + module.SHIFT) ** -module.EXPONENT
    wanted /= wanted.sum()
    assert np.allclose(share[:20], wanted[:20], rtol=0.05)


def test_rare_words_are_rarer() -> None:
    below = model(2 * module.RARE).below
    share = np.diff(below, prepend=0)
    assert (np.diff(share) < 0).all()
    fall = np.log(share[-1] / share[module.RARE]) / np.log(
        (2 * module.RARE + module.SHIFT) / (module.RARE + 1 + module.SHIFT)
    )
    assert np.isclose(fall, -module.RARE_EXPONENT)


def test_passages_repeat_their_words() -> None:
    (drawn,) = passages(model(), 2_000, seed=0, length=50)
    parts = np.split(drawn.tokens, drawn.ends[:-1])
    assert {len(part) for part in parts} == {50}
    rng = np.random.default_rng(0)
    shuffled = np.split(rng.permutation(drawn.tokens), drawn.ends[:-1])
    different, mixed = (np.mean([len(set(p.tolist())) for p in all_]) for all_ in (parts, shuffled))
    assert different < mixed - 2


def test_a_larger_collection_begins_with_the_smaller_one(tmp_path: Path) -> None:
    written = []
    for count in (30, 70):
        write(model(), count, tmp_path / "c.csv")
        with (tmp_path / "c.csv").open(newline="") as file:
            written.append(list(csv.DictReader(file)))
        assert [row["id"] for row in written[-1]] == [f"p{at}" for at in range(count)]
    assert written[1][:30] == written[0]


def test_questions_are_words_of_one_passage() -> None:
    drawn = next(passages(model(), 300, seed=0))
    found = [set(text.split()) for text in texts(model(), drawn)]
    asked = questions(model(), 5)
    assert len(asked) == 5
    for question in asked:
        assert len(set(question.split())) == 5
    assert any(set(asked[0].split()) <= words for words in found)
    assert all(begin < end for begin, end in pairwise([0, *drawn.ends.tolist()]))
