from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.training.rankers.conformer_kernel import authors

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.lexical.bm25 import saturation
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.training.learning.device import seeded
from ranklet.training.rankers.conformer_kernel.network import ConformerKernel, Pairs, TermModel
from ranklet.training.rankers.conformer_kernel.sizes import Network
from ranklet.training.rankers.tk.options import TKNetwork
from ranklet.training.rankers.tk.training import TK

SMALL = Network(
    30, hidden=8, layers=1, heads=2, width=3, groups=2, kernels=4, window=4, stride=2,
    dropout=0.1,
)  # fmt: skip


SMALL_TK = TKNetwork(30, hidden=8, layers=1, heads=2, kernels=4, dropout=0.1)
SMALL_TKL = replace(SMALL_TK, architecture="tkl", chunk=4, overlap=2, window=3, stride=2, regions=2)


def model(architecture: str, **sizes: Any) -> ConformerKernel:
    """A network with random weights and statistics."""
    with seeded(7):
        net = ConformerKernel(replace(SMALL, architecture=architecture, **sizes)).eval()
        for name, values in [*net.named_parameters(), *net.named_buffers()]:
            if not name.endswith((".means", ".seen")) and values.is_floating_point():
                values.data.add_(torch.rand_like(values) * 0.4)
        return net


def tk(network: TKNetwork = SMALL_TK) -> TK:
    with seeded(7):
        return TK(network).eval()


def pairs(query: list[int], document: list[int], *, query_to: int = 0, to: int = 0) -> Pairs:
    """A pair, padded to some lengths, of which tf and idf follow."""
    rows = torch.tensor([query + [0] * (query_to - len(query))])
    held = torch.tensor([document + [0] * (to - len(document))])
    tf = torch.tensor([[float(document.count(row)) for row in rows[0].tolist()]])
    return Pairs(rows, held, tf, 1 + rows.float() / 10, torch.tensor([float(len(document))]))


QUERY, DOCUMENT = [5, 9, 9, 3], [7, 5, 5, 20, 3, 11, 12, 1, 13]


@pytest.mark.parametrize("architecture", ["ndrm1", "ndrm2", "ndrm3"])
def test_each_query_term_counts_for_itself(architecture: str) -> None:
    """Query term independence: a score is the sum of its terms' scores alone (Mitra et al., §3)."""
    net = model(architecture)
    with torch.no_grad():
        whole = net(pairs(QUERY, DOCUMENT)).item()
        alone = [net(pairs([term], DOCUMENT)).item() for term in QUERY]
    assert whole == pytest.approx(sum(alone), rel=1e-5)


@pytest.mark.parametrize(
    "net", [model("ndrm1"), model("ndrm2"), model("ndrm3"), tk(), tk(SMALL_TKL)]
)
def test_padding_changes_nothing(net: TermModel) -> None:
    with torch.no_grad():
        alone = net(pairs(QUERY, DOCUMENT)).item()
        padded = net(pairs(QUERY, DOCUMENT, query_to=7, to=30)).item()
    assert padded == pytest.approx(alone, rel=1e-5)


@pytest.mark.parametrize("document", [DOCUMENT, DOCUMENT[:1], DOCUMENT * 2])
@pytest.mark.parametrize("architecture", ["ndrm1", "ndrm2", "ndrm3"])
def test_the_scores_are_the_authors_with_equal_weights(
    architecture: str, document: list[int]
) -> None:
    net = model(architecture, layers=2, width=5)
    weights = {name: each.double().numpy() for name, each in net.state_dict().items()}

    given = pairs(QUERY, document)
    with torch.no_grad():
        found = net.term_scores(given)[0].tolist()
    exact = [
        authors.explicit(authors.part(weights, "explicit"), tf, idf, len(document) + 2)
        if architecture != "ndrm1" else 0.0
        for tf, idf in zip(given.tf[0].tolist(), given.idf[0].tolist(), strict=True)
    ]  # fmt: skip
    if architecture == "ndrm2":
        assert found == pytest.approx(exact, rel=1e-4)
        return
    longest = len(document) + 20
    near = authors.latent(authors.part(weights, "latent"), net.network, QUERY, document, longest)
    if architecture == "ndrm3":
        near = [authors.both(weights, *each) for each in zip(near, exact, strict=True)]
    assert found == pytest.approx(near, rel=1e-4, abs=1e-5)


def test_ndrm2_is_bm25_with_learned_k1_and_b() -> None:
    tf, length = np.array([0.0, 1, 2, 7]), np.array([3.0, 40, 10, 90])
    k1, b, average, tf_mean = 1.3, 0.6, 25.0, 0.3
    learned = ConformerKernelSettings(
        tf_mean=tf_mean, length_mean=average, length_weight=k1 * b / tf_mean,
        length_bias=k1 * (1 - b) / tf_mean,
    )  # fmt: skip
    found = learned.matches(tf, length, np.array([2.0]))
    np.testing.assert_allclose(found, 2 * saturation(tf, length + 2, average, k1, b), rtol=1e-4)


def test_the_runtimes_formula_is_the_networks() -> None:
    net = model("ndrm2")
    rng = np.random.default_rng(0)
    tf, idf = rng.integers(0, 4, (6, 5)).astype(np.float32), rng.uniform(0, 5, (6, 5))
    lengths = rng.integers(1, 60, 6).astype(np.float32)
    given = Pairs(
        torch.ones(6, 5, dtype=torch.int64), torch.ones(6, 3, dtype=torch.int64),
        torch.from_numpy(tf), torch.from_numpy(idf.astype(np.float32)), torch.from_numpy(lengths),
    )  # fmt: skip
    net.train()
    net(given)  # the means become those of these
    net.eval()
    settings = ConformerKernelSettings(architecture="ndrm2", **net.served())  # type: ignore[arg-type]
    assert settings.tf_mean == pytest.approx(tf.mean())
    served = settings.matches(tf, lengths[:, None], idf)
    with torch.no_grad():
        np.testing.assert_allclose(served, net.term_scores(given), rtol=1e-4, atol=1e-6)


def test_ndrm3_is_served_without_its_constants() -> None:
    net, given = model("ndrm3"), pairs(QUERY, DOCUMENT)
    assert net.explicit is not None
    with torch.no_grad():
        found = net.term_scores(given)[0]
        latent, explicit = net.latent_scores(given)[0], net.explicit(given)[0]
    served = net.served()
    constant = found - (served["latent_weight"] * latent + served["explicit_weight"] * explicit)
    np.testing.assert_allclose(constant, constant[0].expand(len(QUERY)), atol=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architecture": "ndrm4"}, "architecture"),
        ({"hidden": 9}, "heads"),
        ({"width": 4}, "odd"),
        ({"kernels": 0}, "kernels"),
        ({"attention": "sparse"}, "attention"),
        ({"stride": 5}, "stride"),
        ({"dropout": 1}, "dropout"),
        ({"vocabulary": 2.5}, "vocabulary"),
    ],
)
def test_sizes_that_are_not_allowed_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(SMALL, **changes)


# ------------------------------------------------------------------------------------ in parts
