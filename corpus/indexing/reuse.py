"""Analyse a collection that is made of the documents of bundles and of new ones.

The result is what `analyse` would return, but only the texts of new documents are read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.indexing.analysed import AnalysedCollection, if_split, wanted_fields, wordpieces
from ranklet.corpus.indexing.metadata import MetadataCollector, of_whole_documents
from ranklet.corpus.indexing.ordering import order_of
from ranklet.corpus.indexing.origins import (
    Origins,
    Rows,
    joined_offsets,
    joined_rows,
    joined_strings,
)
from ranklet.corpus.indexing.packer import packed, release
from ranklet.corpus.indexing.vocabulary import Changed, Words, changed_vocabulary
from ranklet.corpus.indexing.word_tokens import WordReader, WordTokens
from ranklet.corpus.languages.stop_lists import stop_list
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.errors import BundleError
from ranklet.runtime.storage.forward import Forward
from ranklet.runtime.storage.strings import Strings
from ranklet.runtime.text.analysis import Analyzer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_TEXTS = 256  # texts whose words are numbered at a time
_TOKENS = 1 << 22  # tokens that are renumbered at a time


class Contents(NamedTuple):
    """The documents of a collection, where each passage is one."""

    ids: Strings
    titles: Strings
    texts: Strings
    first: NDArray[np.uint32]  # the first passage of each passage's document, (documents,)
    metadata: Iterable[Mapping[str, Any]]  # of each whole document, read once

    @classmethod
    def joined(
        cls,
        origins: Origins,
        parts: Sequence[Documents],
        first: NDArray[np.integer],
        metadata: Iterable[Mapping[str, Any]],
    ) -> Self:
        """Return the documents of some bundles in the order of their origins."""
        ids, titles, texts = (
            joined_strings(origins, [getattr(each, name) for each in parts])
            for name in ("ids", "titles", "texts")
        )
        return cls(ids, titles, texts, first.astype(np.uint32), metadata)


def first_passages(documents: Documents) -> NDArray[np.int64]:
    """Return the first passage of each passage's document, (documents,) int64."""
    numbers = np.arange(len(documents))
    return numbers if documents.first is None else documents.first.astype(np.int64)


def analyse_again(
    contents: Contents,
    origins: Origins,
    fields: Iterable[str],
    *,
    tokenizer: "Tokenizer | None" = None,
    titles: bool = True,
    known_words: Iterable[str] = (),
) -> AnalysedCollection:
    """Analyse an English collection that is mostly in bundles already; see `analyse`.

    What the forms of a word have in common is the lemma.

    Args:
        contents: the documents.
        origins: where they are found, in one bundle or more, which were indexed with the same
            tokenizer, titles and known words.
        fields: the fields to analyse, some of lemmas, words and wordpieces.
        tokenizer: the tokenizer of the field wordpieces.
        titles: whether a document's title is part of its ranked text.
        known_words: words for the vocabulary even if no document contains them.

    Raises:
        BundleError: a bundle is damaged.
    """
    wanted = wanted_fields(fields, tokenizer)
    new = origins.new.tolist()
    any_words = origins.bundles[0].analyzer.vocabulary  # nothing looks it up
    bare = Documents(
        contents.ids, order_of(contents.ids), contents.titles, contents.texts, {}, any_words,
        titled=titles, first=if_split(contents.first),
    )  # fmt: skip
    reader, unread = WordReader(sorted(stop_list("en"))), WordTokens()
    for begin in range(0, max(1, len(new)), _TEXTS):  # also without any, for the stop words
        unread.add(reader.read(bare.ranked_texts(new[begin : begin + _TEXTS])))
    stored = [bundle.need_documents().forward("words") for bundle in origins.bundles]
    used = [_words(bundle, origins, at) for at, bundle in enumerate(origins.bundles)]
    changed = changed_vocabulary(used, unread.words() | set(known_words))
    tokens = unread.forward(changed.vocabulary)
    forwards = {"words": _renumbered(origins, stored, tokens, changed)}
    documents = Documents(
        bare.ids, bare.by_id, bare.titles, bare.texts, forwards, changed.vocabulary,
        titled=titles, first=bare.first,
    )  # fmt: skip
    if tokenizer is not None and "wordpieces" in wanted:
        parts = [bundle.need_documents().forward("wordpieces") for bundle in origins.bundles]
        forwards["wordpieces"] = _joined(origins, [*parts, wordpieces(bare, tokenizer, new)])
    analyzer = Analyzer(changed.vocabulary, None if tokenizer is None else lambda: tokenizer)
    others = MetadataCollector()
    for each in contents.metadata:
        others.add(each)
    columns = others.fields(of_whole_documents(documents.first, len(documents)))
    return AnalysedCollection(
        documents, analyzer, forwards, wanted, titles, columns, before=origins
    )


def _words(bundle: BundleFiles, origins: Origins, part: int) -> Words:
    """Return which words a bundle's documents had, and which of these they still have."""
    vocabulary, words = bundle.analyzer.vocabulary, bundle.need_documents().forward("words")
    before, now = (np.zeros(len(vocabulary), np.bool_) for _ in range(2))
    if len(words.tokens) and not 0 <= words.tokens.min() <= words.tokens.max() < len(vocabulary):
        raise BundleError(
            f"the bundle {str(bundle.path)!r} is damaged: a word is past the vocabulary; run "
            "`ranklet verify` on it"
        )
    before[words.tokens] = True
    for run in origins.runs():
        if run.part == part:
            now[words.tokens[words.offsets[run.begin] : words.offsets[run.end]]] = True
    return Words(vocabulary, before, now)


def _renumbered(
    origins: Origins, stored: Sequence[Forward], new: Forward, changed: Changed
) -> Forward:
    """Return the words of all documents as numbers of the changed vocabulary."""
    parts = [*stored, new]
    offsets = [part.offsets for part in parts]

    def renumbered() -> Iterator[NDArray[np.integer]]:
        for part, first, last in origins.runs():
            begin, end = int(offsets[part][first]), int(offsets[part][last])
            for at in range(begin, end, _TOKENS):
                tokens = parts[part].tokens[at : min(at + _TOKENS, end)]
                yield tokens if part == len(stored) else changed.numbers[part][tokens]
                release(tokens)

    tokens = packed(renumbered(), np.int32)
    return Forward(joined_offsets(origins, offsets), tokens)


def _joined(origins: Origins, parts: Sequence[Forward]) -> Forward:
    rows = joined_rows(origins, [Rows(part.offsets, (part.tokens,)) for part in parts])
    return Forward(rows.offsets, rows.columns[0])
