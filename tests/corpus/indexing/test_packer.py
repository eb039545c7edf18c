import gc
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklet.corpus.indexing import packer as module
from ranklet.corpus.indexing.packer import NumberPacker, Packer, packed, spans
from ranklet.corpus.sources import spool

TEXTS = ["b", "", "ä", "half\ud800", "b"]


@pytest.mark.parametrize("texts", [TEXTS, [], [""], ["x" * 100_000]])
@pytest.mark.parametrize("waiting", [1, 2, 1 << 16])
def test_packed_strings_are_read_back(
    texts: list[str], waiting: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_STRINGS", waiting)
    packer = Packer()
    for text in texts:
        packer.add(text)
    assert len(packer) == len(texts)
    packed = packer.strings()
    assert list(packed) == [text.replace("\ud800", "?") for text in texts]
    assert (packed.data.dtype.name, packed.offsets.dtype.name) == ("uint8", "int64")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="it stands for a disk that is full")
def test_a_full_disk_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TemporaryFile", lambda: Path("/dev/full").open("wb"))  # noqa: SIM115
    packer = Packer()
    packer.add("text")
    with pytest.raises(OSError, match="No space left"):
        packer.strings()
    packer.__del__()  # an error here would be printed with its stack


@pytest.mark.parametrize("written", [1, 24, 1 << 20])
def test_packed_numbers_are_read_back(monkeypatch: pytest.MonkeyPatch, written: int) -> None:
    monkeypatch.setattr(module, "_WRITTEN", written)
    pieces = [np.arange(6).reshape(3, 2), np.empty((0, 2), int), np.array([[7, 8]])]
    joined = packed(pieces, np.int16, (2,))
    assert joined.dtype == np.int16
    assert joined.tolist() == [[0, 1], [2, 3], [4, 5], [7, 8]]
    again = packed([joined[1:], joined[:1]], np.float32, (2,))  # of a mapped array
    assert again.tolist() == [[2, 3], [4, 5], [7, 8], [0, 1]]


def test_spans_cover_all_rows_and_are_as_large_as_allowed() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        offsets = np.cumsum(np.append(0, rng.integers(0, 6, rng.integers(0, 20))))
        most, rows = int(rng.integers(1, 12)), [None, 1, 3][rng.integers(3)]
        found = list(spans(offsets, most, rows))
        assert [at for span in found for at in range(*span)] == list(range(len(offsets) - 1))
        for begin, end in found:
            assert end > begin
            assert offsets[end] - offsets[begin] <= most or end == begin + 1
            assert rows is None or end - begin <= rows
            more = end < len(offsets) - 1 and offsets[end + 1] - offsets[begin] <= most
            assert not more or end - begin == rows


@pytest.mark.parametrize("kind", [Packer, partial(NumberPacker, np.int64), spool.Spool])
def test_one_that_was_interrupted_before_it_began_says_nothing(
    kind: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    said = list[object]()
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    for each in (module, spool):
        monkeypatch.setattr(each, "TemporaryFile", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kind()
    gc.collect()
    assert said == []
