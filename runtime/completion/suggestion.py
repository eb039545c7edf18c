"""Suggest another query where one has words that a collection does not have."""

from collections.abc import Sequence

import numpy as np

from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.completion.words import PartWords, choose_spelling
from ranklet.runtime.syntax.corrections import corrected, near, unknown_words
from ranklet.runtime.syntax.query_syntax import Query

MOST_CHARACTERS, MOST_UNKNOWN = 1_000, 5  # of a query; another one is not mistyped


def suggestion(query: str | Query, parts: Sequence[PartWords], deadline: Deadline) -> str | None:
    """Return what may have been meant by a query; None if nothing is likely.

    Most of its words must be known, or one document must have all that were meant.

    An unknown word becomes the most frequent word that differs in one letter, or else in two if it
    is long, among those of documents that the caller may see. When the time is up, no further word
    is looked up.

    Args:
        query: the query.
        parts: the words of each part of the collection, that of the base first.
        deadline: the call's deadline.
    """
    query = query if isinstance(query, Query) else Query(query)
    split = parts[0].vocabulary.splitter
    texts = [query.text, *query.excluded, *query.excluded_phrases]
    kept = frozenset(split.words(" ".join(query.prefixes)))

    def knows(word: str) -> bool:
        return word in kept or any(
            part.knows(word) or part.vocabulary.ending_with(word) for part in parts
        )

    replaced: dict[str, str] = {}
    if sum(map(len, texts)) > MOST_CHARACTERS:
        return None
    unknown = unknown_words(texts, split, knows)
    if not unknown or len(unknown) > MOST_UNKNOWN:
        return None
    asked = {each for each in split.words(query.text) if parts[0].is_asked(each)} - kept
    few = 2 * sum(map(knows, asked)) <= len(asked)
    for at, word in enumerate(unknown):
        if at and deadline.passed:
            break
        if better := _better(word, parts):
            replaced[word] = better
        elif few:
            return None
    meant = [replaced.get(word, word) for word in asked]
    if not replaced or (few and not any(part.has_all(meant) for part in parts)):
        return None
    shown = {word: choose_spelling(better, parts) for word, better in replaced.items()}
    return corrected(query.typed or query.text, shown, split)


def _better(word: str, parts: Sequence[PartWords]) -> str | None:
    """Return the most frequent word that is near another one, None if none is seen.

    How frequent a word is says the whole collection.
    """
    for edits in (1, 2):
        counts: dict[str, float] = {}
        for part in parts:
            ids = np.array(near(word, part.vocabulary, edits), np.int64)
            frequencies = part.vocabulary.frequency(ids).tolist()
            for at, count in zip(ids.tolist(), frequencies, strict=True):
                form = part.vocabulary.forms[at]
                counts[form] = counts.get(form, 0) + count
        for form in sorted(counts, key=lambda form: (-counts[form], form.encode())):
            if any(part.has(form) for part in parts):
                return form
    return None
