import random

import pytest

from ranklet.corpus.collections import seen_ids as module
from ranklet.corpus.collections.seen_ids import SeenIds


@pytest.mark.parametrize("first", [1, 2, 1 << 10])
def test_an_id_is_new_once(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    monkeypatch.setattr(module, "_FIRST", first)
    rng = random.Random(0)
    seen, plain = SeenIds(), set[str]()
    for _ in range(5_000):
        name = str(rng.randrange(3_000))
        assert seen.add(name) == (name not in plain)
        plain.add(name)


def test_ids_of_any_characters_are_told_apart() -> None:
    seen = SeenIds()
    names = ["", "\0", "a", "a ", "A", "\ud800", "?", "é", "e\u0301", "x" * 10_000]
    assert [seen.add(name) for name in names] == [True] * len(names)
    assert [seen.add(name) for name in names] == [False] * len(names)
