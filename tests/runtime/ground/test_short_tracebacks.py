"""A mistake of a user is shown by the line that has it."""

import traceback
from typing import TYPE_CHECKING, Any

import pytest

import ranklet
from ranklet.runtime.ground.errors import BundleError, CollectionError, InputError, RankletError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Built


def frames(call: Any, kind: type[RankletError]) -> int:
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    assert error.__cause__ is None
    assert error.__suppress_context__
    return len(traceback.extract_tb(error.__traceback__))


def test_a_mistake_is_two_frames_below_the_call(built: "Built", tmp_path: "Path") -> None:
    bundle = ranklet.load(built.indexed)
    assert frames(lambda: bundle.rank("dough", where={"yeer": 1}), InputError) == 3
    assert frames(lambda: ranklet.rank("dough", bundle=bundle, k=-1), InputError) == 3
    assert frames(lambda: bundle.document("nobody"), InputError) == 3
    assert frames(lambda: ranklet.build([], tmp_path / "b"), CollectionError) == 3


def test_what_is_damaged_keeps_its_traceback(tmp_path: "Path") -> None:
    with pytest.raises(BundleError) as caught:
        ranklet.load(tmp_path)
    assert len(traceback.extract_tb(caught.value.__traceback__)) > 3
