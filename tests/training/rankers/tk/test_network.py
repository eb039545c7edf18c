"""TK's network against numpy, and its query terms."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ranklet.training.learning.device import seeded
from ranklet.training.rankers.conformer_kernel.layers import positions
from ranklet.training.rankers.tk.network import TransformerEncoder, TransformerKernel
from ranklet.training.rankers.tk.options import TKNetwork
from ranklet.training.rankers.tk.training import TK

SMALL = TKNetwork(30, hidden=8, layers=1, heads=2, dropout=0.0)
QUERY = torch.tensor([[5, 9, 1, 3], [4, 4, 8, 0]])
DOCUMENTS = torch.tensor([[7, 5, 5, 20, 1, 11, 12, 9], [4, 8, 2, 0, 0, 0, 0, 0]])


@pytest.fixture
def net() -> TransformerKernel:
    with seeded(7):
        found = TK(SMALL).eval().latent
    assert isinstance(found, TransformerKernel)
    with torch.no_grad():
        found.branches.copy_(torch.tensor([0.7, -1.3]))
    return found


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = vectors.astype(np.float64)
    return np.asarray(wide / np.linalg.norm(wide, axis=-1, keepdims=True))


def test_it_is_the_papers_formula(net: TransformerKernel) -> None:
    with torch.no_grad():
        found = net(QUERY, DOCUMENTS).numpy()
        queries, documents = (net.encoder.contextual(rows).numpy() for rows in (QUERY, DOCUMENTS))
    centres = np.array([1.0, 0.9, 0.7, 0.5, 0.3, 0.1, -0.1, -0.3, -0.5, -0.7, -0.9])
    log_weights, length_weights = (
        each.detach().numpy() for each in (net.log_weights, net.length_weights)
    )
    for pair, length in enumerate((8, 3)):
        counted = DOCUMENTS[pair].numpy() > 1  # neither padding nor unknown
        cosine = unit(queries[pair]) @ unit(documents[pair]).T
        kernels = np.exp(-((cosine[..., None] - centres) ** 2) / (2 * 0.1**2))
        counts = kernels[:, counted].sum(1)
        log = np.log2(np.maximum(counts, 1e-10)) @ log_weights
        expected = 0.7 * log - 1.3 * (counts / length @ length_weights)
        expected[QUERY[pair].numpy() <= 1] = 0
        np.testing.assert_allclose(found[pair], expected, rtol=1e-3, atol=1e-4)


def test_vectors_blend_the_embedding_with_the_transformers_output(net: TransformerKernel) -> None:
    plain = net.encoder.plain(QUERY)
    assert isinstance(net.encoder, TransformerEncoder)
    with torch.no_grad():
        net.encoder.share.fill_(50.0)
        torch.testing.assert_close(net.encoder.contextual(QUERY), plain)  # without positions
        net.encoder.share.fill_(-50.0)
        states = net.encoder.blocks[0](plain + positions(4, 8, plain), QUERY != 0)
        torch.testing.assert_close(net.encoder.contextual(QUERY), states)


def test_pairs_do_not_affect_each_other(net: TransformerKernel) -> None:
    with torch.no_grad():
        both, swapped = net(QUERY, DOCUMENTS), net(QUERY.flip(0), DOCUMENTS.flip(0))
        alone = net(QUERY[1:, :3], DOCUMENTS[1:, :3])
    torch.testing.assert_close(swapped.flip(0), both)
    torch.testing.assert_close(alone[0], both[1, :3], atol=1e-5, rtol=1e-4)
    assert both[1, 3] == 0
