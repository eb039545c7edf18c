"""A teacher's scores are computed once, block by block."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kinds import TinyRankers

from ranklet.runtime.errors import InputError
from ranklet.training.learning.state import STATE
from ranklet.training.rankers.cross_encoder import training as cross_encoder
from ranklet.training.sampling import teacher

PAIRS = [("red fruit", "the red apple is red"), ("old stream", "an old river"), ("x", "")]


@pytest.mark.slow
def test_scores_are_those_that_the_cross_encoder_serves(tiny: TinyRankers) -> None:
    checkpoint = tiny.checkpoints("cross_encoder")["cross"]
    scores = teacher.teacher_scores(checkpoint, PAIRS)
    assert scores.dtype == np.float32
    bundle = tiny.bundle("cross_encoder")
    pipeline = [{"stage": "retrieve", "ranker": "cross", "k": 1}]
    served = [bundle.score(query, [text], pipeline=pipeline)[0] for query, text in PAIRS]
    np.testing.assert_allclose(scores, served, atol=0.2)  # which has 8 bits


def test_an_interruption_loses_one_block(
    tiny: TinyRankers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = tiny.checkpoints("cross_encoder")["cross"]
    expected = teacher.teacher_scores(checkpoint, PAIRS)
    monkeypatch.setattr(teacher, "BLOCK", 1)
    asked, score = list[Any](), cross_encoder.score_texts

    def interrupted(checkpoint: Any, pairs: Any, device: str) -> Any:
        asked.extend(pairs)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return score(checkpoint, pairs, device)

    monkeypatch.setattr(cross_encoder, "score_texts", interrupted)
    assert not teacher.has_begun(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        teacher.teacher_scores(checkpoint, PAIRS, tmp_path)
    assert teacher.has_begun(tmp_path)
    scores = teacher.teacher_scores(checkpoint, PAIRS, tmp_path)
    assert asked == [*PAIRS, PAIRS[2]]  # the last one twice, because its block was lost
    np.testing.assert_array_equal(scores, expected)
    (tmp_path / STATE).write_bytes(b"")
    assert not teacher.has_begun(tmp_path)
    assert not teacher.has_begun(None)


def test_scores_of_other_pairs_or_a_damaged_file_are_not_used(
    tiny: TinyRankers, tmp_path: Path
) -> None:
    checkpoint = tiny.checkpoints("cross_encoder")["cross"]
    teacher.teacher_scores(checkpoint, PAIRS[:1], tmp_path)
    expected = teacher.teacher_scores(checkpoint, PAIRS)
    for _ in range(2):
        scores = teacher.teacher_scores(checkpoint, PAIRS, tmp_path)
        np.testing.assert_array_equal(scores, expected)
        (tmp_path / teacher.SCORES).write_bytes(b"damaged")


def test_only_some_kinds_teach(tiny: TinyRankers) -> None:
    teacher.check_teacher(tiny.checkpoints("cross_encoder")["cross"])
    with pytest.raises(InputError, match="the teacher is a bm25; give a checkpoint of cross_enc"):
        teacher.check_teacher(tiny.checkpoint("bm25"))
