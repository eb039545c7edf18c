"""What EPIC's expansion Θ2 begins with: a masked language model's prediction, or a likeness of it.

The paper takes the prediction matrix of BERT's masked language model (003, §3). A sentence encoder
such as MiniLM has none, and its last layer does not lie in the space of its word embeddings: there
Θ2 = E W, with E the word embeddings and W the linear map that finds a token's embedding in its
contextual vector best, by ridge regression over texts of the collection. So a term expands to
itself and to those of like embeddings, as with a masked language model. This is ours.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ranklet.training.backbone import Backbone
from ranklet.training.progress import progress
from ranklet.training.text_pairs import Tokens
from ranklet.training.wordpieces import padding_token, special_tokens

TEXTS = 512  # that the regression learns from, some 40,000 tokens
BATCH = 16
RIDGE = 1e-2  # of the mean square of a contextual vector's number


def expansion_start(backbone: Backbone, documents: Tokens, seed: int) -> NDArray[np.float32]:
    """Return the matrix that Θ2 begins with, (vocabulary, hidden) float32.

    Args:
        backbone: with its prediction matrix, or without.
        documents: of the collection.
        seed: of the draw of texts.
    """
    if backbone.prediction is not None:
        return backbone.prediction
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(documents.lengths))[:TEXTS])
    states, ids = _contextual(backbone, documents, chosen)
    return regressed(backbone.word_vectors(), states, ids)


def regressed(
    embeddings: NDArray[np.float32], states: NDArray[np.float32], ids: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return Θ = c E W, with W = argmin Σ ‖E[id] − mean − W f‖² + λ ‖W‖².

    c makes the mean of a token's own score Θ[id] · f 1.

    Args:
        embeddings: E, (vocabulary, any dimension).
        states: f, contextual vectors, (tokens, hidden).
        ids: of these tokens, (tokens,).

    Returns:
        (vocabulary, hidden) float32.
    """
    f, centre = states.astype(np.float64), embeddings[ids].mean(0, dtype=np.float64)
    target = embeddings[ids] - centre
    size = f.shape[1]
    ridge = RIDGE * float((f**2).mean()) * len(f)
    w = np.linalg.solve(f.T @ f + ridge * np.eye(size), f.T @ target)  # (hidden, dimension)
    theta = (embeddings - centre) @ w.T
    own = float(np.einsum("te,te->t", theta[ids], f).mean())
    return np.asarray(theta / max(own, 1e-6), np.float32)


def _contextual(
    backbone: Backbone, documents: Tokens, chosen: NDArray[np.integer]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the last layer's vectors of all terms of some documents, and their ids."""
    padding, special = padding_token(backbone.tokenizer), special_tokens(backbone.tokenizer)
    model = backbone.model.eval()
    states, found = [], []
    batches: Sequence[int] = range(0, len(chosen), BATCH)
    label = "no masked language model here: expansion from word embeddings"
    for begin in progress(batches, label):
        ids, mask = documents.padded(chosen[begin : begin + BATCH], padding)
        with torch.inference_mode():
            held = model(
                input_ids=torch.from_numpy(ids),
                attention_mask=torch.from_numpy(mask),
                token_type_ids=torch.from_numpy(mask),  # documents are segment 1
            ).last_hidden_state
        counted = (mask == 1) & ~np.isin(ids, special)
        states.append(held.numpy()[counted])
        found.append(ids[counted])
    return np.concatenate(states), np.concatenate(found)
