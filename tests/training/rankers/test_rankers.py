"""What training promises for every kind with a network, on the rankers of tests/kinds.py."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kinds import ROWS, TinyRankers, train

from ranklet.runtime.ground.errors import InputError
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.errors import TrainingError
from ranklet.training.learning.loop import _Run

NETWORKS = [kind for kind in ROWS if kind not in ("bm25", "model1")]


@pytest.mark.slow
@pytest.mark.parametrize("kind", NETWORKS)
def test_an_interrupted_training_ends_the_same(
    kind: str, tiny: TinyRankers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = next(iter(ROWS[kind].rankers.values()))
    whole, step, made = tiny.checkpoint(kind, **settings), _Run._step, 0

    def trained(resume: bool) -> Checkpoint:
        options = {"folder": tmp_path, "save_every": 1, "resume": resume}
        return train(kind, tiny.data, tiny.oracle(kind), options, **settings)

    def interrupted(run: _Run[Any], batches: Sequence[Any]) -> None:
        nonlocal made
        made += 1
        if made > whole.training["steps"] // 2:
            raise TrainingError("interrupted")
        step(run, batches)

    with monkeypatch.context() as patch:
        patch.setattr(_Run, "_step", interrupted)
        with pytest.raises(TrainingError, match="interrupted"):
            trained(resume=False)
    found = trained(resume=True)
    assert found.training["steps"] == whole.training["steps"]
    for name, weights in whole.weights.items():
        np.testing.assert_array_equal(found.weights[name], weights)


@pytest.mark.parametrize("kind", [kind for kind in NETWORKS if kind != "srm"])
def test_a_checkpoint_of_another_kind_or_shape_is_refused(kind: str, tiny: TinyRankers) -> None:
    load = import_module(f"ranklet.training.rankers.{kind}.training").load
    checkpoint = tiny.checkpoint(kind, **next(iter(ROWS[kind].rankers.values())))
    with pytest.raises(InputError, match=f"no {kind}"):
        load(replace(checkpoint, kind="bm25"))
    with pytest.raises(InputError, match="do not fit"):
        load(replace(checkpoint, weights=dict(list(checkpoint.weights.items())[1:])))
    with pytest.raises(InputError, match=r"config\.json"):
        load(replace(checkpoint, network={"model_type": "nonsense"}))


@pytest.mark.parametrize("kind", ["dense", "epic", "splade", "colbert"])
def test_texts_longer_than_the_backbone_reads_are_refused(kind: str, tiny: TinyRankers) -> None:
    with pytest.raises(InputError, match="too long for 'tiny-bert', which reads at most 64"):
        train(kind, tiny.data, options={"max_document_tokens": 65})
