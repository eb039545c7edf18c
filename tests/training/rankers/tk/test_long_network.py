"""TKL's network: chunks, windows, regions, and a numpy version of the whole."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import InputError
from ranklet.training.learning.device import seeded
from ranklet.training.rankers.tk.long_network import LongTransformerKernel, chunk_terms
from ranklet.training.rankers.tk.options import TKNetwork
from ranklet.training.rankers.tk.training import TK

SMALL = TKNetwork(
    40, hidden=8, layers=1, heads=2, dropout=0.0, architecture="tkl", chunk=4, overlap=2,
    window=3, stride=2, regions=2,
)  # fmt: skip
QUERY = torch.tensor([[5, 9, 1, 3], [4, 4, 8, 0]])
DOCUMENTS = torch.tensor(
    [[7, 5, 5, 20, 1, 11, 12, 9, 30, 31, 5, 9, 33], [4, 8, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]
)


def network(sizes: TKNetwork = SMALL) -> LongTransformerKernel:
    with seeded(7):
        found = TK(sizes).eval().latent
    assert isinstance(found, LongTransformerKernel)
    with torch.no_grad():
        found.region_weights.copy_(torch.linspace(1.5, 0.5, sizes.regions))
    return found


@pytest.fixture
def net() -> LongTransformerKernel:
    return network()


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = vectors.astype(np.float64)
    return np.asarray(wide / np.linalg.norm(wide, axis=-1, keepdims=True))


def by_numpy(net: LongTransformerKernel, query: list[int], document: list[int]) -> Any:
    """The share of each query term, one window at a time."""
    with torch.no_grad():
        queries = net.encoder.contextual(torch.tensor([query]))[0].numpy()
        plain = net.encoder.embedding(torch.tensor([query]))[0]
        salience = net.salience(plain)[:, 0].numpy()
        weight, bias = (each.numpy() for each in (net.saturation.weight, net.saturation.bias))
        vectors = []
        for begin in range(0, len(document), net.chunk):
            places = range(begin - net.overlap, begin + net.chunk + net.overlap)
            rows = [document[at] if 0 <= at < len(document) else 0 for at in places]
            read = net.encoder.contextual(torch.tensor([rows]))[0]
            vectors += list(read[net.overlap : net.overlap + net.chunk].numpy())
    cosine = unit(queries) @ unit(np.array(vectors[: len(document)])).T
    centres = np.array([1.0, 0.9, 0.7, 0.5, 0.3, 0.1, -0.1, -0.3, -0.5, -0.7, -0.9])
    kernels = np.exp(-((cosine[..., None] - centres) ** 2) / (2 * 0.1**2))
    kernels *= (np.array(document) > 1)[:, None]
    shares = []
    for begin in range(0, len(document), net.stride):
        counts = np.maximum(kernels[:, begin : begin + net.window].sum(1), 1e-10)
        filled = min(net.window, len(document) - begin) / net.window
        a, b, c = (weight[:, :1] * salience + weight[:, 1:] * filled + bias[:, None])[..., None]
        saturation = a * counts ** (1 / b) - c
        shares.append(saturation @ net.kernel_weights.detach().numpy() * (np.array(query) > 1))
        if begin + net.window >= len(document):
            break
    total, found = np.zeros(len(query)), [sum(each) for each in shares]
    for each in net.region_weights.tolist():
        best = int(np.argmax(found))
        if found[best] == -np.inf:
            break
        total += each * shares[best]
        for at in range(len(found)):
            if abs(at - best) * net.stride < net.window:
                found[at] = -np.inf
    return total


@pytest.mark.parametrize("regions", [1, 2, 3, 9])
def test_it_is_the_formula_in_numpy(regions: int) -> None:
    net = network(replace(SMALL, regions=regions))
    with torch.no_grad():
        found = net(QUERY, DOCUMENTS).numpy()
    for pair, length in enumerate((13, 3)):
        expected = by_numpy(net, QUERY[pair].tolist(), DOCUMENTS[pair, :length].tolist())
        np.testing.assert_allclose(found[pair], expected, rtol=1e-3, atol=1e-4)


def test_terms_see_no_further_than_the_overlap(net: LongTransformerKernel) -> None:
    """Of the terms at places 0 to 3, which read up to place 5."""
    changed = DOCUMENTS[:1].clone()
    with torch.no_grad():
        before = net.local(changed)[0]
        changed[0, 6] = 39
        torch.testing.assert_close(net.local(changed)[0][:, :4], before[:, :4])
        changed[0, 5] = 39
        assert (net.local(changed)[0][:, :4] - before[:, :4]).abs().max() > 1e-4


def test_chunks_by_hand() -> None:
    found = chunk_terms(torch.tensor([[5, 6, 7, 8, 9]]), 3, 1)
    assert found.tolist() == [[[0, 5, 6, 7, 8], [7, 8, 9, 0, 0]]]
    assert chunk_terms(torch.tensor([[5]]), 3, 7).shape == (1, 1, 17)


@pytest.mark.parametrize("to", [13, 14, 16, 29])
def test_padding_and_the_order_of_pairs_change_nothing(net: LongTransformerKernel, to: int) -> None:
    padded = torch.nn.functional.pad(DOCUMENTS, (0, to - 13))
    with torch.no_grad():
        expected = net(QUERY, DOCUMENTS)
        torch.testing.assert_close(net(QUERY, padded), expected, atol=1e-5, rtol=1e-4)
        swapped = net(QUERY.flip(0), padded.flip(0)).flip(0)
        torch.testing.assert_close(swapped, expected, atol=1e-5, rtol=1e-4)
        alone = net(QUERY[1:, :3], DOCUMENTS[1:, :3])
        torch.testing.assert_close(alone[0], expected[1, :3], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architecture": "tkm"}, "architecture"),
        ({"kernels": 1}, "kernels"),
        ({"chunk": 0}, "chunk"),
        ({"overlap": -1}, "overlap"),
        ({"stride": 4}, "stride"),
        ({"regions": 0}, "regions"),
    ],
)
def test_sizes_that_are_not_allowed_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(SMALL, **changes)
