"""The Conformer-Kernel as its authors compute it, in plain loops over numbers.

Written from the equations of Mitra et al. 2020 and what their code adds to them: documents of the
maximum length, whose padding is unknown words, and windows over all of it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.rankers.conformer_kernel.network import UNKNOWN
from ranklet.training.rankers.conformer_kernel.sizes import Network

Numbers = NDArray[np.float64]
Weights = Mapping[str, Numbers]


def part(weights: Weights, name: str) -> Weights:
    """Return the weights of a part of a network by their names in it."""
    return {
        key.removeprefix(f"{name}."): each
        for key, each in weights.items() if key.startswith(f"{name}.")
    }  # fmt: skip


def latent(
    weights: Weights, sizes: Network, query: Sequence[int], document: Sequence[int], longest: int
) -> list[float]:
    """NDRM1's score of each query term; `weights` are those of the latent part."""
    framed = [sizes.vocabulary, *document, sizes.vocabulary + 1]
    held = len(framed)
    embedding = weights["encoder.embedding.weight"]
    plain = embedding[framed + [UNKNOWN] * (longest - held)]
    states = plain + _positions(*plain.shape)
    for layer in range(sizes.layers):
        states = _conformer(part(weights, f"encoder.blocks.{layer}"), sizes, states, held)
    first, second = weights["encoder.mix.weight"][0]
    mixed = first * plain + second * states + weights["encoder.mix.bias"]
    scores = []
    for term in query:
        asked = _linear(weights, "query", embedding[term])
        cosine = [
            asked @ each / (np.linalg.norm(asked) * np.linalg.norm(each)) for each in mixed[:held]
        ]
        windows = []
        for begin in range(0, longest - sizes.window + 1, sizes.stride):
            counts = [
                sum(
                    math.exp(-((each - (1 - 2 * k / sizes.kernels)) ** 2) / (2 * 0.1**2))
                    for each in cosine[begin : begin + sizes.window]
                )
                for k in range(sizes.kernels)
            ]
            hidden = _linear(weights, "dense.0", np.log(np.array(counts) + 1e-6))
            windows.append(float(_linear(weights, "dense.3", np.maximum(hidden, 0))[0]))
        scores.append(max(windows))
    return scores


def explicit(weights: Weights, tf: float, idf: float, length: float) -> float:
    """NDRM2's score of a query term (eq. 4)."""
    tf = tf / (weights["tf.mean"].item() + 1e-6)
    length = length / (weights["length.mean"].item() + 1e-6)
    norm = max(0.0, weights["weight"].item() * length + weights["bias"].item())
    return idf * tf / (tf + norm + 1e-6)


def both(weights: Weights, of_latent: float, of_explicit: float) -> float:
    """NDRM3's score of a query term (eq. 3): an affine BatchNorm of two numbers, and a layer."""
    values = np.array([of_latent, of_explicit]) - weights["norm.running_mean"]
    values = values / np.sqrt(weights["norm.running_var"] + 1e-5)
    values = values * weights["norm.weight"] + weights["norm.bias"]
    return float(_linear(weights, "both", values)[0])


def _conformer(weights: Weights, sizes: Network, states: Numbers, held: int) -> Numbers:
    near = _grouped(weights, sizes, states)
    keys, values = np.split(_linear(weights, "attention.projections", near), 2, axis=1)
    size = sizes.hidden // sizes.heads
    heads = []
    for head in range(sizes.heads):
        k, v = (each[:, head * size : (head + 1) * size] for each in (keys, values))
        gathered = np.array([_softmax(k[:held, at]) @ v[:held] for at in range(size)])
        heads.append(np.array([_softmax(each / math.sqrt(size)) @ gathered for each in k]))
    attended = _linear(weights, "attention.out", np.concatenate(heads, axis=1))
    states = _norm(weights, "norms.0", states + attended)
    dense = _linear(weights, "dense.3", np.maximum(_linear(weights, "dense.0", states), 0))
    return _norm(weights, "norms.1", states + dense)


def _grouped(weights: Weights, sizes: Network, states: Numbers) -> Numbers:
    """A grouped convolution, with zeros beyond both ends."""
    of_all, half = weights["convolution.weight"], sizes.width // 2
    size = sizes.hidden // sizes.groups
    found = np.tile(weights["convolution.bias"], (len(states), 1))
    for place in range(len(states)):
        for out in range(sizes.hidden):
            begin = out // size * size
            for at in range(sizes.width):
                if 0 <= place + at - half < len(states):
                    read = states[place + at - half, begin : begin + size]
                    found[place, out] += of_all[out, :, at] @ read
    return found


def _positions(n: int, hidden: int) -> Numbers:
    angles = [
        [place / 1e4 ** (2 * (at // 2) / hidden) for at in range(hidden)] for place in range(n)
    ]
    return np.where(np.arange(hidden) % 2 == 0, np.sin(angles), np.cos(angles))


def _linear(weights: Weights, name: str, values: Numbers) -> Numbers:
    result: Any = values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
    return np.asarray(result)


def _norm(weights: Weights, name: str, values: Numbers) -> Numbers:
    centred = values - values.mean(1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    return np.asarray(scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"])


def _softmax(values: Numbers) -> Numbers:
    powers = np.exp(values - values.max())
    return np.asarray(powers / powers.sum())
