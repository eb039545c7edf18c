"""Index a collection by learned sparse vectors: stored by document and by term."""

from dataclasses import replace

from ranklet.corpus.building.document_encoding import (
    encode_documents,
    encoder_digest,
    warn_of_long_documents,
)
from ranklet.corpus.building.indexer import IndexJob
from ranklet.corpus.building.writer import INDEX_FILES
from ranklet.corpus.errors import BuildError
from ranklet.corpus.indexing.impacts import in_fewer_bits, index_rows, storage_loss
from ranklet.corpus.indexing.origins import Rows, joined_rows
from ranklet.runtime.bundles.files import CUT, BundleFiles
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.lexical.sparse_store import SparseStore, store_rows
from ranklet.runtime.rankers.learned_sparse import INDEX, OFFSETS, TERMS, VALUES, LearnedSparse
from ranklet.runtime.rankers.opening import open_ranker

INDEXED = (OFFSETS, TERMS, VALUES, CUT, *(INDEX + file for file in INDEX_FILES))  # what it writes


def index(job: IndexJob) -> RankerEntry:
    """Encode every document with the exported model, and write both indexes of the vectors."""
    name, analysed, writer, folder = job.name, job.analysed, job.writer, job.folder
    ranker = _ranker(job.source, name)
    encoders = ranker.encoders
    job.copy(leave_out=INDEXED)
    digest = encoder_digest(encoders.digest)
    encoded = encode_documents(
        encoders.encode_documents, digest, encoders.row_shape, encoders.row_type,
        analysed, name, writer.resume(name),
    )  # fmt: skip
    settings, truncated = ranker.settings, len(encoded.cut)
    warn_of_long_documents(name, truncated, analysed, settings.max_document_tokens)
    new = store_rows(encoded.rows)
    stored = [_rows(_ranker(bundle, name).store) for bundle in encoded.origins.bundles]
    offsets, columns = joined_rows(encoded.origins, [*stored, _rows(new)])
    store = SparseStore(offsets, *columns)
    writer.array(folder + CUT, encoded.cut)
    del encoded, new
    writer.array(folder + OFFSETS, store.offsets)
    writer.array(folder + TERMS, store.terms)
    writer.array(folder + VALUES, store.values)
    exact = index_rows(store.offsets, store.terms, store.values, settings.vocabulary)
    built = in_fewer_bits(exact, settings.impacts)
    writer.index(folder + INDEX, built)
    measured = {"truncated": truncated, "impact_loss": storage_loss(exact, built)}
    return replace(job.entry, measured=measured, encoder=digest)


def _ranker(bundle: BundleFiles, name: str) -> LearnedSparse:
    ranker = open_ranker(bundle, name)
    if not isinstance(ranker, LearnedSparse):
        raise BuildError(f"the ranker {name!r} of {str(bundle.path)!r} has no sparse vectors")
    return ranker


def _rows(store: SparseStore) -> Rows:
    return Rows(store.offsets, (store.terms, store.values))
