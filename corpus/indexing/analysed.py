"""Analyse a collection into the tokens of every document and the postings of every term."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.indexing.collection_words import collection_words, early_words
from ranklet.corpus.indexing.metadata import Field, MetadataCollector, join_documents
from ranklet.corpus.indexing.ordering import choose_order
from ranklet.corpus.indexing.origins import Origins
from ranklet.corpus.indexing.packer import NumberPacker, Packer, packed, release
from ranklet.corpus.indexing.postings import Postings, Titles, invert
from ranklet.corpus.indexing.searched import list_searched, list_words
from ranklet.corpus.languages.forms import read_forms
from ranklet.corpus.languages.names import AUTO
from ranklet.corpus.languages.options import TextOptions
from ranklet.corpus.progress import progress
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.ground.errors import CollectionError, InputError
from ranklet.runtime.lexical.field_index import TITLE
from ranklet.runtime.lexical.impact_index import ImpactIndex
from ranklet.runtime.rankers.bm25 import BM25, BM25Settings
from ranklet.runtime.storage.forward import Forward
from ranklet.runtime.storage.strings import Strings
from ranklet.runtime.text.analysis import STOPPED, Analyzer
from ranklet.runtime.text.names import CLASSES, ENGLISH, FIELDS, STEM
from ranklet.runtime.text.ranked import RankedTexts, count_ranked_bytes
from ranklet.runtime.text.tokenizing import encode_batch

if TYPE_CHECKING:
    from ranklet.runtime.text.tokenizing import Tokenizer

ANALYSING = "reading texts"  # the step's name in a progress bar
_COUNTED = 1 << 22  # tokens that are counted at a time
_BATCH = 1024  # documents that are tokenised into word pieces at once, on all cores


class WordAnalysis(TypedDict):
    """How words were read; see `Checkpoint`."""

    languages: tuple[str, ...]
    normaliser: str


@dataclass(frozen=True, eq=False)
class AnalysedCollection:
    """The documents with their tokens, in the classes that also serve them.

    Attributes:
        documents: ids, titles, texts and tokens.
        analyzer: the text analysis of documents and queries.
        forwards: the tokens by field, ``words`` (without stop words) and ``wordpieces``.
        fields: the requested fields.
        titles: whether a document's title is part of its ranked text.
        metadata: the other fields of the documents, sorted by name, if they were kept.
        languages: codes of the languages of the documents, most frequent first.
        normaliser: what the forms of a word have in common; see `TextOptions.method`.
        before: where documents were indexed before; None if they were not.
        shares: how many of the documents are in each language, if that was found out.
        columns: the words of each column that is searched.
        vectors: those of the documents that are new in `origins`, (new documents, dimension), if
            somebody else has computed them.
    """

    documents: Documents
    analyzer: Analyzer
    forwards: dict[str, Forward]
    fields: tuple[str, ...]
    titles: bool = True
    metadata: Mapping[str, Field] = field(default_factory=dict)
    languages: tuple[str, ...] = ENGLISH
    normaliser: str = STEM
    before: Origins | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    columns: Mapping[str, Forward] = field(default_factory=dict)
    vectors: NDArray[np.float32] | None = None

    def list_words(self, *fields: str) -> WordAnalysis:
        """Return how a checkpoint says that the words of some fields were read."""
        if set(fields) == {"wordpieces"}:
            return {"languages": (), "normaliser": ""}
        return {"languages": self.languages, "normaliser": self.normaliser}

    @property
    def origins(self) -> Origins:
        """Where documents were indexed before."""
        return self.before or Origins.all_new(len(self.documents))

    def read_ranked_texts(self) -> list[str]:
        """Return the ranked text of every document, in the order of their numbers."""
        return self.documents.read_ranked_texts(range(len(self.documents)))

    @property
    def unit(self) -> str:
        """What is ranked, documents or passages of them, for messages."""
        return "documents" if self.documents.first is None else "passages"

    def listed(self) -> Iterator[Document]:
        """Yield the documents in the form of the collection."""
        stored = self.documents
        yield from map(Document, stored.ids, stored.titles, stored.texts)

    def tokens(self, field: str) -> NDArray[np.integer]:
        """Return the concatenated tokens of all documents in a field, (tokens,)."""
        stored, renumber = self._stored(field)
        return stored.tokens if renumber is None else np.take(renumber, stored.tokens)

    def offsets(self, field: str) -> NDArray[np.int64]:
        """Return where each document's tokens begin and end, (documents + 1,) int64."""
        return self._stored(field)[0].offsets

    def postings(
        self, field: str, titles: Titles | None = None, columns: Sequence[Forward | None] = ()
    ) -> Postings:
        """Return the documents of each token of a field and its frequency in them.

        The words of `titles` may count more than once, and those of `columns` apart; see `invert`.
        """
        stored, renumber = self._stored(field)
        size = self.analyzer.size(field)
        return invert(stored.tokens, stored.offsets, size, renumber, titles, columns)

    def bm25(self, settings: BM25Settings) -> BM25:
        """Return a BM25 ranker over the collection in memory, for negatives and candidates.

        It ranks titles and texts only, because trained rankers read nothing else.

        Raises:
            InputError: titles count more than once, but are not ranked.
        """
        plain = replace(settings, fields=None)
        return open_bm25(plain, self.bm25_postings(plain))

    def bm25_postings(self, settings: BM25Settings) -> Postings:
        """Return the postings that a BM25 ranker counts, in which titles may count more than once.

        Raises:
            InputError: titles count more than once, but are not ranked.
        """
        settings.check_titles(self.titles)
        names, titles = list(settings.fields or ()), None
        columns = [None if name == TITLE else self.columns[name] for name in names]
        boost = 0.0 if TITLE in names else settings.title_boost
        if boost != 1:
            # Title and text are on lines of their own, so the words of the title come first.
            titles = Titles(self._title_lengths(), boost)
        return self.postings(settings.terms, titles, columns)

    def _title_lengths(self) -> NDArray[np.int64]:
        """Return the number of words of each title, without stop words, (documents,) int64."""
        vocabulary = self.analyzer.vocabulary
        ids = np.flatnonzero(vocabulary.lemma_of == STOPPED).tolist()
        stopped = {vocabulary.forms[each] for each in ids}
        split = vocabulary.splitter.words
        titles = self.documents.titles
        counts = np.zeros(len(titles), np.int64)
        for number in np.flatnonzero(np.diff(titles.offsets)).tolist():
            text = title = titles[number]
            if title.isupper():  # what capitals mean depends on the text below
                (text,) = self.documents.read_ranked_texts([number])
            counts[number] = sum(word not in stopped for word in split(text, len(title)))
        return counts

    def frequencies(self, field: str) -> NDArray[np.int64]:
        """Return how often each token occurs in the collection, (size of the field,) int64."""
        found = np.zeros(self.analyzer.size(field), np.int64)
        stored, renumber = self._stored(field)
        for begin in range(0, len(stored.tokens), _COUNTED):
            part = stored.tokens[begin : begin + _COUNTED]
            tokens = part if renumber is None else renumber[part]
            found += np.bincount(tokens, minlength=len(found))
            release(part)
        return found

    def _stored(self, field: str) -> tuple[Forward, NDArray[np.int32] | None]:
        """Return the stored tokens, and the array that maps them to the field's tokens.

        None stands for tokens that are those of the field. For `CLASSES` the array may have two
        columns.
        """
        if field not in ("lemmas", CLASSES):
            return self.forwards[field], None
        vocabulary, words = self.analyzer.vocabulary, self.forwards["words"]
        if field == "lemmas" or vocabulary.beginning_of is None:
            return words, vocabulary.lemma_of
        return words, np.column_stack([vocabulary.lemma_of, vocabulary.beginning_of])


def open_bm25(settings: BM25Settings, postings: Postings) -> BM25:
    """Return a BM25 ranker over postings in memory, for negatives and candidates."""
    average = postings.average_length
    return BM25(settings, compute_term_impacts(settings, postings, average), average)


def compute_term_impacts(
    settings: BM25Settings,
    postings: Postings,
    average: float,
    averages: Sequence[float] | None = None,
) -> ImpactIndex:
    """Return the impacts of postings by the mean lengths of texts and of fields that are meant."""
    if settings.fields is None:
        return postings.bm25(settings.k1, settings.b, average)
    return postings.bm25f(settings.formula, average, averages)


def analyse(
    documents: Iterable[Document],
    fields: Iterable[str],
    *,
    tokenizer: "Tokenizer | None" = None,
    titles: bool = True,
    known_words: Iterable[str] = (),
    known_texts: Iterable[str] = (),
    keep_metadata: bool = False,
    options: TextOptions | None = None,
    columns: Sequence[str] = (),
    metadata: Mapping[str, Field] | None = None,
    when_read: Callable[[Strings, Strings], None] = lambda *_: None,
    size: int = 0,
) -> AnalysedCollection:
    """Analyse a collection in the requested fields.

    Args:
        documents: the documents, which are read once, in order. Successive ones with one id are
            passages of one document.
        fields: the fields to analyse, some of lemmas, words and wordpieces.
        tokenizer: the tokenizer of the field wordpieces.
        titles: whether a document's title is part of its ranked text.
        known_words: words for the vocabulary even if no document contains them.
        known_texts: texts whose words are in the vocabulary, too.
        keep_metadata: whether the other fields of the documents are kept, for a bundle.
        options: the language of the documents, and what the forms of a word have in common.
        columns: the columns of the metadata that are searched.
        metadata: the other fields, if they were collected elsewhere.
        when_read: is called with the texts and the ids once all were read, before their analysis.
        size: how many bytes the documents have, as far as that is known.

    Raises:
        CollectionError: there is no document.
        InputError: word pieces are requested without a tokenizer, or a field is unknown, or a
            column holds no text.
    """
    wanted = list_wanted_fields(fields, tokenizer)
    ids, shown_titles, texts, locations = Packer(), Packer(), Packer(), Packer()
    options = options or TextOptions()
    if options.forms:
        read_forms(options.forms, options.language)  # raises before the texts are read
    first, last, vectors = array("I"), None, VectorPacker()
    collector = MetadataCollector()

    def read() -> Iterator[bytes]:
        nonlocal last
        for document in progress(documents, ANALYSING):
            if keep_metadata and document.id != last:
                collector.add(document.metadata)
            first.append(first[-1] if document.id == last else len(first))
            last = document.id
            ids.add(document.id)
            locations.add(document.location)
            vectors.add(document)
            title, text = shown_titles.add(document.title), texts.add(document.text)
            yield count_ranked_bytes(title, text, titles)

    early = early_words(read(), options, size)
    if not first:
        raise CollectionError("the collection has no document")
    packed_ids, packed_titles, packed_texts = ids.strings(), shown_titles.strings(), texts.strings()
    when_read(packed_texts, packed_ids)
    ranked = RankedTexts(packed_titles, packed_texts, titles)
    parts = if_split(np.frombuffer(first, np.uint32))
    if metadata is None:
        places = join_documents(parts, len(packed_ids))
        metadata = collector.fields(places) if keep_metadata else {}
    known_texts = chain(known_texts, list_searched(metadata, columns))
    vocab, tokens, shares = collection_words(ranked, options, known_words, known_texts, early)
    forwards = {"words": tokens}
    stored = Documents(
        packed_ids,
        choose_order(packed_ids),
        packed_titles,
        packed_texts,
        forwards,
        vocab,
        titled=titles,
        first=parts,
        locations=if_any(locations.strings()),
    )
    if tokenizer is not None and "wordpieces" in wanted:
        forwards["wordpieces"] = wordpieces(stored, tokenizer, range(len(stored)))
    analyzer = Analyzer(vocab, None if tokenizer is None else lambda: tokenizer)
    return AnalysedCollection(
        stored, analyzer, forwards, wanted, titles, metadata, tuple(shares), options.method,
        shares=shares if options.language == AUTO else {},
        columns=list_words(metadata, columns, analyzer, len(stored)),
        vectors=vectors.rows(),
    )  # fmt: skip


class VectorPacker:
    """Packs the vectors of documents into a temporary file, if they have some."""

    def __init__(self) -> None:
        self._packer: NumberPacker | None = None
        self._count, self._lacking = 0, ""

    def add(self, document: Document) -> None:
        """Add a document.

        Raises:
            CollectionError: only some documents have vectors.
        """
        vector, self._count = document.vector, self._count + 1
        if vector is None:
            self._lacking = self._lacking or document.id
        elif self._packer is None:
            self._packer = NumberPacker(np.float32, (len(vector),))
        if self._packer is not None and self._lacking:
            raise CollectionError(f"the document {self._lacking!r:.80} has no vector; give it one")
        if self._packer is not None and vector is not None:
            self._packer.add(vector[np.newaxis])

    def rows(self) -> NDArray[np.float32] | None:
        """Return the vectors, (documents, dimension); None if there are none."""
        return None if self._packer is None else self._packer.array()


def list_wanted_fields(fields: Iterable[str], tokenizer: "Tokenizer | None") -> tuple[str, ...]:
    """Return the requested fields in their usual order.

    Raises:
        InputError: word pieces are requested without a tokenizer, or a field is unknown.
    """
    names = set(fields)
    if unknown := names - set(FIELDS):
        raise InputError(f"unknown field {min(unknown)!r}; known are {', '.join(FIELDS)}")
    if "wordpieces" in names and tokenizer is None:
        raise InputError("word pieces need a tokenizer; pass a tokenizer.json or vocab.txt")
    return tuple(field for field in FIELDS if field in names)


def if_split(first: NDArray[np.uint32]) -> NDArray[np.uint32] | None:
    """Return the first passage of each passage's document, or None if all documents are whole."""
    return None if np.array_equal(first, np.arange(len(first))) else first


def if_any(locations: Strings) -> Strings | None:
    """Return where passages stand in their documents, or None if no document was split."""
    return locations if len(locations.data) else None


def wordpieces(documents: Documents, tokenizer: "Tokenizer", numbers: Sequence[int]) -> Forward:
    """Return the word pieces of some documents, a row per document, uint16 if they fit."""
    dtype = np.uint16 if tokenizer.get_vocab_size() <= 1 << 16 else np.int32
    ends = np.zeros(len(numbers) + 1, np.int64)

    def pieces() -> Iterator[NDArray[np.integer]]:
        for begin in progress(range(0, len(numbers), _BATCH), "word pieces"):
            texts = documents.read_ranked_texts(numbers[begin : begin + _BATCH])
            batch = encode_batch(tokenizer, texts)
            lengths = [len(encoded.ids) for encoded in batch]
            ends[begin + 1 : begin + 1 + len(lengths)] = ends[begin] + np.cumsum(lengths)
            yield np.array([each for encoded in batch for each in encoded.ids], dtype)

    tokens = packed(pieces(), dtype)  # also completes `ends`
    return Forward(ends, tokens)
