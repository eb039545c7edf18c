"""Scores of pairs by a teacher, which are computed once and kept with the training's state."""

import hashlib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.learning.state import STATE
from ranklet.training.progress import progress

SCORES = "teacher.npz"  # in the folder of the state
TEACHERS = ("cross_encoder",)  # kinds whose training module has `score_texts`
BLOCK = 256  # pairs that an interruption costs at most


def check_teacher(checkpoint: Checkpoint) -> None:
    """Raise InputError unless a checkpoint is of a kind that can teach."""
    if checkpoint.kind not in TEACHERS:
        raise InputError(
            f"the teacher is a {checkpoint.kind}; give a checkpoint of {' or '.join(TEACHERS)}"
        )


def has_begun(folder: Path | None) -> bool:
    """Return whether a folder has scores of a teacher, but no state of a training yet."""
    return folder is not None and (folder / SCORES).is_file() and not (folder / STATE).is_file()


def teacher_scores(
    checkpoint: Checkpoint,
    pairs: Sequence[tuple[str, str]],
    folder: Path | None = None,
    device: str = "cpu",
) -> NDArray[np.float32]:
    """Return a teacher's scores of pairs of a query and a document, (pairs,) float32.

    Args:
        checkpoint: of a cross-encoder.
        pairs: texts.
        folder: scores are kept here block by block, so that an interruption loses little.
        device: where the teacher runs.
    """
    score = import_module(f"ranklet.training.rankers.{checkpoint.kind}.training").score_texts
    path = None if folder is None else folder / SCORES
    digest = _digest(checkpoint, pairs)
    scores = _read(path, digest)[: len(pairs)]
    for begin in progress(range(len(scores), len(pairs), BLOCK), "scores of the teacher"):
        block = score(checkpoint, pairs[begin : begin + BLOCK], device)
        scores = np.concatenate([scores, block])
        if path is not None:
            _write(path, digest, scores)
    return scores


def _digest(checkpoint: Checkpoint, pairs: Sequence[tuple[str, str]]) -> str:
    """Return a text that changes whenever the scores would."""
    digest = hashlib.sha256(repr(checkpoint.settings).encode())
    for name, values in sorted(checkpoint.weights.items()):
        digest.update(name.encode() + np.ascontiguousarray(values).tobytes())
    for pair in pairs:
        digest.update(repr(pair).encode("utf-8", "replace"))
    return digest.hexdigest()


def _read(path: Path | None, digest: str) -> NDArray[np.float32]:
    """Return the scores so far; none if they are of other pairs or cannot be read."""
    none = np.empty(0, np.float32)
    if path is None or not path.is_file():
        return none
    try:
        with np.load(path, allow_pickle=False) as held:
            return held["scores"] if str(held["digest"]) == digest else none
    except (OSError, ValueError, KeyError, EOFError):
        return none


def _write(path: Path, digest: str, scores: NDArray[np.float32]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez(file, allow_pickle=False, digest=np.array(digest), scores=scores)
    partial.replace(path)
