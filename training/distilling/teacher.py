"""Scores of pairs by a teacher, which are computed once and kept block by block."""

import hashlib
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.progress import progress
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.manifest import MANIFEST
from ranklet.runtime.errors import InputError
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.storage.address import is_address
from ranklet.runtime.writing.atomic_file import atomic_file
from ranklet.runtime.writing.private_folder import make_private
from ranklet.training.checkpoint import RANKLET, Checkpoint, read_checkpoint

SCORES = "teacher.npz"  # in the folder of the state
BLOCK = 256  # pairs that are scored at a time
SAVED = 50  # scores are kept whenever there are a fiftieth more of them

# Returns the scores of pairs of a query and a document, (pairs,) float32.
Pairs = Sequence[tuple[str, str]]
Score = Callable[[Pairs], NDArray[np.float32]]
# Returns those of many blocks of pairs, in order.
ScoreEach = Callable[[Iterable[Pairs]], Iterator[NDArray[np.float32]]]


class Teacher(NamedTuple):
    """What scores pairs of a query and a document.

    Attributes:
        name: where it comes from, for people.
        digest: a text that changes whenever its scores would.
        open: returns the function that scores pairs, ready to run.
    """

    name: str
    digest: str
    open: Callable[[], Score]


def read_teacher(path: str | Path, ranker: str | None = None, device: str = "auto") -> Teacher:
    """Return the teacher at a path: a cross-encoder's checkpoint, or a bundle's cross-encoder.

    Args:
        path: the path of a checkpoint or a bundle, or a bundle's address.
        ranker: the bundle's ranker; None for its only cross-encoder.
        device: where it runs.

    Raises:
        InputError: there is neither a checkpoint nor a bundle, or it has no such cross-encoder.
        BundleError: the bundle cannot be used.
    """
    if is_address(path):
        return bundle_teacher(Bundle(path, device=device), ranker)
    path = Path(path)
    if (path / MANIFEST).is_file() or zipfile.is_zipfile(path):
        return bundle_teacher(Bundle(path, device=device), ranker)
    if not (path / RANKLET).is_file():
        raise InputError(
            f"there is no cross-encoder at {str(path)!r}; give a checkpoint that `ranklet train` "
            "wrote, or a bundle that `ranklet export` wrote"
        )
    if ranker is not None:
        raise InputError("--ranker names a ranker of a bundle, and the teacher is a checkpoint")
    return checkpoint_teacher(read_checkpoint(path), str(path), device)


def checkpoint_teacher(checkpoint: Checkpoint, name: str, device: str = "cpu") -> Teacher:
    """Return a cross-encoder's checkpoint as a teacher, which PyTorch runs.

    Raises:
        InputError: it is of a kind that cannot teach.
    """
    if not KINDS[checkpoint.kind].teaches:
        able = " or ".join(kind.name for kind in KINDS.values() if kind.teaches)
        raise InputError(f"the teacher is a {checkpoint.kind}; give a checkpoint of {able}")

    def opened() -> Score:
        module = import_module(f"ranklet.training.rankers.{checkpoint.kind}.training")
        scorer: Score = module.text_scorer(checkpoint, device)
        return scorer

    return Teacher(name, checkpoint.digest, opened)


def bundle_teacher(bundle: Bundle, ranker: str | None) -> Teacher:
    """Return a bundle's cross-encoder as a teacher, which runs as it is served.

    Raises:
        InputError: the bundle has no such cross-encoder, or several and none is named.
    """
    rankers = bundle.manifest.rankers
    able = [name for name, entry in rankers.items() if KINDS[entry.kind].teaches]
    listed = ", ".join(able) or "none"
    if ranker is None and len(able) != 1:
        raise InputError(
            f"cross-encoders of {str(bundle.path)!r}: {listed}; name one with --ranker, or give "
            "a bundle that has one"
        )
    name = able[0] if ranker is None else ranker
    if name not in able:
        raise InputError(f"{name!r} cannot teach; cross-encoders of {str(bundle.path)!r}: {listed}")
    described = repr((name, rankers[name], sorted(bundle.manifest.files.items())))
    digest = hashlib.sha256(described.encode("utf-8", "replace"))
    alone = [{"stage": "retrieve", "ranker": name, "k": 1}]

    def score(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        made = [
            bundle.score(query, [document for _, document in group], pipeline=alone)
            for query, group in groupby(pairs, key=itemgetter(0))
        ]
        return np.concatenate([*made, np.empty(0, np.float32)])

    return Teacher(f"{bundle.path} ({name})", digest.hexdigest(), lambda: score)


def teacher_scores(
    teacher: Teacher, pairs: Pairs, folder: Path | None = None, each: ScoreEach | None = None
) -> NDArray[np.float32]:
    """Return a teacher's scores of pairs of a query and a document, (pairs,) float32.

    Args:
        teacher: a cross-encoder.
        pairs: texts.
        folder: scores are kept here every few blocks, so that an interruption loses little.
        each: scores blocks in place of the teacher, on other machines.
    """
    path = None if folder is None else folder / SCORES
    digest = _digest(teacher, pairs)
    scores = _read(path, digest)[: len(pairs)]
    if len(scores) == len(pairs):
        return scores
    begins = range(len(scores), len(pairs), BLOCK)
    blocks = (pairs[begin : begin + BLOCK] for begin in begins)
    made = map(teacher.open(), blocks) if each is None else each(blocks)
    waiting: list[NDArray[np.float32]] = []
    kept = done = len(scores)
    for _, block in progress(zip(begins, made, strict=True), "scores of the teacher", len(begins)):
        waiting.append(block)
        done += len(block)
        if done == len(pairs) or SAVED * (done - kept) >= done:
            scores, waiting, kept = np.concatenate([scores, *waiting]), [], done
            if path is not None:
                _write(path, digest, scores)
    return scores


def _digest(teacher: Teacher, pairs: Sequence[tuple[str, str]]) -> str:
    """Return a text that changes whenever the scores would."""
    digest = hashlib.sha256(teacher.digest.encode())
    for pair in pairs:
        digest.update(repr(pair).encode("utf-8", "replace"))
    return digest.hexdigest()


def _read(path: Path | None, digest: str) -> NDArray[np.float32]:
    """Return the scores so far; empty if they belong to other pairs or cannot be read."""
    none = np.empty(0, np.float32)
    if path is None or not path.is_file():
        return none
    try:
        with path.open("rb") as file:  # numpy leaves a damaged one open
            held = np.load(file, allow_pickle=False)
            return held["scores"] if str(held["digest"]) == digest else none
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return none


def _write(path: Path, digest: str, scores: NDArray[np.float32]) -> None:
    make_private(path.parent)
    with atomic_file(path) as file:
        np.savez(file, allow_pickle=False, digest=np.array(digest), scores=scores)
