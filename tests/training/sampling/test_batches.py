import numpy as np
import pytest

from ranklet.runtime.ground.errors import InputError
from ranklet.training.sampling.batches import batches, draw


def test_a_draw_is_of_the_pool_and_depends_on_seed_epoch_and_stream() -> None:
    pools = [np.arange(at, at + 50) for at in range(0, 1000, 50)]
    first = draw(pools, seed=1, epoch=0)
    assert all(at in pool for at, pool in zip(first, pools, strict=True))
    assert first.tolist() == draw(pools, seed=1, epoch=0).tolist()
    for other in (draw(pools, 2, 0), draw(pools, 1, 1), draw(pools, 1, 0, stream=1)):
        assert first.tolist() != other.tolist()
    with pytest.raises(InputError, match="no document to learn from"):
        draw([np.arange(3), np.empty(0, np.int64)], 0, 0)


def test_batches_hold_each_item_once_and_like_lengths_together() -> None:
    lengths = np.random.default_rng(0).integers(1, 200, 1000)
    cut = batches(lengths, 16, seed=3, epoch=0)
    assert sorted(np.concatenate(cut).tolist()) == list(range(1000))
    assert [each.tolist() for each in cut] == [
        each.tolist() for each in batches(lengths, 16, seed=3, epoch=0)
    ]
    assert cut[0].tolist() != batches(lengths, 16, seed=3, epoch=1)[0].tolist()

    def padded(found: list[np.ndarray]) -> int:
        return sum(len(each) * int(lengths[each].max()) for each in found)

    at_random = batches(lengths, 16, seed=3, epoch=0, window=1)
    assert padded(cut) < 1.1 * lengths.sum() < padded(at_random)
