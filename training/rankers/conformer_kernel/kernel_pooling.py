"""Windowed kernel pooling: soft counts of similarities per window of a document.

Sources: Xiong et al. 2017 (kernels); Hofstätter et al. 2020 (windows), as in Mitra et al., §3.
"""

import torch
from torch import Tensor

LEAST = 1e-6  # added to soft counts, as in the authors' code, because 0 has no logarithm
WIDTH = 0.1  # σ of every kernel


def kernel_centres(kernels: int) -> Tensor:
    """Return μ, the authors' centres, of which the first is for exact matches.

    >>> [round(each, 1) for each in kernel_centres(10).tolist()]
    [1.0, 0.8, 0.6, 0.4, 0.2, 0.0, -0.2, -0.4, -0.6, -0.8]
    """
    return 1 - 2 * torch.arange(kernels) / kernels


def cosines(queries: Tensor, documents: Tensor) -> Tensor:
    """Return the cosine of each query term with each document term, (batch, terms, n) float32.

    Queries are (batch, terms, hidden) and documents (batch, n, hidden) float32.
    """
    return _unit(queries) @ _unit(documents).transpose(1, 2)


def window_counts(
    cosine: Tensor, mask: Tensor, means: Tensor, *, size: int, stride: int
) -> tuple[Tensor, Tensor]:
    """Return Σ_j exp(−(S_ij − μ_k)² / 2σ²), j over the terms of each window.

    Windows of `size` terms start every `stride` terms of a document, also after the first that
    reaches its end, as in the authors' code. A document has at least one, and padding adds none.

    Args:
        cosine: S, (batch, terms, n) float32.
        mask: False at padding, (batch, n) bool.
        means: μ, (kernels,) float32.
        size: terms per window.
        stride: terms from one window to the next.

    Returns:
        Counts, (batch, terms, windows, kernels) float32; and which windows exist, (batch, windows)
        bool.
    """
    places = torch.arange(cosine.shape[2], device=cosine.device).unsqueeze(1)
    begins = torch.arange(0, cosine.shape[2], stride, device=cosine.device)
    inside = (places >= begins) & (places < begins + size)  # (n, windows)
    counted = (inside & mask.unsqueeze(2)).to(cosine.dtype)  # (batch, n, windows)
    # One kernel at a time, because all at once would take ten times the memory and fit no cache.
    counts = torch.stack(
        [torch.exp((cosine - mean) ** 2 * (-0.5 / WIDTH**2)) @ counted for mean in means.unbind(0)],
        dim=3,
    )
    return counts, (begins == 0) | (begins < mask.sum(1, keepdim=True))


def _unit(vectors: Tensor) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(vectors, dim=2, keepdim=True)
    return vectors / lengths.clamp(min=1e-6)
