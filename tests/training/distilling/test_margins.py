"""Students of every kind learn a teacher's margins from a run."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.kinds import ROWS, TinyRankers, tiny_options
from tests.scored import run_at

from ranklet.corpus.collections.splits import read_split
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.kinds import KINDS
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.distilling.margins import TeacherMargins
from ranklet.training.errors import TrainingError

STUDENTS = [kind for kind in KINDS if hasattr(tiny_options(kind), "teacher")]


def margins(scale: float = 1.0, *, by_softmax: bool = False) -> TeacherMargins:
    """Return margins of a teacher whose score is ten times the query less the document."""

    def scores(queries: Any, documents: Any) -> Any:
        return (10 * queries[:, None] - documents).astype(np.float32)

    return TeacherMargins(scores, scale, {}, by_softmax=by_softmax)


def test_margins_are_those_of_the_first_document() -> None:
    queries, documents = np.array([1, 2]), np.array([[0, 3, 1], [5, 5, 4]])
    np.testing.assert_array_equal(margins().of(queries, documents), [[3, 1], [0, -1]])
    np.testing.assert_array_equal(margins(0.5).of(queries, documents), [[1.5, 0.5], [0, -0.5]])


def test_the_loss_is_the_mean_squared_error_of_all_margins() -> None:
    queries, documents = np.array([1, 2]), np.array([[0, 3, 1], [5, 5, 4]])
    own = torch.tensor([[2.0, 0.0, 0.0], [1.0, 1.0, 1.0]], requires_grad=True)
    loss = margins().loss(queries, documents, own)
    assert loss.item() == pytest.approx(((2 - 3) ** 2 + (2 - 1) ** 2 + 0 + 1) / 4)
    loss.backward()  # type: ignore[no-untyped-call]
    assert own.grad is not None


def test_the_softmax_of_a_query_is_learned_with_kl() -> None:
    queries, documents = np.array([1, 2]), np.array([[0, 3, 1], [5, 5, 4]])
    own = torch.tensor([[2.0, 0.0, 0.0], [1.0, 1.0, 1.0]], requires_grad=True)
    by_hand = 0.0
    for given, wanted in zip(own.tolist(), [[5, 3.5, 4.5], [7.5, 7.5, 8]], strict=True):
        p, q = (np.exp(row) / np.exp(row).sum() for row in (np.array(wanted), np.array(given)))
        by_hand += float((p * np.log(p / q)).sum()) / 2
    taught = margins(0.5, by_softmax=True)
    loss = taught.loss(queries, documents, own)
    assert loss.item() == pytest.approx(by_hand, rel=1e-5)
    loss.backward()  # type: ignore[no-untyped-call]
    assert own.grad is not None
    same = torch.tensor([[0.0, -1.5, -0.5], [3.0, 3.0, 3.5]])  # softmaxes are blind to a constant
    assert taught.loss(queries, documents, same).item() == pytest.approx(0, abs=1e-6)


def student(tiny: TinyRankers, kind: str, path: Path, **changes: Any) -> Checkpoint:
    row = ROWS[kind]
    given: dict[str, Any] = {row.backbone: tiny.data.bert} if row.backbone else {}
    if row.oracle:
        given["oracle"] = tiny.checkpoint_folder(row.oracle[0], **row.oracle[1])
    options = tiny_options(kind, teacher=path, **given, **changes)
    queries, dev = (read_split(tiny.data.collection, split) for split in ("train", "dev"))
    train = import_module(f"ranklet.training.rankers.{kind}.training").train
    trained: Checkpoint = train(tiny.data.collection, queries, dev, options)
    return trained


def test_all_neural_kinds_are_students() -> None:
    assert set(STUDENTS) == {name for name, kind in KINDS.items() if not kind.lexical}


@pytest.mark.slow
@pytest.mark.parametrize("kind", STUDENTS)
def test_a_student_learns_from_a_run(tiny: TinyRankers, kind: str, tmp_path: Path) -> None:
    path = run_at(tmp_path / "scores.run", tiny.data.collection)
    length = {"steps": 40, "epochs": 1} if "steps" in ROWS[kind].training else {"epochs": 10}
    trained = student(tiny, kind, path, teacher_scale=0.5, **length)
    losses = trained.curve["loss"]
    assert np.mean(losses[-8:]) < np.mean(losses[:8])
    said = trained.training["teacher"]
    assert (said["run"], said["queries"]) == (str(path), 32)
    assert said["pairs"] > 32
    assert trained.training["options"]["teacher_scale"] == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "colbert", "cross_encoder"])
def test_a_student_learns_a_softmax_over_several_documents(
    tiny: TinyRankers, kind: str, tmp_path: Path
) -> None:
    path = run_at(tmp_path / "scores.run", tiny.data.collection)
    trained = student(tiny, kind, path, epochs=10, teacher_loss="kl", negatives_each=3)
    losses = trained.curve["loss"]
    assert np.mean(losses[-8:]) < np.mean(losses[:8])
    assert trained.training["teacher"]["pairs"] > 3 * 32 / 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "cross_encoder"])
def test_a_training_is_resumed_with_the_same_scores_alone(
    tiny: TinyRankers, kind: str, tmp_path: Path
) -> None:
    first = run_at(tmp_path / "scores.run", tiny.data.collection)
    run = {"folder": tmp_path / "run", "save_every": 1, "max_minutes": 1e9}
    student(tiny, kind, first, **run)
    run_at(first, tiny.data.collection, depth=3)
    with pytest.raises(TrainingError, match="the interrupted training had teacher"):
        student(tiny, kind, first, resume=True, **run)


@pytest.mark.parametrize("kind", STUDENTS)
def test_options_that_contradict_a_teacher_are_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.run"
    path.touch()
    with pytest.raises(InputError, match="--teacher-scale needs a --teacher"):
        tiny_options(kind, teacher_scale=2.0)
    with pytest.raises(InputError, match=r"--teacher-loss kl needs|allowed are margin"):
        tiny_options(kind, teacher_loss="kl")
    with pytest.raises(InputError, match="does not exist"):
        tiny_options(kind, teacher=tmp_path / "nothing")
    tiny_options(kind, teacher=path, teacher_scale=2.0)
    wrong: dict[str, dict[str, Any]] = {
        "dense": {"loss": "margin"},
        "epic": {"pairwise": True},
        "neural_model1": {"objective": "margin"},
        "cross_encoder": {"loss": "cross_entropy"},
        "srm": {"fine_tune": False},
        "colbert": {"loss": "pairwise"},
    }
    if kind in wrong:
        with pytest.raises(InputError, match=r"leave out|--teacher"):
            tiny_options(kind, teacher=path, **wrong[kind])
    if hasattr(tiny_options(kind), "negatives"):
        with pytest.raises(InputError, match="leave out --negatives"):
            tiny_options(kind, teacher=path, negatives="random")
    with pytest.raises(InputError, match=r"is a folder; give a run"):
        tiny_options(kind, teacher=tmp_path)


def test_several_negatives_come_from_somewhere(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--negatives bm25 or random"):
        tiny_options("dense", negatives_each=2)
    with pytest.raises(InputError, match="needs one negative"):
        tiny_options("epic", pairwise=True, negatives="bm25", negatives_each=2)
    with pytest.raises(InputError, match="negatives_each is 2"):
        tiny_options("srm", oracle=tmp_path, negatives_each=2)
    path = tmp_path / "scores.run"
    path.touch()
    tiny_options("dense", teacher=path, teacher_loss="kl", negatives_each=8)
