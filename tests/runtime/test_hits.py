from dataclasses import FrozenInstanceError

import pytest

from ranklet.runtime import Hit, Ranking, Timing

HITS = tuple(Hit(str(at), 1.0 - at, "", "text", at) for at in range(3))
RANKING = Ranking(HITS, "a query", (Timing("keep 3", 0.5),))


def test_a_ranking_is_a_sequence_of_hits() -> None:
    assert len(RANKING) == 3
    assert list(RANKING) == list(HITS)
    assert RANKING[0] is HITS[0]
    assert RANKING[-1] is HITS[2]
    assert RANKING[1:] == HITS[1:]
    assert HITS[1] in RANKING
    assert RANKING.index(HITS[2]) == 2
    assert [hit.id for hit in reversed(RANKING)] == ["2", "1", "0"]


def test_a_position_past_the_last_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        RANKING[3]


def test_an_empty_ranking_is_false() -> None:
    assert not Ranking((), "a query", ())


def test_hits_and_rankings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        RANKING.query = "another"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        HITS[0].score = 7.0  # type: ignore[misc]
