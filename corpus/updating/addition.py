"""Make an addition to a bundle: new documents, and those of earlier additions that it replaces.

Nothing of the base is read but the words that are looked up, so it takes as long for a large
collection as for a small one.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.addition_writer import AdditionWriter
from ranklet.corpus.building.folder import list_needs, write_collection
from ranklet.corpus.building.indexer import IndexJob, indexer
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.indexing.analysed import AnalysedCollection, if_any, if_split, wordpieces
from ranklet.corpus.indexing.metadata import MetadataCollector, join_documents
from ranklet.corpus.indexing.ordering import choose_order
from ranklet.corpus.indexing.origins import Origins, Rows, joined_rows
from ranklet.corpus.indexing.reuse import Texts, first_passages
from ranklet.corpus.indexing.searched import list_searched, list_words
from ranklet.corpus.indexing.vocabulary import vocabulary
from ranklet.corpus.indexing.word_tokens import WordReader, Words, WordTokens
from ranklet.corpus.sources.bundle_documents import collect_metadata
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import Manifest, RankerEntry
from ranklet.runtime.bundles.segments import AdditionFiles
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.storage.forward import Forward
from ranklet.runtime.storage.strings import Strings
from ranklet.runtime.text.analysis import STOPPED, Analyzer, Vocabulary
from ranklet.runtime.text.classes import WordClasses
from ranklet.runtime.text.names import ENGLISH

PLACES = "documents/places.npy"  # in the order of all documents, (documents,) int64


class Kept(NamedTuple):
    """Documents of an earlier addition that the new one has, too."""

    files: AdditionFiles
    numbers: NDArray[np.int64]  # ascending, with all passages of each document


class New(NamedTuple):
    """A new document, or a passage of one, and its place in the order of all documents."""

    document: Document
    place: int


class Packed(NamedTuple):
    """An addition as it is stored."""

    content: bytes  # of the zip
    sha256: str  # of its manifest


def pack_addition(
    base: BundleFiles, kept: Sequence[Kept], new: Sequence[New], types: dict[str, str]
) -> Packed:
    """Return an addition with these documents.

    Args:
        base: the bundle.
        kept: documents of earlier additions, which come first.
        new: new documents.
        types: the types of the fields of the metadata, of the base and its additions.

    Raises:
        CollectionError: there are too many fields.
    """
    collection = _Collection(base, kept, [each.document for each in new])
    analysed = collection.analysed(types)
    writer, manifest = AdditionWriter(), base.manifest
    write_collection(analysed, writer, words=True)  # so that the next one reads no text again
    old = [part.array(PLACES, np.int64, (None,))[numbers] for part, numbers in kept]
    places = np.array([each.place for each in new], np.int64)
    writer.array(PLACES, np.concatenate([*old, places]))
    source, rankers = _as_parts(base), dict[str, RankerEntry]()
    for name, entry in source.manifest.rankers.items():
        # Others read the documents of an addition as they do the caller's texts.
        if KINDS[entry.kind].every_term or indexer(entry.kind).parts is not None:
            job = IndexJob(source, name, analysed, writer, base)
            rankers[name] = indexer(entry.kind).index(job)
    packed = writer.packed(
        Manifest(
            documents=len(analysed.documents),
            fields=manifest.fields,
            rankers=rankers,
            titles=manifest.titles,
            languages=manifest.languages,
            normaliser=manifest.normaliser,
            metadata={name: field.type for name, field in analysed.metadata.items()},
            declared=manifest.declared,
            splitting=manifest.splitting,
        )
    )
    return Packed(*packed)


def _as_parts(base: BundleFiles) -> BundleFiles:
    """Return a bundle whose rankers index a part of a collection, and keep their models open."""
    source, rankers = copy(base), {}
    for name, entry in base.manifest.rankers.items():
        settings = {**entry.settings, **entry.replaced, **(indexer(entry.kind).parts or {})}
        rankers[name] = replace(entry, settings=settings, replaced={}, measured={})
    source.manifest, source.keep = replace(base.manifest, rankers=rankers), True
    return source


class _Collection:
    """The documents of an addition."""

    def __init__(self, base: BundleFiles, kept: Sequence[Kept], new: Sequence[Document]) -> None:
        self._base, self._kept, self._new = base, kept, new
        part = [np.full(len(numbers), at, np.int64) for at, (_, numbers) in enumerate(kept)]
        count = len(new)
        self._origins = Origins.of(
            [files for files, _ in kept],
            np.concatenate([*part, np.full(count, len(kept), np.int64)]),
            np.concatenate([*(numbers for _, numbers in kept), np.arange(count)]).astype(np.int64),
        )

    def analysed(self, types: dict[str, str]) -> AnalysedCollection:
        """Return the analysis, for which only new texts are read."""
        manifest, stored = self._base.manifest, [each.need_documents() for each, _ in self._kept]
        ids, titles, texts, locations = Texts.joined(self._origins, [*stored, Texts.of(self._new)])
        forwards: dict[str, Forward] = {}
        bare = Documents(
            ids, choose_order(ids), titles, texts, forwards, self._base.analyzer.vocabulary,
            titled=manifest.titles, first=if_split(self._first(ids)), locations=if_any(locations),
        )  # fmt: skip
        numbers = self._origins.new.tolist()
        columns = self._metadata(bare.first, len(bare), types)
        searched = list_needs(self._base)["columns"]
        in_columns = list_searched(columns, searched)
        vocab, forwards["words"] = self._words(bare.read_ranked_texts(numbers), in_columns)
        tokenizer = None
        if "wordpieces" in manifest.fields:
            tokenizer = self._base.analyzer.tokenizer
            parts = [each.forward("wordpieces") for each in stored]
            parts.append(wordpieces(bare, tokenizer, numbers))
            rows = [Rows(each.offsets, (each.tokens,)) for each in parts]
            joined = joined_rows(self._origins, rows)
            forwards["wordpieces"] = Forward(joined.offsets, joined.columns[0])
        bare.vocabulary = vocab
        analyzer = Analyzer(vocab, None if tokenizer is None else lambda: tokenizer)
        return AnalysedCollection(
            bare, analyzer, forwards, manifest.fields, manifest.titles, columns,
            manifest.languages, manifest.normaliser, self._origins,
            columns=list_words(columns, searched, analyzer, len(bare)),
        )  # fmt: skip

    def _first(self, ids: Strings) -> NDArray[np.uint32]:
        """Return the number of the first passage of each passage's document."""
        same = [ids.raw(at) == ids.raw(at - 1) for at in range(1, len(ids))]
        begin = np.append(True, ~np.array(same, np.bool_))
        return np.maximum.accumulate(np.where(begin, np.arange(len(ids)), 0)).astype(np.uint32)

    def _words(self, texts: Sequence[str], others: Iterable[str]) -> tuple[Vocabulary, Forward]:
        """Return the vocabulary, and the words of all documents in it.

        It has the words of some other texts, too.
        """
        manifest, of_base = self._base.manifest, self._base.analyzer.vocabulary
        stopped, particles = self._base.once("stop words", lambda: _stop_words(of_base))
        english = manifest.languages == ENGLISH
        reader = WordReader(sorted(stopped) if english else [], of_base.splitter)
        tokens, lemmas = WordTokens(), dict[str, str]()  # nothing is stemmed twice
        for at, (files, numbers) in enumerate(self._kept):
            stored = files.need_documents().forward("words").gather(numbers)
            distinct, own = np.unique(stored.tokens, return_inverse=True)
            known = files.analyzer.vocabulary
            new = [known.forms[each] for each in distinct.tolist()]
            classes = known.lemma_of[distinct].tolist()
            lemmas |= zip(new, map(known.forms.__getitem__, classes), strict=True)
            tokens.add(Words(new, own.astype(np.int32), stored.lengths), at)
        tokens.add(reader.read(list(map(str.encode, texts))))
        seen = set(map(of_base.splitter.key, tokens.words()))
        seen |= {word for text in others for word in of_base.splitter.words(text)}
        vocab = vocabulary(
            seen, manifest.languages, WordClasses(manifest.languages, manifest.normaliser), stopped,
            particles=particles, lemmas=lemmas | _lemmas(seen - stopped - lemmas.keys(), of_base),
        )  # fmt: skip
        vocab.splitter = vocab.phrase_splitter = of_base.splitter
        return vocab, tokens.forward(vocab)

    def _metadata(
        self, first: NDArray[np.uint32] | None, count: int, types: dict[str, str]
    ) -> dict[str, Any]:
        collector = MetadataCollector()
        for files, numbers in self._kept:
            begins = first_passages(files.need_documents())
            for each in collect_metadata(files, numbers[begins[numbers] == numbers].tolist()):
                collector.add(each)
        last = None
        for document in self._new:
            if document.id != last:
                collector.add(document.metadata)
            last = document.id
        return collector.fields(join_documents(first, count), types)


def _lemmas(words: Iterable[str], vocabulary: Vocabulary) -> dict[str, str]:
    """Return the lemmas of the words that a vocabulary has; finding one out takes longer.

    Stop words that no text of the collection has are there, too, but without their lemmas.
    """
    forms, lemma_of = vocabulary.forms, vocabulary.lemma_of
    known = ((word, forms.find(word)) for word in words)
    return {word: forms[lemma_of[at]] for word, at in known if at >= 0 and lemma_of[at] >= 0}


def _stop_words(vocabulary: Vocabulary) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stop words of a collection, and those of them that are not indexed."""
    left_out = np.flatnonzero(vocabulary.lemma_of == STOPPED).tolist()
    particles = frozenset(vocabulary.forms[each] for each in left_out)
    indexed = frozenset(vocabulary.forms[each] for each in vocabulary.stopped.tolist())
    return particles | indexed, particles
