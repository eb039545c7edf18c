"""Texts that were split into passages are whole again."""

import pytest

from ranklet.corpus.sources.passages import passages
from ranklet.runtime.text.sentences import rejoined


@pytest.mark.parametrize("overlap", [0, 3])
def test_words_without_a_full_stop_are_joined_as_they_were(overlap: int) -> None:
    """Letters that end one passage and begin the next one are no overlap."""
    text = " ".join(["tall cat", "tea art", "star rat", "late eat"] * 9)
    parts = passages(text, 7, overlap)
    assert len(parts) > 2
    assert rejoined(parts, 7, overlap) == text
