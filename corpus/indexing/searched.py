"""The columns that are searched as fields: their texts, and the words of every document there.

A column holds each distinct string once, so that each is read once, however many documents have it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from ranklet.corpus.indexing.metadata import Field
from ranklet.corpus.indexing.packer import packed
from ranklet.runtime.bundles.manifest import LIST, PLURALS, STRING
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.metadata.columns import CODES, MISSING, OFFSETS
from ranklet.runtime.storage.forward import Forward
from ranklet.runtime.text.analysis import Analyzer

_DOCUMENTS = 1 << 16  # whose words are packed at a time


def list_searched(columns: Mapping[str, Field], names: Sequence[str]) -> Iterator[str]:
    """Yield the distinct strings of some columns, of those that are there.

    Raises:
        InputError: a column holds no text.
    """
    for name in names:
        if name in columns:
            yield from _texts(columns[name], name)


def check_columns(columns: Mapping[str, Field], names: Sequence[str]) -> None:
    """Raise InputError if no document has one of some columns."""
    for name in names:
        if name not in columns:
            raise InputError(
                f"no document has a column {name!r:.60} to search; the columns besides the text "
                f"are {', '.join(columns) or 'none'}"
            )


def list_words(
    columns: Mapping[str, Field], names: Iterable[str], analyzer: Analyzer, documents: int
) -> dict[str, Forward]:
    """Return the words of every document in some columns, without stop words, by column.

    Args:
        columns: the metadata; a column that is not there has no words.
        names: the columns, which hold texts.
        analyzer: knows all words of their texts.
        documents: how many documents there are, where each passage counts as one.
    """
    return {name: _words(columns.get(name), analyzer, documents) for name in names}


def _texts(field: Field, name: str) -> Iterable[str]:
    if field.distinct is None:
        raise InputError(
            f"{name!r:.60} holds {PLURALS[field.type]}, and only strings are searched; pass "
            f"--types {name}={STRING}"
        )
    return field.distinct


def _words(field: Field | None, analyzer: Analyzer, documents: int) -> Forward:
    if field is None or field.distinct is None:
        return Forward(np.zeros(documents + 1, np.int64), np.empty(0, np.int32))
    found = analyzer.begin().tokenize_texts(list(field.distinct), "words")
    lengths = np.array([len(each) for each in found], np.int64)
    every = np.concatenate([*found, np.empty(0, np.int32)])
    distinct = Forward(np.append(0, np.cumsum(lengths)), every.astype(np.int32))
    codes = field.arrays[CODES].astype(np.int64)
    if field.type == LIST:
        ends = field.arrays[OFFSETS]
    else:
        there = np.ones(documents, np.int64)
        if MISSING in field.arrays:
            there = 1 - field.arrays[MISSING].astype(np.int64)
        codes, ends = codes[there == 1], np.append(0, np.cumsum(there))
    offsets = np.append(0, np.cumsum(lengths[codes]))[ends]
    tokens = packed(
        (
            distinct.gather(codes[at : at + _DOCUMENTS]).tokens
            for at in range(0, len(codes), _DOCUMENTS)
        ),
        np.int32,
    )
    return Forward(offsets, tokens)
