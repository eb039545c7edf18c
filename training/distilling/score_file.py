"""The file of a teacher's scores, which `ranklet score` writes and trainings read.

It is a .npz without pickles (docs/distilling.md states its form).
"""

import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.runtime.writing.atomic_file import atomic_file

FORMAT, VERSION = "ranklet scores", 1
NAMES = ("about", "queries", "documents", "texts", "offsets", "numbers", "scores")


@dataclass(frozen=True, eq=False)
class ScoreFile:
    """Candidates of queries with a teacher's scores.

    Attributes:
        teacher: where the teacher comes from, for people.
        digest: the digest of the teacher.
        titles: whether the texts that it read begin with the documents' titles.
        facts: what else is known of the scores, plain values by name.
        queries: ids.
        documents: ids of all candidates, each once.
        texts: `checksum` of the text of each query and then of each document, (queries +
            documents,) uint32.
        offsets: query i has the candidates ``numbers[offsets[i]:offsets[i + 1]]``, (queries + 1,)
            int64.
        numbers: positions of the candidates in `documents`, (pairs,) int32.
        scores: (pairs,) float32.
    """

    teacher: str
    digest: str
    titles: bool
    facts: Mapping[str, Any]
    queries: Sequence[str]
    documents: Sequence[str]
    texts: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    numbers: NDArray[np.int32]
    scores: NDArray[np.float32]

    def save(self, path: str | Path) -> Path:
        """Write the file atomically, replacing an earlier one."""
        path = Path(path)
        about = {
            "format": FORMAT, "version": VERSION, "teacher": self.teacher, "digest": self.digest,
            "titles": self.titles, "facts": dict(self.facts),
        }  # fmt: skip
        arrays: dict[str, Any] = {
            "about": _packed(about),
            "queries": _packed(list(self.queries)),
            "documents": _packed(list(self.documents)),
            "texts": self.texts,
            "offsets": self.offsets,
            "numbers": self.numbers,
            "scores": self.scores,
        }
        with atomic_file(path) as file:
            np.savez(file, allow_pickle=False, **arrays)
        return path


def checksum(text: str) -> int:
    """Return the CRC-32 of a text in UTF-8, which says whether a text has changed.

    >>> checksum("dough")
    4063919988
    """
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def read_scores(path: str | Path) -> ScoreFile:
    """Read a file of scores.

    Raises:
        InputError: there is no such file, or it is damaged, foreign or of another version.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(
            f"there are no scores at {str(path)!r}; give a file that `ranklet score` wrote"
        )
    try:
        arrays = _arrays(path)
        about = _unpacked(arrays["about"])
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT!r}")
        if about.get("version") != VERSION:
            raise InputError(
                f"{str(path)!r} has version {about.get('version')!r} of the format of scores, and "
                f"this ranklet reads version {VERSION}; write it again with `ranklet score`"
            )
        scores = ScoreFile(
            teacher=_typed(about, "teacher", str),
            digest=_typed(about, "digest", str),
            titles=_typed(about, "titles", bool),
            facts=_typed(about, "facts", dict),
            queries=_ids(arrays["queries"], "queries"),
            documents=_ids(arrays["documents"], "documents"),
            texts=arrays["texts"],
            offsets=arrays["offsets"],
            numbers=arrays["numbers"],
            scores=arrays["scores"],
        )
        _check(scores)
    except (
        OSError, EOFError, ValueError, KeyError, RecursionError, MemoryError, NotImplementedError,
        zipfile.BadZipFile, zlib.error,
    ) as error:  # fmt: skip
        raise InputError(
            f"the scores {str(path)!r} cannot be read ({error}); write them again with "
            "`ranklet score`"
        ) from error
    return scores


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    with path.open("rb") as file:  # numpy leaves a damaged one open
        if not zipfile.is_zipfile(file):
            raise ValueError("it is no .npz")
        file.seek(0)
        held = np.load(file, allow_pickle=False)
        if missing := [name for name in NAMES if name not in held.files]:
            raise ValueError(f"it has no {missing[0]!r}")
        return {name: held[name] for name in NAMES}


def _check(found: ScoreFile) -> None:
    """Raise ValueError unless the arrays fit one another."""
    queries, pairs = len(found.queries), len(found.numbers)
    for name, dtype, shape in (
        ("texts", np.uint32, (queries + len(found.documents),)),
        ("offsets", np.int64, (queries + 1,)),
        ("numbers", np.int32, (pairs,)),
        ("scores", np.float32, (pairs,)),
    ):
        values = getattr(found, name)
        if values.dtype != dtype or values.shape != shape:
            raise ValueError(f"{name} is {values.dtype} of shape {values.shape}")
    offsets, numbers = found.offsets, found.numbers
    # Compared, not subtracted, because a difference of int64 can wrap around and look positive.
    if offsets[0] != 0 or offsets[-1] != pairs or (offsets[1:] < offsets[:-1]).any():
        raise ValueError("the offsets do not rise from 0 to the number of pairs")
    if pairs and not (numbers.min() >= 0 and numbers.max() < len(found.documents)):
        raise ValueError("a candidate is no document of the file")
    rows = np.repeat(np.arange(queries), np.diff(offsets))
    if len(np.unique(rows * max(1, len(found.documents)) + numbers)) < pairs:
        raise ValueError("a query has a candidate twice")
    if not np.isfinite(found.scores).all():
        raise ValueError("a score is infinite or not a number")


def _packed(value: Any) -> NDArray[np.uint8]:
    """Return a value as JSON in UTF-8, (bytes,) uint8."""
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def _unpacked(array: NDArray[Any]) -> Any:
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError("a text is not an array of bytes")
    return json.loads(array.tobytes())


def _ids(array: NDArray[Any], name: str) -> list[str]:
    ids = _unpacked(array)
    if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
        raise ValueError(f"{name} is not a list of ids")
    if len(set(ids)) < len(ids):
        raise ValueError(f"an id of {name} occurs twice")
    return ids


def _typed(about: Mapping[str, Any], name: str, kind: type) -> Any:
    value = about.get(name)
    if not isinstance(value, kind):
        raise ValueError(f"{name} is {value!r}")
    return value
