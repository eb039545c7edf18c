"""Index vectors, and search them by codes if they are many."""

import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.document_encoding import (
    Encoding,
    encode_documents,
    encoded_before,
    encoder_digest,
    warn_of_long_documents,
)
from ranklet.corpus.building.indexer import Indexer, IndexJob
from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.indexing.packer import packed, release
from ranklet.runtime.bundles.files import CUT
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.dense import hnsw
from ranklet.runtime.dense.binary import BinaryIndex, binary_codes
from ranklet.runtime.dense.stored import BLOCK, FORMS, WHOLE, ExactIndex, StoredVectors
from ranklet.runtime.ground.errors import CollectionError
from ranklet.runtime.rankers.dense import (
    CODES,
    EXHAUSTIVE,
    HNSW,
    SCALES,
    VECTORS,
    DenseEncoder,
    DenseSettings,
    open_vectors,
)

# Documents from which on codes replace exact search, unless it was chosen. Where a table encodes
# queries nothing else takes as long.
CODES_FROM, QUICK_CODES_FROM = 50_000, 500
RECALL_QUERIES, RECALL_AT = 200, 10
INDEXED = (VECTORS, SCALES, CODES, HNSW, CUT)  # what `index` writes


def index(job: IndexJob) -> RankerEntry:
    """Encode every document with the exported model, and index the vectors in their stored form.

    Whatever searches them is made of the stored form, because an update has no other. A large
    collection is searched by binary codes, unless another search was chosen. The recall of codes
    and of HNSW against exact search is measured and stored.
    """
    name, analysed, writer, folder = job.name, job.analysed, job.writer, job.folder
    encoder = DenseEncoder.open(job.source, name, many=True)
    job.copy(leave_out=INDEXED)
    settings = replace(encoder.settings, **job.entry.replaced)  # as exported
    # Without its encoder a bundle still says which one made its vectors, which are used again.
    there = encoder.encodes_documents
    digest = encoder_digest(encoder.digest) if there else job.entry.encoder
    if settings.given:
        encoded = _take_vectors(job, settings)
    else:
        encoded = encode_documents(
            encoder.encode_documents, digest, (settings.dimension,), np.float32, analysed, name,
            writer.resume(name),
        )  # fmt: skip
    vectors = _all_vectors(encoded, name, settings)
    measured = dict[str, float](truncated=len(encoded.cut))
    limit = settings.max_document_tokens
    warn_of_long_documents(name, len(encoded.cut), analysed, limit)
    writer.array(folder + VECTORS, vectors.values)
    if vectors.scales is not None:
        writer.array(folder + SCALES, vectors.scales)
    writer.array(folder + CUT, encoded.cut)
    replaced = {"search": settings.search} if needs_codes(settings, len(vectors)) else {}
    if settings.search == "hnsw":
        measured["recall"] = recall(_write_hnsw(vectors, settings, folder, writer), vectors)
    elif replaced or settings.search == "binary":
        settings = replace(settings, search="binary")
        measured["recall"] = write_codes(vectors, settings, folder, writer)
    return RankerEntry(job.entry.kind, asdict(settings), measured, replaced, digest)


def _take_vectors(job: IndexJob, settings: DenseSettings) -> Encoding:
    """Return the vectors that documents came with.

    Raises:
        CollectionError: new documents have none, or others than those of the bundle.
    """
    analysed, name = job.analysed, job.name
    origins = encoded_before(analysed, name, job.entry.encoder)
    rows, new = analysed.vectors, origins.new
    if rows is None:
        rows = np.empty((0, settings.dimension), np.float32)
    if len(rows) < len(new):
        raise CollectionError(
            f"the document {analysed.documents.ids[int(new[len(rows)])]!r:.80} has no vector for "
            f"{name!r}; add documents with one of {settings.dimension:,} numbers each (vectors)"
        )
    if rows.shape[1] != settings.dimension:
        raise CollectionError(
            f"the vectors have {rows.shape[1]:,} numbers, but those of {name!r} have "
            f"{settings.dimension:,}; encode documents by the same model"
        )
    return Encoding(origins, rows, np.empty(0, np.uint32))


def needs_codes(settings: DenseSettings, count: int) -> bool:
    """Return whether so many vectors are searched by codes, although nobody has chosen that."""
    many = QUICK_CODES_FROM if settings.by_tokens else CODES_FROM
    return settings.search == "exact" and count >= many


def write_codes(
    vectors: StoredVectors, settings: DenseSettings, folder: str, writer: BundleWriter
) -> float:
    """Write the binary codes of vectors, and return their recall."""
    codes = binary_codes(vectors)
    writer.array(folder + CODES, codes)
    return recall(settings.by_codes(codes, vectors), vectors)


def _all_vectors(encoded: Encoding, name: str, settings: DenseSettings) -> StoredVectors:
    """Return the vectors of all documents; vectors that were encoded before are copied."""
    origins = encoded.origins
    parts = [open_vectors(bundle, name, settings) for bundle in origins.bundles]
    parts.append(_in_form(encoded.rows, settings))
    if not origins.bundles:
        return parts[-1]
    runs = [(parts[run.part], slice(run.begin, run.end)) for run in origins.runs()]
    dtype, dimension = parts[-1].values.dtype, settings.dimension
    values = packed((part.values[own] for part, own in runs), dtype, (dimension,))
    scales = [part.scales[own] for part, own in runs if part.scales is not None]
    return StoredVectors(values, np.concatenate(scales) if scales else None)


def _in_form(vectors: NDArray[np.float32], settings: DenseSettings) -> StoredVectors:
    """Return vectors as they are stored, in a temporary file unless they have that form already."""
    form = settings.stored
    if form == WHOLE:
        return settings.store(vectors)
    scales = [np.empty(0, np.float32)]

    def values() -> Iterator[NDArray[Any]]:
        for begin in range(0, len(vectors), BLOCK):
            part = settings.store(vectors[begin : begin + BLOCK])
            if part.scales is not None:
                scales.append(part.scales)
            yield part.values
            release(vectors)

    stored = packed(values(), FORMS[form], vectors.shape[1:])  # also completes `scales`
    return StoredVectors(stored, np.concatenate(scales) if settings.scaled else None)


def _write_hnsw(
    vectors: StoredVectors, settings: DenseSettings, folder: str, writer: BundleWriter
) -> hnsw.HNSWIndex:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / HNSW
        floats = vectors.floats(slice(None))
        hnsw.build(floats, path, m=settings.m, ef_construction=settings.ef_construction)
        content = path.read_bytes()
    writer.data(folder + HNSW, content)
    return hnsw.HNSWIndex(memoryview(content), vectors, ef=settings.ef)


def recall(index: BinaryIndex | hnsw.HNSWIndex, vectors: StoredVectors) -> float:
    """Return recall@10 of an index against exact search; documents are the queries."""
    exact = ExactIndex(vectors)
    queries = np.random.default_rng(0).permutation(len(vectors))[:RECALL_QUERIES]
    overlaps = []
    for query in vectors.floats(queries):
        nearest = [set(search.search(query, RECALL_AT)[0].tolist()) for search in (exact, index)]
        overlaps.append(len(nearest[0] & nearest[1]))
    return float(np.mean(overlaps)) / min(RECALL_AT, len(vectors))


INDEXER = Indexer(
    index,
    indexed=INDEXED,
    parts={"search": EXHAUSTIVE},  # whatever searches is made of all vectors
)
