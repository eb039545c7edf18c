import numpy as np
import pytest

from ranklet.training.indexing.packer import Packer, release

TEXTS = ["b", "", "ä", "half\ud800", "b"]


@pytest.mark.parametrize("texts", [TEXTS, [], [""], ["x" * 100_000]])
def test_packed_strings_are_read_back(texts: list[str]) -> None:
    packer = Packer()
    for text in texts:
        packer.add(text)
    assert len(packer) == len(texts)
    packed = packer.strings()
    assert list(packed) == [text.replace("\ud800", "?") for text in texts]
    assert (packed.data.dtype.name, packed.offsets.dtype.name) == ("uint8", "int64")


def test_released_strings_can_be_read_again() -> None:
    packer = Packer()
    packer.add("a text " * 10_000)
    packed = packer.strings()
    before = packed[0]
    release(packed.data)
    assert packed[0] == before
    in_memory = np.arange(3)
    release(in_memory[1:])
    assert in_memory.tolist() == [0, 1, 2]
