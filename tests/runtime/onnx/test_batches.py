"""Batches of like length under a budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklet.runtime.onnx.batches import length_batches

ITEMS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 4)), max_size=30)


@given(ITEMS, st.integers(1, 60))
def test_batches_keep_to_the_budget(items: list[tuple[int, int]], budget: int) -> None:
    lengths, rows = [each[0] for each in items], [each[1] for each in items]
    batches = list(length_batches(lengths, lambda length: budget // length, rows))
    order = [at for batch in batches for at in batch]
    assert order == sorted(range(len(items)), key=lambda at: (-lengths[at], at))
    used = [(sum(rows[at] for at in batch), max(1, lengths[batch[0]])) for batch in batches]
    for batch, (count, longest) in zip(batches, used, strict=True):
        assert len(batch) == 1 or count * longest <= budget
    # No batch had room for the first item of the next one.
    for (count, longest), following in zip(used, batches[1:], strict=False):
        assert (count + rows[following[0]]) * longest > budget


@pytest.mark.parametrize("lengths", [[], [3], [3, 9, 1]])
def test_batches_of_one_item_keep_the_order_given(lengths: list[int]) -> None:
    batches = list(length_batches(lengths, lambda length: 100, together=False))
    assert batches == [[at] for at in range(len(lengths))]
