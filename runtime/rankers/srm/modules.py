"""The light vectors of one text in numpy, without PyTorch or onnxruntime.

Source: Boualili 2022, "Deep learning for information retrieval", chapter 8, and for the form
``code`` the code that was published with it. training/rankers/srm/modules.py defines the same.

A text is computed alone, so that its vectors do not depend on other texts.
"""

from collections.abc import Mapping
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.rankers.srm.settings import SRMSettings

Floats = NDArray[np.float32]
Matrices = Mapping[str, Floats]  # by the names in `matrix_shapes`

NORM_EPSILON = 1e-5  # of the layer normalisation in the form code, PyTorch's default
LEAST_LENGTH = 1e-12  # a shorter vector keeps its length, as in PyTorch's normalize
BLOCK = 256  # tokens whose neighbours are read at a time


class LightVectors(NamedTuple):
    """The light vectors of a text's tokens."""

    vectors: Floats  # (tokens, dimension)
    weights: Floats | None  # of the sub-embeddings, (tokens, K); None for their mean


def matrix_shapes(settings: SRMSettings) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the matrices that `light_vectors` needs, by name.

    A matrix is applied to a column. Names are those of the parameters in training.
    """
    size, half = settings.dimension, settings.dimension // 2
    shapes: dict[str, tuple[int, ...]] = {}
    biased = set[str]()
    if not settings.needs_context:
        return shapes
    if settings.mixes:
        shapes |= {"attention.query.weight": (size, size), "attention.key.weight": (size, size)}
        biased |= {"attention.query", "attention.key"}
    if settings.window:
        shapes |= {
            "local.query.weight": (half, size),
            "local.key.weight": (half, half),
            "local.value.weight": (half, half),
            "local.gate.weight": (size, size),
        }
        biased |= {"local.query", "local.key", "local.value", "local.gate"}
        if settings.form == "code":
            shapes |= {"local.norm.weight": (half,), "local.norm.bias": (half,)}
        else:
            shapes["local.output.weight"] = (half, half)
    if settings.form == "code":
        shapes |= {f"{name}.bias": shapes[f"{name}.weight"][:1] for name in sorted(biased)}
    if settings.context == "neighbours":
        shapes["neighbours.maps"] = (2 * settings.context_window + 1, size, size)
    return shapes


def light_vectors(
    table: Floats, attended: NDArray[np.bool_], matrices: Matrices, settings: SRMSettings
) -> LightVectors:
    """Return the light vectors of a text; their context comes from neighbours or is not needed.

    Args:
        table: the sub-embeddings s_i^k of its tokens, (tokens, K, dimension) float32.
        attended: which tokens neighbours read, (tokens,) bool.
        matrices: matrices with the shapes that `matrix_shapes` returns.
        settings: the ranker's settings.
    """
    means = table.mean(1)
    vectors, weights = means, None
    if settings.needs_context:
        context = neighbours(means, attended, matrices["neighbours.maps"])
        if settings.mixes:
            weights = sub_embedding_weights(context, table, matrices, settings)
            vectors = np.matmul(weights[:, None, :], table)[:, 0]  # eq. 8.3
        if settings.window:
            vectors = local_context(vectors, context, attended, matrices, settings)
    return LightVectors(normalised(vectors, settings), weights)


def normalised(vectors: Floats, settings: SRMSettings) -> Floats:
    """Return vectors of the length 1 if the similarity is the cosine."""
    if settings.similarity != "cosine":
        return vectors
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, LEAST_LENGTH))


def neighbours(means: Floats, attended: NDArray[np.bool_], maps: Floats) -> Floats:
    """Return the context c_i = Σ_δ A_δ m_{i+δ}, (tokens, dimension) float32.

    Args:
        means: m_i of each token's sub-embeddings, (tokens, dimension) float32.
        attended: which tokens neighbours read, (tokens,) bool. The others read themselves, too.
        maps: A_δ for δ from −window to window, (2 · window + 1, dimension, dimension) float32.
    """
    window, tokens = len(maps) // 2, len(means)
    padded = np.zeros((tokens + 2 * window, means.shape[1]), np.float32)
    padded[window : window + tokens] = means * attended[:, None]
    context = (means * ~attended[:, None]) @ maps[window].T
    for at, own in enumerate(maps):
        context += padded[at : at + tokens] @ own.T
    return np.asarray(context)


def sub_embedding_weights(
    context: Floats, table: Floats, matrices: Matrices, settings: SRMSettings
) -> Floats:
    """Return the weight of each sub-embedding of each token, SSCA (eq. 8.1 and 8.2).

    Args:
        context: c_i, (tokens, dimension) float32.
        table: s_i^k, (tokens, K, dimension) float32.
        matrices: see `matrix_shapes`.
        settings: the ranker's settings; the form code has a second softmax.

    Returns:
        (tokens, K) float32, ≥ 0; for the mixing top1 one 1 and zeros.
    """
    heads, size = settings.heads, settings.dimension
    each = size // heads
    query = _linear(context, matrices, "attention.query").reshape(-1, heads, each)
    keys = matrices["attention.key.weight"].reshape(heads, each, size)
    # (c W)(s V) = (c W Vᵀ) s. So the keys of all sub-embeddings need not be computed.
    mapped = np.matmul(query.transpose(1, 0, 2), keys).transpose(1, 0, 2)
    logits = np.matmul(mapped, table.transpose(0, 2, 1))  # (tokens, heads, K)
    if settings.form == "code":
        biases = matrices["attention.key.bias"].reshape(heads, each)
        logits += (query * biases).sum(2, keepdims=True)
    logits /= np.float32(sqrt(each))
    if settings.mixing == "top1":
        chosen = logits.max(1).argmax(1)
        return np.asarray(np.eye(table.shape[1], dtype=np.float32)[chosen])
    weights = _softmax(logits).max(1)
    return _softmax(weights) if settings.form == "code" else weights


def local_context(
    vectors: Floats,
    context: Floats,
    attended: NDArray[np.bool_],
    matrices: Matrices,
    settings: SRMSettings,
) -> Floats:
    """Return vectors whose second half was refined by attention, LCM (eq. 8.4 to 8.6).

    Args:
        vectors: e_i, (tokens, dimension) float32.
        context: c_i, (tokens, dimension) float32.
        attended: which tokens neighbours read, (tokens,) bool.
        matrices: see `matrix_shapes`.
        settings: the ranker's settings; the form code normalises first, and has no output matrix.
    """
    kept, refined = np.split(vectors, 2, axis=1)
    inner = refined
    if settings.form == "code":
        inner = _layer_norm(refined, matrices["local.norm.weight"], matrices["local.norm.bias"])
    heads = settings.heads
    query, key, value = (
        _linear(read, matrices, f"local.{name}").reshape(len(read), heads, -1).transpose(1, 0, 2)
        for name, read in (("query", context), ("key", inner), ("value", inner))
    )
    mixed = _windowed(query, key, value, attended, settings.window)
    whole = mixed.transpose(1, 0, 2).reshape(refined.shape)
    if settings.form != "code":
        whole = whole @ matrices["local.output.weight"].T
    return _linear(np.concatenate([kept, whole], 1), matrices, "local.gate")


def _windowed(
    query: Floats, key: Floats, value: Floats, attended: NDArray[np.bool_], window: int
) -> Floats:
    """Return each token's mean value in its window, WCA (eq. 8.4), (heads, tokens, size).

    A token in whose window no token is attended gets zeros.
    """
    heads, tokens, size = query.shape
    mixed = np.empty((heads, tokens, size), np.float32)
    for first in range(0, tokens, BLOCK):
        after = min(first + BLOCK, tokens)
        begin, end = max(0, first - window), min(tokens, after + window)
        logits = query[:, first:after] @ key[:, begin:end].transpose(0, 2, 1)
        logits /= np.float32(sqrt(size))
        distance = np.abs(np.arange(first, after)[:, None] - np.arange(begin, end))
        seen = (distance <= window) & attended[begin:end]
        logits = np.where(seen, logits, np.float32(-np.inf))
        most = logits.max(2, keepdims=True)
        powers = np.exp(logits - np.where(np.isneginf(most), 0, most))
        total = powers.sum(2, keepdims=True)
        mixed[:, first:after] = powers @ value[:, begin:end] / np.where(total, total, 1)
    return mixed


def _linear(values: Floats, matrices: Matrices, name: str) -> Floats:
    made: Floats = values @ matrices[f"{name}.weight"].T
    bias = matrices.get(f"{name}.bias")
    return made if bias is None else made + bias


def _layer_norm(values: Floats, weight: Floats, bias: Floats) -> Floats:
    centred = values - values.mean(1, keepdims=True)
    variance = np.square(centred).mean(1, keepdims=True)
    return np.asarray(centred / np.sqrt(variance + np.float32(NORM_EPSILON)) * weight + bias)


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))
