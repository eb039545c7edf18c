"""Encode texts by a bundle's rankers of vectors, and compare the vectors as the rankers do."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.protocol import EncodesTexts, Role, Vectors
from ranklet.runtime.call.query import SparseQuery
from ranklet.runtime.ground.errors import InputError, OutOfTimeError
from ranklet.runtime.kinds import ranker_module
from ranklet.runtime.rankers.opening import open_ranker

AT_A_TIME = 256  # texts, whose tokens are in memory together


class EncodedTexts(NamedTuple):
    """The vectors of some texts."""

    vectors: Vectors
    cut: list[int]  # indices of the texts that were truncated
    ranker: str  # that has encoded them


def encoders(files: BundleFiles) -> list[str]:
    """Return the names of the rankers that encode texts, in the order of the manifest."""
    return [
        name
        for name, entry in files.manifest.rankers.items()
        if issubclass(ranker_module(entry.kind).RANKER, EncodesTexts)
    ]


def encode(
    files: BundleFiles,
    texts: Sequence[str],
    role: Role,
    ranker: str | None = None,
    deadline: Deadline | None = None,
) -> EncodedTexts:
    """Return the vectors of texts, each as if it were alone.

    Args:
        files: the bundle.
        texts: any texts.
        role: whether they are queries or documents.
        ranker: the name of a ranker; None for the bundle's first that encodes.
        deadline: a moment after which no more texts are encoded; None for none.

    Raises:
        InputError: no ranker encodes, this one does not, or a text is none.
        UnknownRankerError: there is no such ranker.
        OutOfTimeError: the deadline has passed.
    """
    known = encoders(files)
    if ranker is None and not known:
        raise InputError("no ranker of this bundle encodes texts; build it with --model ENCODER")
    name = known[0] if ranker is None else ranker
    found = open_ranker(files, name)
    if not isinstance(found, EncodesTexts):
        raise InputError(f"{name!r} encodes no texts; {_listed(known)}")
    for at, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"texts[{at}] is a {type(text).__name__}, not a string")
    parts, longer, done = [found.encode([], role)[0]] if not texts else [], list[int](), 0
    for part in (deadline or Deadline()).slices(len(texts), lengths=[*map(len, texts)], begun=True):
        for begin in range(part.start, part.stop, AT_A_TIME):
            done = min(begin + AT_A_TIME, part.stop)
            vectors, cut = found.encode(texts[begin:done], role)
            parts.append(vectors)
            longer += [begin + at for at in cut]
    if done < len(texts):
        raise OutOfTimeError(
            f"the time was up after {done:,} of {len(texts):,} texts; send fewer of them"
        )
    whole: Any = [each for part in parts for each in part]
    if isinstance(parts[0], np.ndarray):
        whole = np.concatenate(parts)
    return EncodedTexts(whole, longer, name)


def similarity(queries: Vectors, documents: Vectors) -> NDArray[np.float32]:
    """Return the score of each query and document; see `Bundle.similarity`."""
    try:
        queries, documents = _as_array(queries), _as_array(documents)
        several, others = _several(queries, documents), _several(documents, queries)
        if isinstance(several, np.ndarray) and isinstance(others, np.ndarray):
            return np.asarray(several @ others.T, np.float32)
        rows = [[_score(query, document) for document in others] for query in several]
    except (ValueError, TypeError, AttributeError) as error:  # of other dimensions, or no vectors
        raise InputError("queries and documents must be encoded by the same ranker") from error
    return np.array(rows, np.float32).reshape(len(several), len(others))


def _as_array(vectors: Any) -> Any:
    """Return vectors of a dense encoder that were gathered in a list as an array."""
    first = vectors[0] if isinstance(vectors, list) and vectors else None
    return np.stack(vectors) if isinstance(first, np.ndarray) and first.ndim == 1 else vectors


def _several(vectors: Any, others: Any) -> Any:
    """Return the vectors of several texts, which may be those of a single one."""
    if isinstance(vectors, np.ndarray) and vectors.ndim == 1:
        return vectors[np.newaxis]
    of_tokens = isinstance(vectors, np.ndarray) and isinstance(others, list) and len(others)
    return [vectors] if isinstance(vectors, SparseQuery) or of_tokens else vectors


def _score(query: Any, document: Any) -> float:
    if isinstance(query, SparseQuery) and isinstance(document, SparseQuery):
        shared = np.intersect1d(
            query.terms, document.terms, assume_unique=True, return_indices=True
        )
        return float(query.weights[shared[1]] @ document.weights[shared[2]])
    if isinstance(query, SparseQuery) or isinstance(document, SparseQuery):
        raise ValueError
    return float((query @ document.T).max(1).sum()) if len(query) and len(document) else 0.0


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'does' if len(names) == 1 else 'do'}" if names else "none does"
