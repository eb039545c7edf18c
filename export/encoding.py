"""Encoding a collection with an exported model, so that an interrupted run goes on where it was."""

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.encoder import Encoded
from ranklet.runtime.rankers.repbert import RepBERT
from ranklet.training.indexing import AnalysedCollection
from ranklet.training.progress import progress

BLOCK = 1024  # documents; what an interruption can cost


def encode_documents(ranker: RepBERT, analysed: AnalysedCollection, folder: Path) -> Encoded:
    """Return the vectors of all documents, and how many were longer than the model reads.

    Each block is kept in `folder` under a digest of its texts and of the model's variant, so that a
    block is never taken for another's.

    Args:
        ranker: an exported encoder.
        analysed: the collection.
        folder: where finished blocks are kept until the bundle is written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = analysed.ranked_texts()
    blocks, truncated = [], 0
    places = range(0, len(texts), BLOCK)
    for begin in progress(places, f"encoding blocks of {BLOCK:,} documents"):
        block = texts[begin : begin + BLOCK]
        key = hashlib.sha256("\0".join([ranker.digest, *block]).encode("utf-8", "replace"))
        path = folder / f"{key.hexdigest()[:32]}.npy"
        vectors = _read(path, (len(block), ranker.settings.dimension))
        if vectors is None:
            vectors, cut = ranker.encode_documents(block)
            _write(path, vectors)
        else:
            cut = ranker.encoder.token_ids(block, ranker.settings.max_document_tokens)[1]
        truncated += cut
        blocks.append(vectors)
    return Encoded(np.concatenate(blocks), truncated)


def _write(path: Path, vectors: NDArray[np.float32]) -> None:
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.save(file, vectors, allow_pickle=False)
    partial.replace(path)


def _read(path: Path, shape: tuple[int, int]) -> NDArray[np.float32] | None:
    """Return a finished block, None where there is none or it is not whole."""
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError):
        return None
    return found if found.shape == shape and found.dtype == np.float32 else None
