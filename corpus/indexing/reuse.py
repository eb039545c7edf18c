"""Analyse a collection that is made of the documents of bundles and of new ones.

The result is what `analyse` would return, but nothing is compressed or cut into pieces again.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.indexing.analysed import (
    AnalysedCollection,
    if_any,
    if_split,
    list_wanted_fields,
    wordpieces,
)
from ranklet.corpus.indexing.collection_words import collection_words
from ranklet.corpus.indexing.metadata import Field, MetadataCollector, join_documents
from ranklet.corpus.indexing.ordering import choose_order
from ranklet.corpus.indexing.origins import Origins, Rows, join_strings, joined_rows
from ranklet.corpus.indexing.searched import list_searched, list_words
from ranklet.corpus.languages.names import AUTO
from ranklet.corpus.languages.options import WORDS, TextOptions
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.manifest import NO_TYPES
from ranklet.runtime.storage.forward import Forward
from ranklet.runtime.storage.strings import Strings
from ranklet.runtime.text.analysis import Analyzer, Vocabulary
from ranklet.runtime.text.ranked import RankedTexts

if TYPE_CHECKING:
    from ranklet.runtime.text.tokenizing import Tokenizer


class Texts(NamedTuple):
    """New documents."""

    ids: Strings
    titles: Strings
    texts: Strings
    locations: Strings  # where each passage stands in its document; "" if that is whole

    @classmethod
    def of(cls, documents: Iterable[Document]) -> Self:
        """Return some documents."""
        rows = [(each.id, each.title, each.text, each.location) for each in documents]
        return cls(*(Strings.pack(row[at] for row in rows) for at in range(4)))


class Contents(NamedTuple):
    """The documents of a collection, where each passage is one."""

    ids: Strings
    titles: Strings
    texts: Strings
    locations: Strings
    first: NDArray[np.uint32]  # the first passage of each passage's document, (documents,)
    metadata: Iterable[Mapping[str, Any]]  # of each whole document, read once
    vectors: NDArray[np.float32] | None = None  # of the new documents, if they have some

    @classmethod
    def joined(
        cls,
        origins: Origins,
        parts: Sequence[Documents | Texts],
        first: NDArray[np.integer],
        metadata: Iterable[Mapping[str, Any]],
    ) -> Self:
        """Return the documents of some bundles, and new ones, in the order of their origins."""
        ids, titles, texts = (
            join_strings(origins, [getattr(each, name) for each in parts])
            for name in ("ids", "titles", "texts")
        )
        locations = join_strings(origins, list(map(_locations, parts)))
        return cls(ids, titles, texts, locations, first.astype(np.uint32), metadata)

    def fields(self, types: Mapping[str, str] = NO_TYPES) -> dict[str, Field]:
        """Return the metadata, which is read once, as `MetadataCollector.fields` does."""
        collector = MetadataCollector()
        for each in self.metadata:
            collector.add(each)
        return collector.fields(join_documents(if_split(self.first), len(self.ids)), types)

    def documents(
        self, forwards: dict[str, Forward], vocabulary: Vocabulary, *, titled: bool
    ) -> Documents:
        """Return the documents with their tokens, which may be added later."""
        return Documents(
            self.ids, choose_order(self.ids), self.titles, self.texts, forwards, vocabulary,
            titled=titled, first=if_split(self.first), locations=if_any(self.locations),
        )  # fmt: skip


def _locations(documents: Documents | Texts) -> Strings:
    """Return where each passage stands in its document, "" for each that is whole."""
    if documents.locations is not None:
        return documents.locations
    return Strings(np.empty(0, np.uint8), np.zeros(len(documents.ids) + 1, np.int64))


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
    words: TextOptions = WORDS,
    columns: Sequence[str] = (),
    metadata: Mapping[str, Field] | None = None,
) -> AnalysedCollection:
    """Analyse a collection that is mostly in bundles already; see `analyse`.

    Words are found in all texts again, because bundles may lack them.

    Args:
        contents: the documents.
        origins: where they are found, in one bundle or more, with the same tokenizer.
        fields: the fields to analyse, some of lemmas, words and wordpieces.
        tokenizer: the tokenizer of the field wordpieces.
        titles: whether a document's title is part of its ranked text.
        known_words: words for the vocabulary even if no document contains them.
        words: the language of the collection, and what the forms of a word have in common.
        columns: the columns of the metadata that are searched.
        metadata: the other fields, if they were collected elsewhere.

    Raises:
        BundleError: a bundle is damaged.
    """
    wanted = list_wanted_fields(fields, tokenizer)
    if metadata is None:
        metadata = contents.fields()
    ranked = RankedTexts(contents.titles, contents.texts, titles)
    more = list_searched(metadata, columns)
    vocab, tokens, shares = collection_words(ranked, words, known_words, more)
    forwards = {"words": tokens}
    documents = contents.documents(forwards, vocab, titled=titles)
    if tokenizer is not None and "wordpieces" in wanted:
        forwards["wordpieces"] = joined_wordpieces(documents, tokenizer, origins)
    analyzer = Analyzer(vocab, None if tokenizer is None else lambda: tokenizer)
    return AnalysedCollection(
        documents, analyzer, forwards, wanted, titles, metadata, tuple(shares), words.method,
        origins, shares if words.language == AUTO else {},
        list_words(metadata, columns, analyzer, len(documents)), contents.vectors,
    )  # fmt: skip


def joined_wordpieces(documents: Documents, tokenizer: "Tokenizer", origins: Origins) -> Forward:
    """Return the word pieces of documents, of which only the new ones are cut into pieces."""
    parts = [bundle.need_documents().forward("wordpieces") for bundle in origins.bundles]
    parts.append(wordpieces(documents, tokenizer, origins.new.tolist()))
    rows = joined_rows(origins, [Rows(part.offsets, (part.tokens,)) for part in parts])
    return Forward(rows.offsets, rows.columns[0])
