"""Analyse a collection into the tokens of every document and the postings of every term."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import CollectionError, InputError
from ranklet.runtime.lexical.bm25 import idf, saturation
from ranklet.runtime.lexical.forward import Forward
from ranklet.runtime.lexical.impact_index import ImpactIndex, largest_impacts
from ranklet.runtime.rankers.bm25 import BM25, BM25Settings
from ranklet.runtime.storage.documents import Documents
from ranklet.runtime.text.analysis import FIELDS, Analyzer
from ranklet.runtime.text.ranked import ranked_text
from ranklet.runtime.text.strings import Strings
from ranklet.runtime.text.words import stop_words, words
from ranklet.training.data.collection import Document
from ranklet.training.indexing.lemmas import vocabulary
from ranklet.training.progress import progress

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ANALYSING = "reading documents"  # the step's name in a progress bar
_BATCH = 1024  # documents that are tokenised into word pieces at once, on all cores


@dataclass(frozen=True, eq=False)
class AnalysedCollection:
    """The documents with their tokens, in the classes that also serve them.

    Attributes:
        documents: ids, titles, texts and tokens.
        analyzer: the text analysis of documents and queries.
        forwards: the tokens by field, ``words`` (without stop words) and ``wordpieces``.
        fields: the requested fields.
        titles: whether a document's title is part of its ranked text.
    """

    documents: Documents
    analyzer: Analyzer
    forwards: dict[str, Forward]
    fields: tuple[str, ...]
    titles: bool = True

    def ranked_texts(self) -> list[str]:
        """Return the ranked text of every document, in the order of their numbers."""
        pairs = zip(self.documents.titles, self.documents.texts, strict=True)
        return [ranked_text(title, text, self.titles) for title, text in pairs]

    def listed(self) -> Iterator[Document]:
        """Yield the documents as they are in the collection."""
        stored = self.documents
        yield from map(Document, stored.ids, stored.titles, stored.texts)

    def tokens(self, field: str) -> NDArray[np.integer]:
        """Return the concatenated tokens of all documents in a field, (tokens,)."""
        if field != "lemmas":
            return self.forwards[field].tokens
        return np.take(self.analyzer.vocabulary.lemma_of, self.forwards["words"].tokens)

    def offsets(self, field: str) -> NDArray[np.int64]:
        """Return where each document's tokens begin and end, (documents + 1,) int64."""
        return self.forwards["words" if field == "lemmas" else field].offsets

    def postings(self, field: str) -> "Postings":
        """Return the documents of each token of a field and its frequency in them."""
        from scipy.sparse import csr_matrix

        tokens, offsets = self.tokens(field), self.offsets(field)
        shape = (len(self.documents), self.analyzer.size(field))
        by_document = csr_matrix((np.ones(len(tokens), np.float32), tokens, offsets), shape)
        by_term = by_document.tocsc()
        by_term.sum_duplicates()  # also sorts the documents of each term
        return Postings(
            by_term.indptr.astype(np.int64),
            by_term.indices.astype(np.uint32),
            by_term.data,
            np.diff(offsets).astype(np.float32),
        )

    def frequencies(self, field: str) -> NDArray[np.int64]:
        """Return how often each token occurs in the collection, (size of the field,) int64."""
        return np.bincount(self.tokens(field), minlength=self.analyzer.size(field))


@dataclass(frozen=True, eq=False)
class Postings:
    """Term frequencies by term.

    Attributes:
        offsets: postings of term t are at ``offsets[t]:offsets[t + 1]``, (terms + 1,) int64.
        documents: ascending within a term, (postings,) uint32.
        frequencies: the frequency of the term in the document, ≥ 1, (postings,) float32.
        lengths: number of tokens in each document, (documents,) float32.
    """

    offsets: NDArray[np.int64]
    documents: NDArray[np.uint32]
    frequencies: NDArray[np.float32]
    lengths: NDArray[np.float32]

    @property
    def average_length(self) -> float:
        """The mean number of tokens per document, 0 for an empty collection."""
        return float(self.lengths.mean()) if len(self.lengths) else 0.0

    def bm25(self, k1: float, b: float) -> ImpactIndex:
        """Return an impact index of BM25 with these parameters."""
        df = np.diff(self.offsets)
        weight = saturation(
            self.frequencies, self.lengths[self.documents], self.average_length, k1, b
        )
        impacts = weight * np.repeat(idf(df, len(self.lengths)), df)
        largest = largest_impacts(self.offsets, impacts)
        return ImpactIndex(self.offsets, self.documents, impacts, largest, len(self.lengths))


def open_bm25(settings: BM25Settings, postings: Postings) -> BM25:
    """Return a BM25 ranker over postings in memory, for negatives and candidates."""
    return BM25(settings, postings.bm25(settings.k1, settings.b), postings.average_length)


def analyse(
    documents: Iterable[Document],
    fields: Iterable[str],
    *,
    tokenizer: "Tokenizer | None" = None,
    titles: bool = True,
    known_words: Iterable[str] = (),
) -> AnalysedCollection:
    """Analyse a collection in the requested fields.

    Args:
        documents: read once, in order. Successive ones with one id are passages of one document.
        fields: some of lemmas, words and wordpieces.
        tokenizer: the tokenizer of the field wordpieces.
        titles: whether a document's title is part of its ranked text.
        known_words: words for the vocabulary even if no document contains them.

    Raises:
        CollectionError: there is no document.
        InputError: word pieces are requested without a tokenizer, or a field is unknown.
    """
    wanted = tuple(field for field in FIELDS if field in set(fields))
    if unknown := set(fields) - set(FIELDS):
        raise InputError(f"unknown field {min(unknown)!r}; known are {', '.join(FIELDS)}")
    if "wordpieces" in wanted and tokenizer is None:
        raise InputError("word pieces need a tokenizer; pass a tokenizer.json or vocab.txt")
    ids, shown_titles, texts, ranked = list[str](), list[str](), list[str](), list[str]()
    first = array("I")
    number: dict[str, int] = {}
    stopped = stop_words()
    seen, ends = array("i"), array("q", [0])
    for document in progress(documents, ANALYSING):
        first.append(first[-1] if ids and ids[-1] == document.id else len(ids))
        ids.append(document.id)
        shown_titles.append(document.title)
        texts.append(document.text)
        text = ranked_text(document.title, document.text, titles)
        if "wordpieces" in wanted:
            ranked.append(text)
        for word in words(text):
            if word not in stopped:
                seen.append(number.setdefault(word, len(number)))
        ends.append(len(seen))
    if not ids:
        raise CollectionError("the collection has no document")
    vocab = vocabulary({*number, *known_words})
    renumber = np.array([vocab.forms.find(word) for word in number], np.int32)
    tokens = renumber[np.frombuffer(seen, np.int32)] if len(seen) else np.empty(0, np.int32)
    forwards = {"words": Forward(np.frombuffer(ends, np.int64), tokens)}
    if tokenizer is not None and "wordpieces" in wanted:
        forwards["wordpieces"] = _wordpieces(ranked, tokenizer)
    by_id = sorted(range(len(ids)), key=lambda number: ids[number].encode("utf-8", "replace"))
    stored = Documents(
        Strings.pack(ids),
        np.array(by_id, np.uint32),
        Strings.pack(shown_titles),
        Strings.pack(texts),
        forwards,
        vocab,
        titled=titles,
        first=_split(np.frombuffer(first, np.uint32)),
    )
    analyzer = Analyzer(vocab, None if tokenizer is None else lambda: tokenizer)
    return AnalysedCollection(stored, analyzer, forwards, wanted, titles)


def _split(first: NDArray[np.uint32]) -> NDArray[np.uint32] | None:
    """Return the first passage of each passage's document, or None if all documents are whole."""
    return None if np.array_equal(first, np.arange(len(first))) else first


def _wordpieces(texts: list[str], tokenizer: "Tokenizer") -> Forward:
    dtype = np.uint16 if tokenizer.get_vocab_size() <= 1 << 16 else np.int32
    parts, lengths = [], []
    for begin in progress(range(0, len(texts), _BATCH), "word pieces"):
        batch = tokenizer.encode_batch(texts[begin : begin + _BATCH], add_special_tokens=False)
        parts += [np.array(encoded.ids, dtype) for encoded in batch]
        lengths += [len(encoded.ids) for encoded in batch]
    tokens = np.concatenate([*parts, np.empty(0, dtype)])
    return Forward(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), tokens)
