"""The formulas of TK and TKL: kernels over cosines, and what their soft counts become.

Sources: [1] Hofstätter, Zlabinger & Hanbury, ECAI 2020 (TK); [2] Hofstätter, Zamani, Mitra,
Craswell & Hanbury, SIGIR 2020 (TKL). Kernels are Xiong et al.'s (2017).
"""

import torch
from torch import Tensor
from torch.nn import functional

LEAST = 1e-10  # soft counts below it count as it, because 0 has no logarithm
_TAKEN = -1e30  # the score of a window that cannot be chosen


def kernel_means(kernels: int) -> Tensor:
    """Return μ, the centres of `kernels` equal parts of [−1, 1]; the widths σ are half a part.

    >>> kernel_means(4).tolist()
    [-0.75, -0.25, 0.25, 0.75]
    """
    return (2 * torch.arange(kernels) + 1) / kernels - 1


def kernel_centres(kernels: int) -> Tensor:
    """Return μ: 1 for exact matches, then the middles of kernels − 1 equal parts of [−1, 1].

    With 11 kernels they are the 1, .9, .7, … −.9 of [1] (its description of kernel-pooling).

    >>> [round(each, 1) for each in kernel_centres(5).tolist()]
    [1.0, 0.8, 0.2, -0.2, -0.8]
    """
    return torch.cat([torch.ones(1), kernel_means(kernels - 1).flip(0)])


def kernel_values(cosine: Tensor, centre: Tensor, kernels: int) -> Tensor:
    """Return K_k = exp(−(S_ij − μ_k)² / 2σ²) ([1], kernel-pooling), of the shape of `cosine`.

    σ is half of the distance of two centres, .1 with 11 kernels, also for exact matches: contextual
    vectors of the same word differ, so no cosine is exactly 1.
    """
    width = 1 / (kernels - 1)
    return torch.exp((cosine - centre) ** 2 * (-0.5 / width**2))


def soft_counts(cosine: Tensor, counted: Tensor, centres: Tensor) -> Tensor:
    """Return Σ_j K_k of each query term over a whole document ([1], kernel-pooling).

    Args:
        cosine: S, (batch, terms, n) float32.
        counted: True where a document term counts, (batch, n) bool.
        centres: μ, (kernels,) float32.

    Returns:
        Counts, (batch, terms, kernels) float32.
    """
    ones = counted.to(cosine.dtype).unsqueeze(2)
    # One kernel at a time, as in conformer_kernel/kernel_pooling.py.
    each = [kernel_values(cosine, centre, len(centres)) @ ones for centre in centres.unbind(0)]
    return torch.cat(each, dim=2)


def log_features(counts: Tensor) -> Tensor:
    """Return log₂ Σ_j K_k, the features of the log branch ([1], s_log)."""
    return torch.log2(counts.clamp(min=LEAST))


def length_features(counts: Tensor, lengths: Tensor) -> Tensor:
    """Return Σ_j K_k / |d|, the features of the length-normalised branch ([1], s_len).

    Counts are (batch, terms, kernels) float32 and lengths (batch,) int64.
    """
    return counts / lengths.clamp(min=1).reshape(-1, 1, 1).to(counts.dtype)


def in_windows(values: Tensor, size: int, stride: int) -> Tensor:
    """Return the sums of values in windows of `size` places every `stride` places ([2]).

    Values are (batch, channels, n) float32, and the sums (batch, channels, ⌈n / stride⌉). Pooling
    takes memory that is linear in n, unlike a product with a matrix of places and windows.
    """
    beyond = functional.pad(values, (0, size - 1))
    sums: Tensor = functional.avg_pool1d(beyond, size, stride) * size
    return sums


def window_counts(
    cosine: Tensor, counted: Tensor, centres: Tensor, *, size: int, stride: int
) -> Tensor:
    """Return Σ_j K_k over each window ([2]), (batch, terms, windows, kernels) float32."""
    ones = counted.to(cosine.dtype).unsqueeze(1)
    each = [
        in_windows(kernel_values(cosine, centre, len(centres)) * ones, size, stride)
        for centre in centres.unbind(0)
    ]
    return torch.stack(each, dim=3)


def cut_windows(mask: Tensor, *, size: int, stride: int) -> tuple[Tensor, Tensor]:
    """Return the terms in each window, and which windows exist.

    A document has the windows up to the first that reaches its end, and at least one, so padding
    adds none.

    Args:
        mask: False at padding, (batch, n) bool.
        size: terms per window.
        stride: terms from one window to the next.

    Returns:
        (batch, windows) float32, and (batch, windows) bool.
    """
    begins = torch.arange(0, mask.shape[1], stride, device=mask.device)
    terms = in_windows(mask.float().unsqueeze(1), size, stride).squeeze(1)
    lengths = mask.sum(1, keepdim=True)
    return terms, (begins == 0) | (begins - stride + size < lengths)


def saturated(counts: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Return a x^(1/b) − c of soft counts x, which takes the logarithm's place ([2], saturation).

    With a = b = c it is b (x^(1/b) − 1), which approaches ln x for large b (Box & Cox 1964). b
    below 1 counts as 1, so that the function is never convex.
    """
    saturation: Tensor = a * counts.clamp(min=LEAST) ** (1 / b.clamp(min=1)) - c
    return saturation


def best_regions(scores: Tensor, exists: Tensor, count: int, *, size: int, stride: int) -> Tensor:
    """Return the best windows of a document that share no term, the best one first ([2]).

    Args:
        scores: the scores of the windows, (batch, windows) float32.
        exists: which windows exist, (batch, windows) bool.
        count: windows to choose.
        size: terms per window.
        stride: terms from one window to the next.

    Returns:
        1 at the window of each rank, (batch, count, windows) float32. A rank that has no window,
        because the document is too short, has only 0.
    """
    places = torch.arange(scores.shape[1], device=scores.device)
    free = scores.detach().masked_fill(~exists, _TAKEN)
    chosen = []
    for _ in range(count):
        best = free.argmax(1, keepdim=True)
        found = free.amax(1, keepdim=True) > _TAKEN
        chosen.append(((places == best) & found).to(scores.dtype))
        free = free.masked_fill((places - best).abs() * stride < size, _TAKEN)
    return torch.stack(chosen, dim=1)
