"""Dense encoders of qa-mix that learn in different ways, and vectors of texts by them, all kept."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.trained import DENSE, all_cores, learn_and_save
from benchmarks.harness.place import Place
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.encoders.encoder_texts import encoder_inputs
from ranklet.training.encoders.text_pairs import tokenise
from ranklet.training.imported.importing import read_model
from ranklet.training.indexing.wordpieces import padding_token
from ranklet.training.learning.weights import weights_of
from ranklet.training.pretrained.backbone import wheel_folder
from ranklet.training.rankers.dense import training as dense_training
from ranklet.training.rankers.dense.averaging import average, copied
from ranklet.training.rankers.dense.options import Options
from ranklet.training.sampling.ragged import by_length

STEPS = 200  # of 32 queries
BLOCK = 32  # texts that are encoded at a time
# By name: options that differ from those of `ranklet train dense`, in order of the tables.
WAYS: dict[str, dict[str, Any]] = {
    "softmax, mined negatives": {"negatives": "mined", "mine_every": 67, "mine_among": 5_000},
    "softmax, BM25's negatives": {"negatives": "bm25"},
    "RepBERT's loss": {
        "negatives": "bm25", "loss": "margin", "similarity": "dot", "segments": "distinct",
    },
}  # fmt: skip
CODE = (*DENSE, "benchmarks/built/dense.py")


def untrained() -> Checkpoint:
    """Return MiniLM-L6 as it comes, which has the cosine."""
    return read_model(wheel_folder())


def learned(place: Place, name: str, seed: int = 0) -> Checkpoint:
    """Return MiniLM-L6 trained on qa-mix in one of the `WAYS`; resumed if it was interrupted."""
    own = f"qa-mix.dense.{list(WAYS).index(name)}.{seed}"

    def build(path: Path) -> None:
        options = Options(steps=STEPS, seed=seed, evaluations=3, **WAYS[name])
        state = place.state(own, CODE)
        learn_and_save(place, "qa-mix", dense_training.train, options, path, state)

    return read_checkpoint(place.keep(own, build, CODE))


def averaged(place: Place, name: str, share: float) -> Checkpoint:
    """Return `learned` with a share of the weights of its start, as `--keep-start` has it."""
    trained = learned(place, name)
    network = dense_training.load(trained)
    average(network, copied(dense_training.load(untrained())), share)
    return replace(trained, weights=weights_of(network))


def vectors(
    place: Place, checkpoint: Checkpoint, texts: Sequence[str], limit: int, *, documents: bool
) -> NDArray[np.float32]:
    """Return the vectors of texts in 32 bits of PyTorch, (texts, dimension); kept in 16 bits.

    Args:
        place: of the run.
        checkpoint: of a dense encoder.
        texts: to encode.
        limit: tokens of a text that are read.
        documents: whether they are documents, not queries.
    """
    import torch

    settings = checkpoint.settings
    segment = settings.document_segment if documents else 0
    prompt = settings.document_prompt if documents else settings.query_prompt
    digest = hashlib.sha256(f"{checkpoint.digest} {limit} {documents}".encode())
    for text in texts:
        digest.update(text.encode() + b"\0")
    path = place.work / "dense.vectors" / f"{digest.hexdigest()[:16]}.npy"
    if path.is_file():
        return np.asarray(np.load(path), np.float32)
    tokens = tokenise(checkpoint.need_tokenizer(), [prompt + text for text in texts], limit)
    network = dense_training.load(checkpoint)
    padding = padding_token(checkpoint.need_tokenizer())

    def encoded(rows: NDArray[np.integer]) -> NDArray[np.float32]:
        inputs = encoder_inputs(tokens, rows, padding, segment)
        return np.asarray(network(*inputs).numpy(), np.float32)

    with all_cores(), torch.inference_mode():
        found = by_length(tokens.lengths, BLOCK, encoded, "vectors")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.save(file, found.astype(np.float16))
    partial.replace(path)
    return np.asarray(found.astype(np.float16), np.float32)
