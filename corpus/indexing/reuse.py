"""Analyse a collection that is made of the documents of bundles and of new ones.

The result is what `analyse` would return, but only the texts of new documents are read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.indexing.analysed import (
    AnalysedCollection,
    if_any,
    if_split,
    wanted_fields,
    wordpieces,
)
from ranklet.corpus.indexing.metadata import Field, MetadataCollector, of_whole_documents
from ranklet.corpus.indexing.ordering import order_of
from ranklet.corpus.indexing.origins import (
    Origins,
    Rows,
    joined_offsets,
    joined_rows,
    joined_strings,
)
from ranklet.corpus.indexing.packer import packed, release
from ranklet.corpus.indexing.searched import texts_of, words_of
from ranklet.corpus.indexing.vocabulary import vocabulary
from ranklet.corpus.indexing.word_tokens import WordReader, WordTokens
from ranklet.corpus.languages.options import WORDS, TextOptions
from ranklet.corpus.languages.stop_lists import stop_list
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.errors import BundleError
from ranklet.runtime.storage.forward import Forward
from ranklet.runtime.storage.strings import Strings
from ranklet.runtime.text.analysis import ENGLISH, Analyzer, Vocabulary, splitter
from ranklet.runtime.text.classes import WordClasses

if TYPE_CHECKING:
    from ranklet.runtime.text.tokenizing import Tokenizer

_TEXTS = 256  # texts whose words are numbered at a time
_TOKENS = 1 << 22  # tokens that are renumbered at a time


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

    @classmethod
    def joined(cls, origins: Origins, parts: "Sequence[Documents | Texts]") -> Self:
        """Return the documents of some bundles, and new ones, in the order of their origins."""
        ids, titles, texts = (
            joined_strings(origins, [getattr(each, name) for each in parts])
            for name in ("ids", "titles", "texts")
        )
        return cls(ids, titles, texts, joined_strings(origins, list(map(_locations, parts))))


class Contents(NamedTuple):
    """The documents of a collection, where each passage is one."""

    ids: Strings
    titles: Strings
    texts: Strings
    locations: Strings
    first: NDArray[np.uint32]  # the first passage of each passage's document, (documents,)
    metadata: Iterable[Mapping[str, Any]]  # of each whole document, read once

    @classmethod
    def joined(
        cls,
        origins: Origins,
        parts: Sequence[Documents | Texts],
        first: NDArray[np.integer],
        metadata: Iterable[Mapping[str, Any]],
    ) -> Self:
        """Return the documents of some bundles, and new ones, in the order of their origins."""
        return cls(*Texts.joined(origins, parts), first.astype(np.uint32), metadata)


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
    """Analyse a collection in one language that is mostly in bundles already; see `analyse`.

    Args:
        contents: the documents.
        origins: where they are found, in one bundle or more, which were indexed with the same
            tokenizer, titles, known words and options of words. Their words divide no others.
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
    wanted = wanted_fields(fields, tokenizer)
    new = origins.new.tolist()
    any_words = origins.bundles[0].analyzer.vocabulary  # nothing looks it up
    bare = Documents(
        contents.ids, order_of(contents.ids), contents.titles, contents.texts, {}, any_words,
        titled=titles, first=if_split(contents.first), locations=if_any(contents.locations),
    )  # fmt: skip
    languages, stopped = (words.language,), stop_list(words.language)
    left_out = sorted(stopped) if languages == ENGLISH else []
    split = splitter(languages, stopped)
    reader, unread = WordReader(left_out, split), WordTokens()
    for begin in range(0, max(1, len(new)), _TEXTS):  # also without any, for the stop words
        unread.add(reader.read(bare.ranked_texts(new[begin : begin + _TEXTS])))
    stored = [bundle.need_documents().forward("words") for bundle in origins.bundles]
    lemmas: dict[str, str] = {}
    for part, bundle in enumerate(origins.bundles):
        lemmas |= _lemmas(bundle, origins, part)
    if metadata is None:
        others = MetadataCollector()
        for each in contents.metadata:
            others.add(each)
        metadata = others.fields(of_whole_documents(bare.first, len(bare)))
    in_columns = {word for text in texts_of(metadata, columns) for word in split.words(text)}
    new_words = in_columns.union(map(split.key, unread.words() | set(known_words)))
    vocab = vocabulary(
        {*lemmas, *new_words}, languages, WordClasses(languages, words.normaliser), stopped,
        lemmas=lemmas,
    )  # fmt: skip
    numbers = [_numbers(bundle.analyzer.vocabulary, vocab) for bundle in origins.bundles]
    forwards = {"words": _renumbered(origins, stored, unread.forward(vocab), numbers)}
    documents = Documents(
        bare.ids, bare.by_id, bare.titles, bare.texts, forwards, vocab,
        titled=titles, first=bare.first, locations=bare.locations,
    )  # fmt: skip
    if tokenizer is not None and "wordpieces" in wanted:
        parts = [bundle.need_documents().forward("wordpieces") for bundle in origins.bundles]
        forwards["wordpieces"] = _joined(origins, [*parts, wordpieces(bare, tokenizer, new)])
    analyzer = Analyzer(vocab, None if tokenizer is None else lambda: tokenizer)
    return AnalysedCollection(
        documents, analyzer, forwards, wanted, titles, metadata, languages, words.normaliser,
        origins, columns=words_of(metadata, columns, analyzer, len(documents)),
    )  # fmt: skip


def _lemmas(bundle: BundleFiles, origins: Origins, part: int) -> dict[str, str]:
    """Return the words of a bundle's documents that the collection still has, with their lemmas."""
    vocabulary, words = bundle.analyzer.vocabulary, bundle.need_documents().forward("words")
    if len(words.tokens) and not 0 <= words.tokens.min() <= words.tokens.max() < len(vocabulary):
        raise BundleError(
            f"the bundle {str(bundle.path)!r} is damaged: a word is past the vocabulary; run "
            "`ranklet verify` on it"
        )
    used = np.zeros(len(vocabulary), np.bool_)
    for run in origins.runs():
        if run.part == part:
            used[words.tokens[words.offsets[run.begin] : words.offsets[run.end]]] = True
    forms, lemma_of = vocabulary.forms, vocabulary.lemma_of
    return {forms[each]: forms[lemma_of[each]] for each in np.flatnonzero(used).tolist()}


def _numbers(old: Vocabulary, new: Vocabulary) -> NDArray[np.int32]:
    """Return the new number of each old form, (forms,) int32, −1 if it has gone."""
    place = {form: at for at, form in enumerate(new.forms.every_raw())}
    return np.array([place.get(form, -1) for form in old.forms.every_raw()], np.int32)


def _renumbered(
    origins: Origins, stored: Sequence[Forward], new: Forward, numbers: Sequence[NDArray[np.int32]]
) -> Forward:
    """Return the words of all documents as numbers of the new vocabulary.

    Args:
        origins: where the documents were indexed before.
        stored: the words of each bundle's documents.
        new: the words of the new documents, in the new vocabulary.
        numbers: the new number of each bundle's forms.
    """
    parts = [*stored, new]
    offsets = [part.offsets for part in parts]

    def renumbered() -> Iterator[NDArray[np.integer]]:
        for part, first, last in origins.runs():
            begin, end = int(offsets[part][first]), int(offsets[part][last])
            for at in range(begin, end, _TOKENS):
                tokens = parts[part].tokens[at : min(at + _TOKENS, end)]
                yield tokens if part == len(stored) else numbers[part][tokens]
                release(tokens)

    tokens = packed(renumbered(), np.int32)
    return Forward(joined_offsets(origins, offsets), tokens)


def _joined(origins: Origins, parts: Sequence[Forward]) -> Forward:
    rows = joined_rows(origins, [Rows(part.offsets, (part.tokens,)) for part in parts])
    return Forward(rows.offsets, rows.columns[0])
