"""Folding compares few pairs and finds the same as comparing all."""

from random import Random

from ranklet.runtime.search.near_duplicates import NEAR, Folding, Words


def all_pairs(texts: list[Words[int]]) -> list[int | None]:
    """Return what each is folded into, by comparing it with all that are kept."""
    kept, found = list[Words[int]](), list[int | None]()
    for words in texts:
        alike = (
            place
            for place, other in enumerate(kept)
            if words and 10 * len(words & other) >= 9 * len(words | other)
        )
        found.append(next(alike, None))
        if found[-1] is None:
            kept.append(words)
    return found


def test_it_folds_as_a_comparison_of_all_pairs_does() -> None:
    assert NEAR == 0.9
    random = Random(3)
    for _ in range(60):
        texts = [frozenset(random.sample(range(60), random.choice([0, 1, 2, 9, 10, 19, 20, 40])))]
        for _ in range(40):
            words = set(random.choice(texts))
            for word in random.sample(range(60), random.randint(0, 3)):
                words ^= {word}
            texts.append(frozenset(words))
        folding = Folding()
        assert [folding.add(words) for words in texts] == all_pairs(texts)
        assert any(all_pairs(texts))
