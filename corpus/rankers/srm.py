"""Index a collection as the vectors or the codes of its documents."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.document_encoding import BLOCK, encoded_before, encoder_digest
from ranklet.corpus.building.indexer import Indexer, IndexJob
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.rankers.colbert import Column, Encoded, index_tokens, index_vectors
from ranklet.runtime.bundles.files import CUT, BundleFiles
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.lexical.bm25 import idf
from ranklet.runtime.rankers.colbert.settings import OFFSETS, SCALES, VALUES
from ranklet.runtime.rankers.colbert.tokens import TokenLayout
from ranklet.runtime.rankers.srm.encoder import LightEncoder
from ranklet.runtime.rankers.srm.settings import CODE_OFFSETS, CODE_TOKENS, CODE_WEIGHTS, CODES, IDF
from ranklet.runtime.storage.arrays import id_type

INDEXED = (OFFSETS, VALUES, SCALES, CODE_OFFSETS, CODE_TOKENS, CODE_WEIGHTS, IDF, CUT)
_UNIQUE = 10_000_000  # documents


def index(job: IndexJob) -> RankerEntry:
    """Write the vectors or the codes of all documents, and the IDF of tokens if it is used.

    A finished block of documents is kept, so that an interrupted run continues.
    """
    encoder = LightEncoder.open(job.source, job.name, many=True)
    settings = encoder.settings
    job.copy(leave_out=INDEXED)
    if settings.idf and job.base is None:
        job.writer.array(job.folder + IDF, _idf(encoder, job.name, job.analysed))
    if settings.stored != CODES:
        return index_vectors(job, encoder)
    width = settings.code_width
    columns = [Column(CODE_TOKENS, np.dtype(id_type(len(encoder.table))), ())]
    columns += [Column(CODE_WEIGHTS, np.dtype(np.uint8), (width,))] if width else []

    def encoded(texts: Sequence[str]) -> Encoded:
        offsets, codes, cut = encoder.codes(texts)
        return Encoded(offsets, codes[: len(columns)], cut)

    return index_tokens(job, encoder, CODE_OFFSETS, columns, encoded)


def _idf(encoder: LightEncoder, name: str, analysed: AnalysedCollection) -> NDArray[np.float32]:
    """Return the IDF of each token; texts that a bundle has counted are not read again."""
    origins = encoded_before(analysed, name, encoder_digest(encoder.digest))
    counted = [_count_documents(bundle, name) for bundle in origins.bundles]
    origins = origins.only([counts is not None for counts in counted])
    total, new = document_frequencies(encoder.layout, []), origins.new
    for begin in range(0, len(new), BLOCK):
        texts = analysed.documents.read_ranked_texts(new[begin : begin + BLOCK].tolist())
        total += document_frequencies(encoder.layout, texts)
    for part, counts in enumerate(each for each in counted if each is not None):
        stored = origins.bundles[part].need_documents()
        times = np.bincount(origins.number[origins.part == part], minlength=len(stored))
        total += counts
        for number in np.flatnonzero(times != 1).tolist():  # gone, or several times there
            own = document_frequencies(encoder.layout, stored.read_ranked_texts([number]))
            total += (int(times[number]) - 1) * own
    return idf(total, len(analysed.documents))


def _count_documents(bundle: BundleFiles, name: str) -> NDArray[np.int64] | None:
    """Return in how many documents of a bundle each token has a vector, by its IDF.

    Beyond `_UNIQUE` documents two counts may have one IDF, and None is returned.
    """
    documents = bundle.manifest.documents
    if not bundle.has(f"rankers/{name}/{IDF}"):  # an addition has none
        return None
    stored = bundle.array(f"rankers/{name}/{IDF}", np.float32, (None,))
    counts = np.rint((documents + 1) / np.exp(stored.astype(np.float64)) - 0.5)
    counts = counts.clip(0, documents).astype(np.int64)
    exact = documents <= _UNIQUE and np.array_equal(idf(counts, documents), stored)
    return counts if exact else None


def document_frequencies(layout: TokenLayout, texts: Sequence[str]) -> NDArray[np.int64]:
    """Return in how many documents each token has a vector, (vocabulary,) int64."""
    size = 1 + max(layout.tokenizer.get_vocab().values(), default=-1)
    counts = np.zeros(size, np.int64)
    for begin in range(0, len(texts), BLOCK):
        rows, _ = layout.rows(texts[begin : begin + BLOCK], "document")
        for row in rows:
            counts[np.unique(np.array(row.ids, np.int64)[row.kept])] += 1
    return counts


INDEXER = Indexer(index, indexed=INDEXED, parts={})
