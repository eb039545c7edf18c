import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklet.corpus.indexing import ordering as module
from ranklet.corpus.indexing.ordering import choose_order, order_numbers
from ranklet.runtime.storage.strings import Strings


def expected(strings: list[str]) -> list[int]:
    return sorted(range(len(strings)), key=lambda at: strings[at].encode())


@pytest.mark.parametrize("read", [1, 3, 1 << 16])
@pytest.mark.parametrize("letters", ["ab", "a\0", "é€😀"])
def test_strings_are_ordered_by_their_bytes(
    monkeypatch: pytest.MonkeyPatch, read: int, letters: str
) -> None:
    monkeypatch.setattr(module, "_READ", read)
    rng = random.Random(0)
    for longest in (0, 1, 3, 8, 9, 30):
        strings = ["".join(rng.choices(letters, k=rng.randint(0, longest))) for _ in range(60)]
        assert choose_order(Strings.pack(strings)).tolist() == expected(strings)


@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 9), max_size=40))
def test_numbers_are_ordered_stably(numbers: list[int]) -> None:
    expected = sorted(range(len(numbers)), key=numbers.__getitem__)
    assert order_numbers(np.array(numbers, np.int64)).tolist() == expected
