import numpy as np
import pytest
import torch

from ranklet.corpus.indexing.translation_tables import as_table
from ranklet.runtime.ground.errors import InputError
from ranklet.training.learning.device import seeded
from ranklet.training.rankers.neural_model1 import sparsify as sparsifying
from ranklet.training.rankers.neural_model1.network import Network, NetworkTranslation, NeuralModel1
from ranklet.training.rankers.neural_model1.sparsify import sparsify, tables

SIZE = 120
SPECIAL = (0, 1, 2)


def model(parametrisation: str = "network") -> NeuralModel1:
    network = Network(SIZE, 0, SPECIAL, 16, (12, 8), parametrisation)
    with seeded(5):
        made = NeuralModel1(network, np.full(SIZE, 1e-3, np.float32)).eval()
        if isinstance(made.translate, NetworkTranslation):
            with torch.no_grad():  # wide enough a spread that a threshold parts the pairs
                made.translate.third.weight.mul_(40)
    return made


def dense(net: NeuralModel1, targets: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """T by the network itself, 0 where a table has no entry."""
    with torch.no_grad():
        found = net.translation(torch.from_numpy(targets), torch.from_numpy(sources)).numpy()
    found[targets[:, None] == sources] = 0
    found[np.isin(targets, SPECIAL)] = 0
    found[:, np.isin(sources, SPECIAL)] = 0
    return found


@pytest.mark.parametrize("block", [7, 64, 4096])
def test_it_is_the_networks_own_translation(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(sparsifying, "BLOCK", block)
    net = model()
    everything = np.arange(SIZE)
    expected = dense(net, everything, everything)
    threshold = float(np.quantile(expected[expected > 0], 0.7))
    found = sparsify(net, threshold=threshold)
    table = np.zeros((SIZE, SIZE))
    table[found.target, found.source] = found.probability
    sure = np.abs(expected - threshold) > 1e-6  # what lies on the threshold may go either way
    np.testing.assert_array_equal((table > 0)[sure], (expected >= threshold)[sure])
    kept = table > 0
    np.testing.assert_allclose(table[kept], expected[kept], atol=1e-6)
    assert 0.2 < kept.mean() < 0.4


def test_pairs_are_sorted_as_a_translation_table_wants_them() -> None:
    found = sparsify(model())
    keys = found.target.astype(np.int64) * SIZE + found.source
    assert (np.diff(keys) > 0).all()
    assert (found.target != found.source).all()
    assert not np.isin(found.target, SPECIAL).any()
    assert not np.isin(found.source, SPECIAL).any()
    as_table(found, SIZE).verify("sparsified")


def test_the_tables_of_tuning_are_those_that_will_be_served() -> None:
    net = model()
    query, documents = np.array([9, 5, 9, 1]), np.array([30, 9, 31, 0, 30])
    found = tables(net)(query, documents)
    whole = as_table(sparsify(net), SIZE)
    for token in (5, 9):
        sources, probabilities = found.row(token)
        all_sources, all_probabilities = whole.row(token)
        here = np.isin(all_sources, documents)
        np.testing.assert_array_equal(sources, all_sources[here])
        np.testing.assert_allclose(probabilities, all_probabilities[here], atol=1e-6)
    assert len(found.row(1)[0]) == 0


def test_what_cannot_be_sparse_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="cosine variant cannot be sparsified"):
        sparsify(model("cosine"))
    for threshold in (0, -1, 1.5, float("nan")):
        with pytest.raises(InputError, match="threshold"):
            sparsify(model(), threshold=threshold)
    with pytest.raises(InputError, match="vocabulary of 120"):
        sparsify(model(), tokens=np.array([SIZE]))
    monkeypatch.setattr(sparsifying, "MOST_PAIRS", 100)
    with pytest.raises(InputError, match="would not be sparse"):
        sparsify(model())
