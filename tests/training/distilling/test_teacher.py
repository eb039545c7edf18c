"""A teacher's scores are computed once, block by block."""

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kinds import TinyRankers
from tests.range_server import RangeServer
from tests.scored import common_words
from tests.scored import teacher as counting

from ranklet.runtime.errors import InputError
from ranklet.training.distilling import teacher

PAIRS = [("red fruit", "the red apple is red"), ("old stream", "an old river"), ("x", "")]


@pytest.mark.slow
def test_checkpoint_and_bundle_score_as_the_cross_encoder_serves(
    tiny: TinyRankers, tmp_path: Path
) -> None:
    checkpoint = tiny.checkpoints("cross_encoder")["cross"]
    path = checkpoint.save(tmp_path / "cross")
    scores = teacher.teacher_scores(teacher.read_teacher(path, device="cpu"), PAIRS)
    assert scores.dtype == np.float32
    bundle = tiny.bundle("cross_encoder")
    pipeline = [{"stage": "retrieve", "ranker": "cross", "k": 1}]
    served = [bundle.score(query, [text], pipeline=pipeline)[0] for query, text in PAIRS]
    np.testing.assert_allclose(scores, served, atol=0.2)  # which has 8 bits
    # A bundle needs no collection, and its scores are the served ones.
    exported = teacher.read_teacher(tiny.exported("cross_encoder"), device="cpu")
    np.testing.assert_allclose(teacher.teacher_scores(exported, PAIRS), served, atol=1e-6)
    assert exported.digest != teacher.read_teacher(path).digest


def test_a_bundle_may_be_at_an_address(
    tiny: TinyRankers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKLET_CACHE", str(tmp_path / "cache"))
    near, packed = tiny.exported("cross_encoder"), tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for each in near.rglob("*"):
            archive.write(each, each.relative_to(near))
    with RangeServer({"/b.zip": packed.read_bytes()}) as server:
        far = teacher.read_teacher(server.address(), device="cpu")
        assert far.digest == teacher.read_teacher(near, device="cpu").digest
        assert far.name == f"{server.address()} (cross)"
        assert teacher.teacher_scores(far, PAIRS).shape == (len(PAIRS),)


def test_an_interruption_loses_one_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = teacher.teacher_scores(counting(), PAIRS)
    monkeypatch.setattr(teacher, "BLOCK", 1)
    asked = list[Any]()

    def interrupted(pairs: Any) -> Any:
        asked.extend(pairs)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return common_words(pairs)

    with pytest.raises(KeyboardInterrupt):
        teacher.teacher_scores(counting(interrupted), PAIRS, tmp_path)
    scores = teacher.teacher_scores(counting(interrupted), PAIRS, tmp_path)
    assert asked == [*PAIRS, PAIRS[2]]  # the last one twice, because its block was lost
    np.testing.assert_array_equal(scores, expected)
    teacher.teacher_scores(counting(lambda _: pytest.fail("asked again")), PAIRS, tmp_path)


def test_scores_of_others_or_a_damaged_file_are_not_used(tmp_path: Path) -> None:
    expected = teacher.teacher_scores(counting(), PAIRS)
    path = tmp_path / teacher.SCORES
    teacher.teacher_scores(counting(), PAIRS[:1], tmp_path)
    np.testing.assert_array_equal(teacher.teacher_scores(counting(), PAIRS, tmp_path), expected)
    for damaged in (b"damaged", path.read_bytes()[:-20], b""):
        path.write_bytes(damaged)
        np.testing.assert_array_equal(teacher.teacher_scores(counting(), PAIRS, tmp_path), expected)
    other = counting(lambda pairs: common_words(pairs) + 1)._replace(digest="another")
    np.testing.assert_array_equal(teacher.teacher_scores(other, PAIRS, tmp_path), expected + 1)


def test_a_changed_checkpoint_is_another_teacher(tiny: TinyRankers) -> None:
    checkpoint = tiny.checkpoints("cross_encoder")["cross"]
    name, values = next(iter(checkpoint.weights.items()))
    changed = replace(checkpoint, weights={**checkpoint.weights, name: values + 1})
    digests = {teacher.checkpoint_teacher(each, "x").digest for each in (checkpoint, changed)}
    assert len(digests) == 2


def test_what_cannot_teach_is_refused(tiny: TinyRankers, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the teacher is a bm25; give a checkpoint of cross_enc"):
        teacher.read_teacher(tiny.checkpoint("bm25").save(tmp_path / "bm25"))
    with pytest.raises(InputError, match="no cross-encoder at"):
        teacher.read_teacher(tmp_path / "nothing")
    with pytest.raises(InputError, match="the teacher is a checkpoint"):
        teacher.read_teacher(tiny.checkpoint("bm25").save(tmp_path / "bm25"), "cross")
    with pytest.raises(InputError, match=r"cross-encoders of .*: none"):
        teacher.read_teacher(tiny.exported("bm25"))
    bundle = tiny.exported("cross_encoder")
    with pytest.raises(InputError, match=r"'bm25' cannot teach; cross-encoders of .*: cross"):
        teacher.read_teacher(bundle, "bm25")
    assert teacher.read_teacher(bundle, "cross").name == f"{bundle} (cross)"
