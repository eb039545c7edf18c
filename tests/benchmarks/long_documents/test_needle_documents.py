"""Needle documents have the real chunk once, at a place that a seed decides."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.long_documents.needle_documents import (
    CHUNKS,
    answerable,
    beginning,
    collection,
    hidden,
    needle,
)
from tests.benchmarks.cross_encoders.miniature import miniature

from ranklet.training.data.splits import JudgedQuery

if TYPE_CHECKING:
    from tests.kinds import TinyRankers

FILLERS = [f"filler {at}" for at in range(20)]


def test_a_document_has_the_real_chunk_and_different_others() -> None:
    for at in range(50):
        chunks = needle(f"d{at}", "real", FILLERS).text.split("\n")
        assert len(set(chunks)) == len(chunks) == CHUNKS
        assert chunks.index("real") == hidden(f"d{at}", len(FILLERS)).place


def test_the_control_differs_only_in_the_place() -> None:
    for at in range(50):
        anywhere = needle(f"d{at}", "real", FILLERS).text.split("\n")
        first = needle(f"d{at}", "real", FILLERS, first=True).text.split("\n")
        assert first[0] == "real"
        anywhere.remove("real")
        assert first[1:] == anywhere


def test_places_are_uniform_and_depend_on_the_seed_and_the_document_alone() -> None:
    places = [hidden(f"d{at}", len(FILLERS)).place for at in range(4_000)]
    counts = Counter(places)
    assert set(counts) == set(range(CHUNKS))
    # The standard deviation of each count is 27.
    assert all(abs(count - 1_000) < 140 for count in counts.values())
    assert places[7] == hidden("d7", len(FILLERS)).place
    assert [hidden(f"d{at}", 20, seed=1).place for at in range(50)] != places[:50]


def test_too_short_texts_have_no_chunk() -> None:
    offsets = [(0, 1), (2, 3), (4, 5)]
    assert beginning("a b c", offsets, 2, 3) == "a b"
    assert beginning("a b c", offsets, 9, 3) == "a b c"
    assert beginning("a b c", offsets, 9, 4) == ""
    assert beginning("", [], 9, 0) == ""


def test_only_queries_whose_documents_all_have_a_chunk_are_asked() -> None:
    queries = [
        JudgedQuery("q1", "one", {"a": 1}),
        JudgedQuery("q2", "two", {"a": 1, "short": 1}),
        JudgedQuery("q3", "three", {"b": 1}),
        JudgedQuery("q4", "four", {"a": 1}),
    ]
    chunks = {"a": "…", "b": "…"}
    assert [each.id for each in answerable(queries, chunks, 9)] == ["q1", "q3", "q4"]
    two = [each.id for each in answerable(queries, chunks, 2)]
    assert two == sorted(two)
    assert len(two) == 2


def test_a_real_chunk_is_in_no_other_document(tiny: "TinyRankers", tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    scope = miniature(tiny, tmp_path)
    anywhere, control = (collection(scope, first=first) for first in (False, True))
    texts = {each.id: each.text.split("\n") for each in control.documents()}
    real = {name: chunks[0] for name, chunks in texts.items()}
    assert len(texts) >= scope.sizes.needles
    for name, chunks in texts.items():
        assert len(chunks) == CHUNKS
        assert all(own not in chunks[1:] for own in real.values())
        assert name.startswith(("ss-", "md-"))
    for each in anywhere.documents():
        assert sorted(each.text.split("\n")) == sorted(texts[each.id])
    for split in ("train", "held", "dev"):
        assert anywhere.qrels(split) == control.qrels(split)
        asked = {name for grades in anywhere.qrels(split).values() for name in grades}
        assert asked <= texts.keys()
