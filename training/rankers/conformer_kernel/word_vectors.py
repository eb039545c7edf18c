"""Begin the embeddings of a network over words with published vectors, such as GloVe's."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, from_numpy, nn, no_grad

from ranklet.corpus.rankers.conformer_kernel.terms import term_rows
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.conformer_kernel.network import FIRST
from ranklet.runtime.text.analysis import Vocabulary


def begin_with(
    embedding: nn.Embedding, path: Path, terms: Sequence[str], vocabulary: Vocabulary, field: str
) -> int:
    """Give terms the vectors of a file, and the others random ones of about the same size.

    A stem has the vector of the file's first word with it; see `term_rows`.

    Args:
        embedding: of which the row `FIRST` + i is term i's.
        path: one word and its numbers per line, as GloVe and word2vec write text.
        terms: the spellings of the terms.
        vocabulary: the collection's vocabulary.
        field: what the terms are, words or lemmas.

    Returns:
        How many terms have a vector of the file.

    Raises:
        InputError: the file cannot be used, its vectors have another size than the embeddings, or
            no term has one.
    """
    words, size = _read_words(path)
    if size != embedding.embedding_dim:
        raise InputError(
            f"the vectors in {str(path)!r} have {size} numbers, and the embeddings "
            f"{embedding.embedding_dim}; give --hidden {size}, and heads and groups that divide it"
        )
    rows = term_rows(words, vocabulary, field)
    forms = np.array([vocabulary.forms.find(term) for term in terms], np.int64)
    lines = np.where(forms >= 0, rows[forms], FIRST - 1) - FIRST  # -1 where there is none
    known = np.flatnonzero(lines >= 0)
    if not len(known):
        raise InputError(f"none of the {len(words):,} words in {str(path)!r} is in the collection")
    used, places = np.unique(lines[known], return_inverse=True)
    vectors = _read_vectors(path, used, size)
    weight: Tensor = embedding.weight
    with no_grad():
        weight *= float(vectors.std())
        weight[from_numpy(known + FIRST)] = from_numpy(vectors[places])
    return len(known)


def _read_words(path: Path) -> tuple[list[str], int]:
    """Return the words of a file, without a header's, and how many numbers a vector has."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            size = next(lines, "").rstrip().count(" ")
            if size == 1:  # word2vec's header: how many words, and the size
                size = next(lines, "").rstrip().count(" ")
        if size < 2:
            raise InputError(
                f"{str(path)!r} has no vectors; each line is a word and its numbers, with a space "
                "between them"
            )
        with path.open(encoding="utf-8", errors="replace") as lines:
            found = [line.rstrip().rsplit(" ", size)[0] for line in lines]
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    return found, size


def _read_vectors(path: Path, wanted: NDArray[np.int64], size: int) -> NDArray[np.float32]:
    """Return the vectors of some lines, which ascend, (wanted, size) float32."""
    vectors = np.empty((len(wanted), size), np.float32)
    with path.open(encoding="utf-8", errors="replace") as lines:
        at = 0
        for number, line in enumerate(lines):
            if at < len(wanted) and number == wanted[at]:
                try:
                    values = [float(value) for value in line.rstrip().rsplit(" ", size)[1:]]
                    vectors[at] = np.array(values, np.float32).reshape(size)
                except ValueError:
                    vectors[at] = np.nan
                if not np.isfinite(vectors[at]).all():
                    raise InputError(
                        f"line {number + 1} of {str(path)!r} is not a word and {size} numbers"
                    )
                at += 1
    return vectors
