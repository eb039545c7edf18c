"""Make an addition to a bundle: new documents, and those of earlier additions that it replaces.

Nothing of the base is read but the words that are looked up, so it takes as long for a large
collection as for a small one.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from ranklet.corpus.building.addition_writer import AdditionWriter
from ranklet.corpus.building.folder import list_needs, write_collection
from ranklet.corpus.building.indexer import IndexJob, indexer
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.indexing.parts import Joined, Part, join
from ranklet.corpus.indexing.reuse import joined_wordpieces
from ranklet.corpus.indexing.searched import list_searched, list_words
from ranklet.corpus.indexing.vocabulary import vocabulary
from ranklet.corpus.indexing.word_tokens import WordReader, Words, WordTokens
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import Manifest, RankerEntry
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.storage.forward import Forward
from ranklet.runtime.text.analysis import STOPPED, Analyzer, Vocabulary
from ranklet.runtime.text.classes import WordClasses
from ranklet.runtime.text.names import ENGLISH

PLACES = "documents/places.npy"  # in the order of all documents, (documents,) int64


def pack_addition(
    base: BundleFiles, kept: Sequence[Part], new: Part, types: dict[str, str]
) -> tuple[bytes, str]:
    """Return the zip of an addition with these documents, and the sha256 of its manifest.

    Args:
        base: the bundle.
        kept: earlier additions, whose documents come first.
        new: new documents.
        types: the types of the fields of the metadata, of the base and its additions.

    Raises:
        CollectionError: there are too many fields.
    """
    parts, writer, manifest = [*kept, new], AdditionWriter(), base.manifest
    analysed = _analysed(base, kept, join([each.in_order() for each in parts]), types)
    write_collection(analysed, writer, words=True)  # so that the next one reads no text again
    writer.array(PLACES, np.concatenate([each.places[each.numbers] for each in parts]))
    source, rankers = _as_parts(base), dict[str, RankerEntry]()
    for name, entry in source.manifest.rankers.items():
        # Others read the documents of an addition as they do the caller's texts.
        if KINDS[entry.kind].every_term or indexer(entry.kind).parts is not None:
            job = IndexJob(source, name, analysed, writer, base)
            rankers[name] = indexer(entry.kind).index(job)
    return writer.packed(
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


def _as_parts(base: BundleFiles) -> BundleFiles:
    """Return a bundle whose rankers index a part of a collection, and keep their models open."""
    source, rankers = copy(base), {}
    for name, entry in base.manifest.rankers.items():
        settings = {**entry.settings, **entry.replaced, **(indexer(entry.kind).parts or {})}
        rankers[name] = replace(entry, settings=settings, replaced={}, measured={})
    source.manifest, source.keep = replace(base.manifest, rankers=rankers), True
    return source


def _analysed(
    base: BundleFiles, kept: Sequence[Part], joined: Joined, types: dict[str, str]
) -> AnalysedCollection:
    """Return the analysis of an addition, for which only new texts are read."""
    (contents, origins), manifest = joined, base.manifest
    forwards: dict[str, Forward] = {}
    bare = contents.documents(forwards, base.analyzer.vocabulary, titled=manifest.titles)
    columns, searched = contents.fields(types), list_needs(base)["columns"]
    texts = bare.read_ranked_texts(origins.new.tolist())
    old = zip(origins.bundles, kept, strict=True)
    vocab, forwards["words"] = _words(base, old, texts, list_searched(columns, searched))
    tokenizer = None
    if "wordpieces" in manifest.fields:
        tokenizer = base.analyzer.tokenizer
        forwards["wordpieces"] = joined_wordpieces(bare, tokenizer, origins)
    bare.vocabulary = vocab
    analyzer = Analyzer(vocab, None if tokenizer is None else lambda: tokenizer)
    return AnalysedCollection(
        bare, analyzer, forwards, manifest.fields, manifest.titles, columns,
        manifest.languages, manifest.normaliser, origins,
        columns=list_words(columns, searched, analyzer, len(bare)), vectors=contents.vectors,
    )  # fmt: skip


def _words(
    base: BundleFiles,
    kept: Iterable[tuple[BundleFiles, Part]],
    texts: Sequence[str],
    others: Iterable[str],
) -> tuple[Vocabulary, Forward]:
    """Return the vocabulary, and the words of kept documents and of new texts in it.

    It has the words of some other texts, too.
    """
    manifest, of_base = base.manifest, base.analyzer.vocabulary
    stopped, particles = base.once("stop words", lambda: _stop_words(of_base))
    english = manifest.languages == ENGLISH
    reader = WordReader(sorted(stopped) if english else [], of_base.splitter)
    tokens, lemmas = WordTokens(), dict[str, str]()  # nothing is stemmed twice
    for at, (files, part) in enumerate(kept):
        stored = files.need_documents().forward("words").gather(part.numbers)
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
