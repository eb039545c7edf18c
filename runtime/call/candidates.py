"""The documents of one call, either stored documents by number or the caller's own texts."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.storage.forward import Gathered
from ranklet.runtime.text.analysis import Analysis


class StoredCandidates:
    """Documents of the bundle's collection."""

    def __init__(self, documents: Documents, numbers: NDArray[np.uint32]) -> None:
        self._documents, self._numbers = documents, numbers

    @property
    def stored(self) -> NDArray[np.uint32]:
        """Their numbers in the collection, (candidates,) uint32."""
        return self._numbers

    @cached_property
    def owners(self) -> NDArray[np.uint32] | None:
        """The number of each one's document, (candidates,); None if all documents are whole."""
        first = self._documents.first
        return None if first is None else first[self._numbers]

    @property
    def lengths(self) -> None:
        """None, because their texts need not be read."""
        return

    def __len__(self) -> int:
        return len(self._numbers)

    def tokens(self, field: str) -> Gathered:
        """Return their tokens in a field, from the forward store."""
        return self._documents.tokens(field, self._numbers)

    @property
    def texts(self) -> Sequence[str]:
        """Their ranked texts, which may include titles."""
        return self._documents.read_ranked_texts(self._numbers.tolist())

    def select(self, positions: NDArray[np.intp]) -> "StoredCandidates":
        """Return the candidates at some positions, in that order."""
        return StoredCandidates(self._documents, self._numbers[positions])


class TextCandidates:
    """The caller's own texts, analysed once per field on first use.

    Args:
        texts: the ranked texts.
        analysis: the analysis of this call.
        places: their indices among all texts of the caller; None for 0, 1, ….
        titles: the titles that they begin with, "" for none; None if no text has one.
        owners: the number of the document that each is a passage of, (texts,); None if all
            documents are whole.
        known: by field and place, tokens of texts that were analysed before.
    """

    def __init__(
        self,
        texts: Sequence[str],
        analysis: Analysis,
        places: Sequence[int] | None = None,
        titles: Sequence[str] | None = None,
        owners: NDArray[np.uint32] | None = None,
        known: dict[str, dict[int, NDArray[np.int32]]] | None = None,
    ) -> None:
        self._texts, self._analysis, self.owners = texts, analysis, owners
        self._known = {} if known is None else known
        self._titles = [""] * len(texts) if titles is None else titles
        self.places: Sequence[int] = range(len(texts)) if places is None else places
        self._fields: dict[str, Gathered] = {}

    @property
    def stored(self) -> None:
        """None, because they are not in the collection."""
        return

    @property
    def lengths(self) -> list[int]:
        """The characters of each text, (texts,)."""
        return list(map(len, self._texts))

    def __len__(self) -> int:
        return len(self._texts)

    def tokens(self, field: str) -> Gathered:
        """Return their tokens in a field."""
        if field not in self._fields:
            known = self._known.setdefault(field, {})
            new = {
                at: text
                for at, text in zip(self.places, self._texts, strict=True)
                if at not in known
            }
            found = self._analysis.tokenize_texts([*new.values()], field) if new else []
            known.update(zip(new, found, strict=True))
            self._fields[field] = _gathered([known[at] for at in self.places])
        return self._fields[field]

    def title_tokens(self, field: str) -> Gathered:
        """Return the tokens of their titles in a field of words, as they are in the texts."""
        each = zip(self._texts, map(len, self._titles), strict=True)
        return _gathered([self._analysis.tokens(text, field, length) for text, length in each])

    @property
    def texts(self) -> Sequence[str]:
        """Their ranked texts, which may include titles."""
        return self._texts

    def select(self, positions: NDArray[np.intp]) -> "TextCandidates":
        """Return the candidates at some positions, in that order."""
        chosen = positions.tolist()
        texts, titles = ([column[i] for i in chosen] for column in (self._texts, self._titles))
        owners = None if self.owners is None else self.owners[positions]
        places = [self.places[i] for i in chosen]
        return TextCandidates(texts, self._analysis, places, titles, owners, self._known)


def _gathered(parts: Sequence[NDArray[np.int32]]) -> Gathered:
    lengths = np.array([len(part) for part in parts], np.int64)
    return Gathered(np.concatenate([*parts, np.empty(0, np.int32)]), lengths)


Candidates = StoredCandidates | TextCandidates  # documents that a ranker can score


def list_numbers(candidates: Candidates) -> NDArray[np.uint32]:
    """Return the numbers of stored candidates; texts have none."""
    return np.empty(0, np.uint32) if candidates.stored is None else candidates.stored
