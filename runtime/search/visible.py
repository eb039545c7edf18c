"""The documents of a bundle that a caller may see: all of them, or those that a filter allows."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import UnknownDocumentError
from ranklet.runtime.explanation import Explanation
from ranklet.runtime.hits import Hit
from ranklet.runtime.metadata.columns import Metadata
from ranklet.runtime.metadata.masks import Masks
from ranklet.runtime.metadata.where import Both, Condition, read_where
from ranklet.runtime.pipeline.candidates import Candidates, StoredCandidates, numbers_of
from ranklet.runtime.pipeline.mask import Mask
from ranklet.runtime.storage.block_array import fetch_rows
from ranklet.runtime.storage.bundle_files import PASSAGES, BundleFiles

Where = Mapping[str, Any]  # a filter by metadata; docs/filtering.md describes it


class Visible:
    """Some documents of a bundle; immutable and shared by all threads.

    Nothing here reveals a document that `only` does not allow: neither its id, nor its text, nor
    that it is there.

    Args:
        files: the bundle.
        only: the filter that every call is restricted by; None allows all documents.
        masks: the masks of the bundle's filters; None makes new ones.
    """

    def __init__(
        self, files: BundleFiles, only: Condition | None = None, masks: Masks | None = None
    ) -> None:
        self._files, self.only = files, only
        self._metadata = Metadata(files) if masks is None else masks.metadata
        self.masks = Masks(self._metadata) if masks is None else masks

    def allowed(self, where: Where | None) -> Mask | None:
        """Return which documents a call may return, (documents,) bool; None allows all.

        Raises:
            InputError: the filter cannot be used.
        """
        condition = self.only if where is None else self.joined(where)
        return None if condition is None else self.masks.mask(condition)

    def joined(self, where: Where) -> Condition:
        """Return the condition that a filter and the restriction of these documents are together.

        Raises:
            InputError: the filter cannot be used.
        """
        condition = read_where(where, self._metadata.types)
        return condition if self.only is None else Both((self.only, condition))

    @property
    def metadata(self) -> Metadata:
        """The columns of all documents."""
        return self._metadata

    @property
    def passages(self) -> int:
        """The number of passages that are ranked; 0 if all documents are whole."""
        if not self._files.has(PASSAGES):
            return 0
        mask = self.allowed(None)
        return self._files.manifest.documents if mask is None else int(np.count_nonzero(mask))

    def __len__(self) -> int:
        """Return the number of documents; passages of one count once."""
        count, mask = self._files.manifest.documents, self.allowed(None)
        if mask is None:
            return self._files.need_documents().whole if self.passages else count
        return len(self._whole(mask)) if count else 0

    def _whole(self, mask: Mask) -> NDArray[np.intp]:
        """Return the numbers of the allowed documents, and of split ones the first passage's."""
        first = self._files.need_documents().first
        return np.flatnonzero(mask if first is None else mask & (first == np.arange(len(first))))

    def samples(self, count: int) -> list[str]:
        """Return the titles of evenly spaced documents, or the beginnings of untitled texts."""
        mask = self.allowed(None)
        documents = self._files.need_documents()
        return documents.samples(count, None if mask is None else np.flatnonzero(mask).tolist())

    def parts(self, document_id: str) -> NDArray[np.uint32]:
        """Return the numbers of a document's passages, or its own.

        Raises:
            InputError: the id is not a string.
            UnknownDocumentError: there is no such document, or the filter does not allow it.
        """
        documents, mask = self._files.need_documents(), self.allowed(None)
        if mask is None:
            return documents.passages(documents.number(document_id))
        # One message for ids that are nowhere and for those that others may see.
        unknown = UnknownDocumentError(f"unknown document id {str(document_id)[:80]!r}")
        try:
            number = documents.number(document_id)
        except UnknownDocumentError:
            raise unknown from None
        if not mask[number]:
            raise unknown
        return documents.passages(number)

    def by_id(self, ids: Sequence[str]) -> tuple[StoredCandidates, list[int]]:
        """Return all passages of some documents, and where each document's passages begin."""
        numbers = [self.parts(each) for each in ids]
        begins = list(accumulate(map(len, numbers), initial=0))[:-1]
        stored = np.concatenate([np.empty(0, np.uint32), *numbers])
        return StoredCandidates(self._files.need_documents(), stored), begins

    def ids(self, candidates: Candidates) -> list[str]:
        """Return the ids of stored candidates."""
        documents, numbers = self._files.need_documents(), numbers_of(candidates)
        fetch_rows(numbers, ragged=documents.stored(shown=False))
        return [documents.ids[number] for number in numbers.tolist()]

    def fetch(self, candidates: Candidates, *, tokens: bool) -> None:
        """Fetch at once what hits show of stored candidates, and perhaps their tokens."""
        if self._files.is_remote and len(candidates):
            documents, numbers = self._files.need_documents(), numbers_of(candidates)
            self._metadata.fetch(numbers, documents.stored(tokens=tokens))

    def hit(self, number: int, score: float, explanation: Explanation | None) -> Hit:
        """Return a document, or a passage of one, as a hit with its metadata.

        Its index is the number among the documents that `only` allows.
        """
        documents, mask = self._files.need_documents(), self.allowed(None)
        index = number if mask is None else int(np.count_nonzero(mask[:number]))
        record = documents.record(number)
        return Hit(
            record[0],
            score,
            *record[1:],
            index,
            explanation,
            documents.passage(number),
            self._metadata.of(number),
        )
