"""Index a collection for a light ranker: vectors or codes, and how rare each token is."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.export.document_encoding import BLOCK
from ranklet.export.rankers.colbert.indexing import Column, Encoded, index_tokens, index_vectors
from ranklet.export.writer import BundleWriter
from ranklet.runtime.lexical.bm25 import idf
from ranklet.runtime.rankers.colbert.settings import OFFSETS, SCALES, VALUES
from ranklet.runtime.rankers.colbert.tokens import TokenLayout
from ranklet.runtime.rankers.srm.codes import token_type
from ranklet.runtime.rankers.srm.encoder import LightEncoder
from ranklet.runtime.rankers.srm.settings import CODE_OFFSETS, CODE_TOKENS, CODE_WEIGHTS, CODES, IDF
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.storage.manifest import RankerEntry
from ranklet.training.indexing.analysed import AnalysedCollection

_LEFT_OUT = (OFFSETS, VALUES, SCALES, CODE_OFFSETS, CODE_TOKENS, CODE_WEIGHTS, IDF)


def index(
    source: BundleFiles, name: str, analysed: AnalysedCollection, writer: BundleWriter
) -> RankerEntry:
    """Write the vectors or the codes of all documents, and the IDF of tokens if it is used.

    A finished block of documents is kept, so that an interrupted run continues.
    """
    encoder = LightEncoder.open(source, name, many=True)
    settings, folder = encoder.settings, f"rankers/{name}/"
    writer.copy(source, folder, leave_out=_LEFT_OUT)
    if settings.idf:
        frequencies = document_frequencies(encoder.layout, analysed.ranked_texts())
        writer.array(folder + IDF, idf(frequencies, len(analysed.documents)))
    if settings.stored != CODES:
        return index_vectors(source, name, analysed, writer, encoder)
    width = settings.code_width
    columns = [Column(CODE_TOKENS, np.dtype(token_type(len(encoder.static.table))), ())]
    columns += [Column(CODE_WEIGHTS, np.dtype(np.uint8), (width,))] if width else []

    def encoded(texts: Sequence[str]) -> Encoded:
        offsets, codes, cut = encoder.codes(texts)
        return Encoded(offsets, codes[: len(columns)], cut)

    return index_tokens(source, name, analysed, writer, encoder, CODE_OFFSETS, columns, encoded)


def document_frequencies(layout: TokenLayout, texts: Sequence[str]) -> NDArray[np.int64]:
    """Return in how many documents each token has a vector, (vocabulary,) int64."""
    size = 1 + max(layout.tokenizer.get_vocab().values(), default=-1)
    counts = np.zeros(size, np.int64)
    for begin in range(0, len(texts), BLOCK):
        rows, _ = layout.rows(texts[begin : begin + BLOCK], "document")
        for row in rows:
            counts[np.unique(np.array(row.ids, np.int64)[row.kept])] += 1
    return counts
