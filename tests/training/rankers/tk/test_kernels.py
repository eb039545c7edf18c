"""The formulas of TK and TKL against numpy."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ranklet.training.rankers.tk.kernels import (
    best_regions,
    cut_windows,
    kernel_centres,
    length_features,
    log_features,
    saturated,
    soft_counts,
    window_counts,
)

CENTRES = np.array([1.0, 0.9, 0.7, 0.5, 0.3, 0.1, -0.1, -0.3, -0.5, -0.7, -0.9])


@pytest.fixture
def cosine() -> NDArray[np.float32]:
    """Two queries of 3 terms and documents of 11 terms."""
    rng = np.random.default_rng(3)
    found: NDArray[np.float32] = rng.uniform(-1, 1, (2, 3, 11)).astype(np.float32)
    found[0, 0, 4] = 1
    return found


COUNTED = np.array([[1] * 11, [1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0]], bool)


def kernels(cosine: NDArray[np.float32]) -> NDArray[np.float64]:
    """K of every centre, (batch, terms, n, kernels)."""
    off = cosine[..., None].astype(np.float64) - CENTRES
    return np.asarray(np.exp(-(off**2) / (2 * 0.1**2)) * COUNTED[:, None, :, None])


def test_eleven_centres_are_the_papers() -> None:
    np.testing.assert_allclose(kernel_centres(11), CENTRES, atol=1e-6)


def test_counts_of_a_document_and_both_branches(cosine: NDArray[np.float32]) -> None:
    expected = kernels(cosine).sum(2)
    counts = soft_counts(torch.tensor(cosine), torch.tensor(COUNTED), kernel_centres(11))
    np.testing.assert_allclose(counts, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        log_features(counts), np.log2(np.maximum(counts.numpy(), 1e-10)), rtol=1e-5, atol=1e-5
    )
    assert log_features(torch.zeros(1)).item() == pytest.approx(np.log2(1e-10))
    by_length = length_features(counts, torch.tensor([11, 5]))
    np.testing.assert_allclose(by_length[1], expected[1] / 5, rtol=1e-4, atol=1e-6)
    assert torch.isfinite(length_features(counts, torch.tensor([0, 0]))).all()  # empty documents


@pytest.mark.parametrize(("size", "stride"), [(4, 2), (3, 3), (30, 2), (1, 1), (5, 7)])
def test_counts_of_windows(cosine: NDArray[np.float32], size: int, stride: int) -> None:
    each = kernels(cosine)
    expected = np.stack([each[:, :, at : at + size].sum(2) for at in range(0, 11, stride)], 2)
    found = window_counts(
        torch.tensor(cosine), torch.tensor(COUNTED), kernel_centres(11), size=size, stride=stride
    )
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def test_windows_end_at_the_first_that_reaches_the_end() -> None:
    mask = torch.tensor([[1] * 9, [1] * 4 + [0] * 5, [0] * 9]).bool()
    terms, exists = cut_windows(mask, size=4, stride=2)
    assert terms.round().tolist() == [[4, 4, 4, 3, 1], [4, 2, 0, 0, 0], [0] * 5]
    assert exists.int().tolist() == [[1, 1, 1, 1, 0], [1, 0, 0, 0, 0], [1, 0, 0, 0, 0]]


def test_the_saturation_is_the_papers_and_near_a_logarithm() -> None:
    x = torch.tensor([0.01, 0.5, 1.0, 20.0])
    a, b, c = torch.tensor(2.0), torch.tensor(4.0), torch.tensor(-0.5)
    np.testing.assert_allclose(saturated(x, a, b, c), 2 * x.numpy() ** 0.25 + 0.5, rtol=1e-5)
    large = torch.tensor(1000.0)
    np.testing.assert_allclose(saturated(x, large, large, large), x.log(), atol=0.02)
    concave = saturated(x, a, torch.tensor(0.1), c)  # b counts as 1
    np.testing.assert_allclose(concave, 2 * x.numpy() + 0.5, rtol=1e-5)


def test_regions_are_the_best_and_share_no_term() -> None:
    """Windows of 4 terms every 2, so neighbours share terms, and the next but one do not."""
    scores = torch.tensor([[1.0, 5.0, 4.0, 3.0, 2.0, 9.0], [-7.0, -2.0, -3.0, 8.0, 8.0, 8.0]])
    exists = torch.tensor([[1, 1, 1, 1, 1, 0], [1, 1, 0, 0, 0, 0]]).bool()
    chosen = best_regions(scores, exists, 3, size=4, stride=2)
    assert chosen.shape == (2, 3, 6)
    places = [
        [row.argmax().item() if row.any() else None for row in document] for document in chosen
    ]
    assert places == [[1, 3, None], [1, None, None]]
    assert chosen.sum().item() == 3
