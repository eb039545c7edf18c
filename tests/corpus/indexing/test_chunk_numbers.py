import numpy as np
import pytest

from ranklet.corpus.indexing import chunk_numbers as module
from ranklet.corpus.indexing.chunk_numbers import ChunkNumbers, Chunks
from ranklet.runtime.text import scripts
from ranklet.runtime.text.splitter import LONGEST, QUIET_AFTER, QUIET_BEFORE, Splitter
from ranklet.runtime.text.words import SPLITTER

PIECES = [b"a", b"a\0", b"a\0\0", "é".encode(), b"x" * 8, b"x" * 9, b"x" * 16, b"x" * 17]
PIECES += [b"x" * 8 + b"y" * 8, b"x" * 8 + b"y" * 9, b"z" * LONGEST]
LONG = b"z" * (LONGEST + 1)


@pytest.mark.parametrize("slots", [2, 1 << 10])
def test_each_chunk_has_a_number_of_its_own(monkeypatch: pytest.MonkeyPatch, slots: int) -> None:
    monkeypatch.setattr(module, "_SLOTS", slots)
    table = ChunkNumbers()
    more = [f"{at}".encode() for at in range(300)]
    for known in (PIECES[:3], PIECES[3:], more):
        numbers, keys = table.find(Chunks.of([b" ".join(known), LONG]))
        assert not numbers.any()
        table.add(keys[:, : len(known)])
    wanted = [*range(1, 1 + len(PIECES) + len(more)), 0]
    numbers, _ = table.find(Chunks.of([b"\n".join([*PIECES, *more, LONG])]))
    assert numbers.tolist() == wanted
    numbers, _ = table.find(Chunks.of([b"new"]))
    assert numbers.tolist() == [0]


def test_chunks_are_those_between_spaces_without_quiet_signs() -> None:
    texts = ["", " (a), \x1f\x85b\t'c'; ", "...", "(" * 9, "d" * 99 + "\u2003e"]
    chunks = Chunks.of(list(map(str.encode, texts)))
    found = [each.decode() for each in chunks.some(np.arange(len(chunks.begins)))]
    assert found == ["a", "\x85b", "c", "", "(" * 5, "d" * 99 + "\u2003e"]
    assert chunks.of_texts.tolist() == [0, 3, 1, 1, 1]


@pytest.mark.parametrize("splitter", [SPLITTER, scripts.splitter(("fr", "he"), frozenset())])
def test_quiet_signs_change_no_word(splitter: Splitter) -> None:
    bare = [".net", "#7", "@me", "/usr", "+1", "-x", "C++", "c#", "l'or", "o'neill", "é", 'צה"ל']
    bare += [
        "2,4-D",
        "I/O",
        "U.S",
        "http://a.b",
        "WHO",
        "getName",
        "😀",
        "7",
        "東京",
        "a_b",
        "",
        "~",
    ]
    for chunk in bare:
        for sign in QUIET_BEFORE:
            assert list(splitter.of_chunk(sign + chunk)) == list(splitter.of_chunk(chunk))
        for sign in QUIET_AFTER:
            assert list(splitter.of_chunk(chunk + sign)) == list(splitter.of_chunk(chunk))
