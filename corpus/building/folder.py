"""Write the rankers of a bundle with an analysed collection."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from ranklet.corpus.building.default_fusion import FusionOptions, describe_fusion
from ranklet.corpus.building.indexer import BOTH, IndexJob, indexer
from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.indexing.metadata import Field
from ranklet.corpus.progress import progress
from ranklet.runtime.bundles.additions import HISTORY
from ranklet.runtime.bundles.files import (
    BEGINNINGS,
    COUNTS,
    FREQUENCIES,
    LEMMAS,
    LOCATIONS,
    PASSAGES,
    STOP_WORDS,
    TOKENIZER,
    BundleFiles,
)
from ranklet.runtime.bundles.manifest import NO_TYPES, REMARKS, STRING, Splitting
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.metadata.columns import DISTINCT, name_field_folder
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.storage.arrays import id_type
from ranklet.runtime.text.frequencies import encode_counts

if TYPE_CHECKING:
    from ranklet.runtime.text.tokenizing import Tokenizer

INDEXING = "indexing"  # a step of a progress bar


class Needs(TypedDict):
    """What the rankers of a bundle need of the analysis of a collection; see `analyse`."""

    fields: set[str]
    tokenizer: "Tokenizer | None"
    known_words: list[str]
    columns: list[str]


def list_needs(bundle: BundleFiles) -> Needs:
    """Return what the rankers of a bundle need."""
    rankers = bundle.manifest.rankers
    known = [w for name, e in rankers.items() for w in indexer(e.kind).known_words(bundle, name)]
    settings = [entry.read_settings(name) for name, entry in rankers.items()]
    columns = [each.columns for each in settings if isinstance(each, BM25Settings)]
    return {
        "fields": {each.field for each in settings} - {""},
        "tokenizer": bundle.tokenizer() if TOKENIZER in bundle.manifest.files else None,
        "known_words": known,
        "columns": list(dict.fromkeys(chain(*columns))),
    }


def write_indexed(
    bundle: BundleFiles,
    analysed: AnalysedCollection,
    writer: BundleWriter,
    splitting: Splitting,
    provenance: Mapping[str, Any],
    fusion: FusionOptions | None = None,
    types: Mapping[str, str] = NO_TYPES,
    sides: str | None = BOTH,
) -> None:
    """Write a bundle's rankers with an analysed collection.

    Args:
        bundle: a bundle with the rankers; what it has of another collection is not written.
        analysed: the collection.
        writer: the writer of the new bundle.
        splitting: how the documents were split.
        provenance: facts that are added to the bundle's own provenance.
        fusion: how rankers are fused; None keeps the bundle's pipelines as they are.
        types: the declared types of fields of the metadata.
        sides: see `IndexJob`.
    """
    rankers = bundle.manifest.rankers
    if analysed.shares:
        shares = {language: round(share, 3) for language, share in analysed.shares.items()}
        provenance = {**provenance, "languages": shares}
    known = provenance.get(REMARKS, {})
    remarks = {
        name: remark
        for name, field in analysed.metadata.items()
        if field.type == STRING and (remark := field.remark or known.get(name))
    }
    inherited = {name: each for name, each in bundle.manifest.provenance.items() if name != HISTORY}
    origin = {**inherited, **provenance, REMARKS: remarks}
    if not remarks:
        del origin[REMARKS]
    if TOKENIZER in bundle.manifest.files:
        writer.data(TOKENIZER, bundle.file(TOKENIZER))
    read = [
        entry.read_settings(name).field
        for name, entry in rankers.items()
        if not KINDS[entry.kind].every_term
    ]
    indexed = {
        ranker: indexer(entry.kind).index(IndexJob(bundle, ranker, analysed, writer, sides=sides))
        for ranker, entry in progress(rankers.items(), INDEXING, len(rankers))
    }
    write_collection(analysed, writer, words=not {"words", "lemmas"}.isdisjoint(read))
    manifest = replace(
        bundle.manifest,
        documents=len(analysed.documents),
        fields=analysed.fields,
        rankers=indexed,
        titles=analysed.titles,
        metadata={name: field.type for name, field in analysed.metadata.items()},
        languages=analysed.languages,
        normaliser=analysed.normaliser,
        splitting=splitting,
        declared=types,
        provenance=origin,
    )
    if fusion is not None:
        fused = describe_fusion(writer.written(manifest), fusion)
        manifest = replace(
            manifest,
            pipelines=fused.pipelines,
            default_pipeline=fused.default,
            provenance={**manifest.provenance, **fused.provenance},
        )
    writer.finish(manifest)


def write_collection(analysed: AnalysedCollection, writer: BundleWriter, *, words: bool) -> None:
    """Write what all rankers share of a collection: its vocabulary, documents and metadata.

    Args:
        analysed: the collection.
        writer: the writer of the bundle.
        words: whether the words of each document are written, too.
    """
    _write_text(analysed, writer)
    _write_documents(analysed, writer, words=words)
    _write_metadata(analysed.metadata, writer)


def _write_text(analysed: AnalysedCollection, writer: BundleWriter) -> None:
    vocabulary = analysed.analyzer.vocabulary
    writer.strings("text/forms", vocabulary.forms)
    writer.array(LEMMAS, vocabulary.lemma_of)
    if vocabulary.beginning_of is not None:
        writer.array(BEGINNINGS, vocabulary.beginning_of)
    if len(vocabulary.stopped):
        writer.array(STOP_WORDS, vocabulary.stopped)
    if vocabulary.counts is not None:
        writer.array(COUNTS, vocabulary.counts)
    writer.array(FREQUENCIES, encode_counts(analysed.frequencies("words")))


def _write_documents(analysed: AnalysedCollection, writer: BundleWriter, *, words: bool) -> None:
    documents = analysed.documents
    writer.strings("documents/ids", documents.ids)
    writer.array("documents/by_id.npy", documents.by_id)
    if documents.first is not None:
        writer.array(PASSAGES, documents.first)
    writer.strings("documents/titles", documents.titles)
    writer.compressed("documents/texts", documents.texts, documents.ids)
    if documents.locations is not None:
        writer.strings(LOCATIONS, documents.locations)
    few = id_type(len(analysed.analyzer.vocabulary) + 1) == np.uint16
    for field, forward in analysed.forwards.items():
        if field == "words" and not words:
            continue
        narrow = forward.tokens.astype(np.uint16) if few and field == "words" else forward.tokens
        writer.array(f"documents/{field}.offsets.npy", forward.offsets)
        writer.array(f"documents/{field}.npy", narrow)


def _write_metadata(fields: Mapping[str, Field], writer: BundleWriter) -> None:
    for place, field in enumerate(fields.values()):
        folder = name_field_folder(place)
        for name, values in field.arrays.items():
            writer.array(folder + name, values)
        if field.distinct is not None:
            writer.strings(folder + DISTINCT, field.distinct)
