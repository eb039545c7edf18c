"""The documents of one call: stored ones by number, or the caller's own texts."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.lexical.forward import Gathered
from ranklet.runtime.storage.documents import Documents
from ranklet.runtime.text.analysis import Analysis
from ranklet.runtime.text.ranked import ranked_text


class Candidates(Protocol):
    """Documents that a ranker can score."""

    @property
    def stored(self) -> NDArray[np.uint32] | None:
        """Their numbers in the collection, None for texts."""
        ...

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def tokens(self, field: str) -> Gathered:
        """Return their tokens in a field."""
        ...

    @property
    def texts(self) -> Sequence[str]:
        """What is ranked of them, title and text as one."""
        ...

    def select(self, positions: NDArray[np.intp]) -> "Candidates":
        """Return some of them, in the order named."""
        ...


class StoredCandidates:
    """Documents of the bundle's collection."""

    def __init__(self, documents: Documents, numbers: NDArray[np.uint32]) -> None:
        self._documents, self._numbers = documents, numbers

    @property
    def stored(self) -> NDArray[np.uint32]:
        """Their numbers in the collection."""
        return self._numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def tokens(self, field: str) -> Gathered:
        """Return their tokens in a field, from the forward store."""
        return self._documents.tokens(field, self._numbers)

    @property
    def texts(self) -> Sequence[str]:
        """What is ranked of them, title and text as one."""
        held = self._documents
        numbers = self._numbers.tolist()
        return [ranked_text(held.titles[n], held.texts[n], held.titled) for n in numbers]

    def select(self, positions: NDArray[np.intp]) -> "StoredCandidates":
        """Return some of them, in the order named."""
        return StoredCandidates(self._documents, self._numbers[positions])


class TextCandidates:
    """The caller's own texts, analysed when a ranker first asks and once a field.

    Args:
        texts: what is ranked of them.
        analysis: the analysis of this call.
        places: where they stand among all that the caller gave; None for all of them.
    """

    def __init__(
        self, texts: Sequence[str], analysis: Analysis, places: Sequence[int] | None = None
    ) -> None:
        self._texts, self._analysis = texts, analysis
        self.places: Sequence[int] = range(len(texts)) if places is None else places
        self._fields: dict[str, Gathered] = {}

    @property
    def stored(self) -> None:
        """None: they are not in the collection."""
        return

    def __len__(self) -> int:
        return len(self._texts)

    def tokens(self, field: str) -> Gathered:
        """Return their tokens in a field."""
        if field not in self._fields:
            parts = [self._analysis.tokens(text, field) for text in self._texts]
            lengths = np.array([len(part) for part in parts], np.int64)
            tokens = np.concatenate([*parts, np.empty(0, np.int32)])
            self._fields[field] = Gathered(tokens, lengths)
        return self._fields[field]

    @property
    def texts(self) -> Sequence[str]:
        """What is ranked of them, title and text as one."""
        return self._texts

    def select(self, positions: NDArray[np.intp]) -> "TextCandidates":
        """Return some of them, in the order named."""
        chosen = positions.tolist()
        texts, places = ([held[at] for at in chosen] for held in (self._texts, self.places))
        return TextCandidates(texts, self._analysis, places)


def numbers_of(candidates: Candidates) -> NDArray[np.uint32]:
    """Return the numbers of candidates that are of the collection."""
    return np.empty(0, np.uint32) if candidates.stored is None else candidates.stored


def text_candidates(
    documents: Sequence[tuple[str, str, str]], analysis: Analysis, titles: bool = True
) -> TextCandidates:
    """Return the caller's own documents, (id, title, text) each, as they are ranked."""
    texts = [ranked_text(title, text, titles) for _, title, text in documents]
    return TextCandidates(texts, analysis)
