import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from ranklet.runtime.errors import InputError
from ranklet.runtime.lexical.bm25 import saturation
from ranklet.runtime.rankers.conformer_kernel.settings import EPSILON, ConformerKernelSettings
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


def model(architecture: str, form: str = "ranklet") -> ConformerKernel:
    with seeded(7):
        return ConformerKernel(replace(SMALL, architecture=architecture, form=form)).eval()


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


@pytest.mark.parametrize("form", ["ranklet", "authors"])
@pytest.mark.parametrize("architecture", ["ndrm1", "ndrm2", "ndrm3"])
def test_each_query_term_counts_for_itself(architecture: str, form: str) -> None:
    """Query term independence: a score is the sum of its terms' scores alone (Mitra et al., §3)."""
    net = model(architecture, form)
    with torch.no_grad():
        whole = net(pairs(QUERY, DOCUMENT)).item()
        alone = [net(pairs([term], DOCUMENT)).item() for term in QUERY]
    assert whole == pytest.approx(sum(alone), rel=1e-5)


@pytest.mark.parametrize(
    "net",
    [
        model("ndrm1"),
        model("ndrm2"),
        model("ndrm3"),
        model("ndrm3", "authors"),
        tk(),
        tk(SMALL_TKL),
    ],
)
def test_padding_changes_nothing(net: TermModel) -> None:
    with torch.no_grad():
        alone = net(pairs(QUERY, DOCUMENT)).item()
        padded = net(pairs(QUERY, DOCUMENT, query_to=7, to=30)).item()
    assert padded == pytest.approx(alone, rel=1e-5)


def test_ndrm2_is_eq_4() -> None:
    net = model("ndrm2")
    explicit = net.explicit
    assert explicit is not None
    with torch.no_grad():
        explicit.weight.fill_(0.7)
        explicit.bias.fill_(-0.2)
        explicit.tf.mean.fill_(0.4)
        explicit.length.mean.fill_(6.0)
        found = net.term_scores(pairs(QUERY, DOCUMENT))[0]
    for row, score in zip(QUERY, found.tolist(), strict=True):
        tf = DOCUMENT.count(row) / (0.4 + EPSILON)
        norm = max(0.0, 0.7 * len(DOCUMENT) / (6 + EPSILON) - 0.2)
        assert score == pytest.approx((1 + row / 10) * tf / (tf + norm + EPSILON), rel=1e-5)


def test_ndrm2_is_bm25_with_learned_k1_and_b() -> None:
    tf, length = np.array([0.0, 1, 2, 7]), np.array([3.0, 40, 10, 90])
    k1, b, average, tf_mean = 1.3, 0.6, 25.0, 0.3
    learned = ConformerKernelSettings(
        tf_mean=tf_mean, length_mean=average, length_weight=k1 * b / tf_mean,
        length_bias=k1 * (1 - b) / tf_mean,
    )  # fmt: skip
    found = learned.matches(tf, length, np.array([2.0]))
    np.testing.assert_allclose(found, 2 * saturation(tf, length, average, k1, b), rtol=1e-4)


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


def test_ndrm3_is_eq_3_and_is_served_without_its_constants() -> None:
    net = model("ndrm3")
    assert net.latent_norm is not None
    assert net.explicit_norm is not None
    assert net.weights is not None
    assert net.explicit is not None
    with torch.no_grad():
        net.weights.copy_(torch.tensor([0.8, -1.5, 0.3]))
        for norm, mean, variance in ((net.latent_norm, 0.2, 4.0), (net.explicit_norm, 1.1, 0.25)):
            norm.mean.fill_(mean)
            norm.variance.fill_(variance)
        given = pairs(QUERY, DOCUMENT)
        found = net.term_scores(given)[0]
        latent = net.latent(given.query_rows, given.document_rows)[0]  # type: ignore[misc]
        explicit = net.explicit(given)[0]
    expected = 0.8 * (latent - 0.2) / 2 - 1.5 * (explicit - 1.1) / 0.5 + 0.3
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    served = net.served()
    constant = found - (served["latent_weight"] * latent + served["explicit_weight"] * explicit)
    np.testing.assert_allclose(constant, constant[0].expand(len(QUERY)), atol=1e-4)


def test_the_authors_form_maps_query_terms_and_has_a_window_without_a_match() -> None:
    net = model("ndrm1", "authors").latent
    assert net is not None
    assert net.query is not None
    rows, document = torch.tensor([[5, 9, 3]]), torch.tensor([DOCUMENT])
    with torch.no_grad():
        torch.testing.assert_close(net.means, torch.tensor([1.0, 0.5, 0.0, -0.5]))
        nothing = net.dense(torch.full((4,), math.log(1e-6)))
        assert (net(rows, document) >= nothing - 1e-6).all()
        last: Any = net.dense[3]
        last.weight.mul_(-1)
        assert (net(rows, document) >= net.dense(torch.full((4,), math.log(1e-6))) - 1e-6).all()
        before = net.features(rows, document)[0]
        net.query.weight.neg_()
        assert (net.features(rows, document)[0] - before).abs().max() > 1e-3


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
