"""The documents of words, in an index that has every word of every document."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.protocol import TermIndex
from ranklet.runtime.ground.sets import distinct
from ranklet.runtime.lexical.field_index import FieldIndex


class Postings(NamedTuple):
    """An index that has every word of every document.

    Attributes:
        terms: an index of words or of lemmas.
        term_of: the term of each word in it, (words,) int32; None if words are terms.
    """

    terms: TermIndex
    term_of: NDArray[np.int32] | None

    @property
    def fields(self) -> Mapping[str, float]:
        """The weights of the fields in which words are found; none if there are no fields."""
        return self.terms.formula.weights if isinstance(self.terms, FieldIndex) else {}

    def having(
        self, words: NDArray[np.integer], field: str = ""
    ) -> list[NDArray[np.unsignedinteger]]:
        """Return the documents of the terms of some words, ascending, one array per term.

        Of a field, they are those that have the term there.
        """
        ids = distinct(words if self.term_of is None else self.term_of[words]).astype(np.int32)
        self.terms.fetch(ids)
        if field and isinstance(self.terms, FieldIndex):
            self.terms.fetch_fields(ids)
            return [self.terms.documents_in(field, each) for each in ids.tolist()]
        return [self.terms.postings(each)[0] for each in ids.tolist()]
