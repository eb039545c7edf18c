"""Index a collection by learned sparse vectors: stored by document and by term."""

from dataclasses import replace

import numpy as np

from ranklet.export.document_encoding import encode_documents, warn_of_long_documents
from ranklet.export.errors import ExportError
from ranklet.export.writer import INDEX_FILES, BundleWriter
from ranklet.runtime.lexical.sparse_store import store_of_rows
from ranklet.runtime.rankers.learned_sparse import INDEX, OFFSETS, TERMS, VALUES, LearnedSparse
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.storage.manifest import RankerEntry
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.indexing.impacts import index_of_rows, storage_loss


def index(
    source: BundleFiles, name: str, analysed: AnalysedCollection, writer: BundleWriter
) -> RankerEntry:
    """Encode every document with the exported model, and write both indexes of the vectors."""
    entry, ranker = source.manifest.rankers[name], source.ranker(name)
    if not isinstance(ranker, LearnedSparse):
        raise ExportError(f"the ranker {name!r} has no sparse vectors; it is of kind {entry.kind}")
    folder, encoders = f"rankers/{name}/", ranker.encoders
    written = (OFFSETS, TERMS, VALUES, *(INDEX + file for file in INDEX_FILES))
    writer.copy(source, folder, leave_out=written)
    rows, truncated = encode_documents(
        encoders.encode_documents, encoders.digest, encoders.row_shape, np.uint16, analysed,
        writer.resume_folder / name,
    )  # fmt: skip
    settings = ranker.settings
    warn_of_long_documents(name, truncated, analysed, settings.max_document_tokens)
    store = store_of_rows(rows)
    del rows
    writer.array(folder + OFFSETS, store.offsets)
    writer.array(folder + TERMS, store.terms)
    writer.array(folder + VALUES, store.values)
    values = store.values.astype(np.float32)
    loss = storage_loss(values, settings.impacts)
    built = index_of_rows(store.offsets, store.terms, values, settings.vocabulary, settings.impacts)
    writer.index(folder + INDEX, built)
    return replace(entry, measured={"truncated": truncated, "impact_loss": loss})
