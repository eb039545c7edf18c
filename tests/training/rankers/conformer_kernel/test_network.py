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
from ranklet.training.rankers.conformer_kernel import layers
from ranklet.training.rankers.conformer_kernel.kernel_pooling import cosines
from ranklet.training.rankers.conformer_kernel.network import (
    ConformerKernel,
    Encoder,
    LatentMatch,
    Pairs,
    TermModel,
)
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


def test_the_best_window_counts() -> None:
    with seeded(7):
        net = LatentMatch(Encoder(SMALL), SMALL, window=4, stride=2).eval()
    rows = torch.tensor([[5, 9]])
    document = torch.tensor([[7, 5, 5, 20, 3, 11, 12, 1, 13]])
    with torch.no_grad():
        features, there = net.features(rows, document)
        by_window = torch.stack([net.dense(features[0, :, at])[:, 0] for at in range(5)], 1)
        assert there[0].tolist() == [True, True, True, True, False]  # places 0, 2, 4 and 6 of 9
        best = by_window[:, :4].max(1).values
        torch.testing.assert_close(net(rows, document)[0], best)


def test_soft_counts_are_pooled_by_their_logarithm() -> None:
    """As in the authors' code: log(x + 1e-6), so that a kernel without a match tells of it."""
    net = model("ndrm1").latent
    assert net is not None
    document = torch.tensor([[7, 5, 20]])
    with torch.no_grad():
        features, _ = net.features(torch.tensor([[5, 9]]), document)
        similar = cosines(
            net.encoder.queries(torch.tensor([[5, 9]])), net.encoder.contextual(document)
        )
        for kernel, mean in enumerate((-0.75, -0.25, 0.25, 0.75)):
            counts = torch.exp(-8 * (similar - mean) ** 2).sum(2)
            torch.testing.assert_close(features[:, :, 0, kernel], torch.log(counts + 1e-6))


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


@pytest.mark.parametrize("network", [SMALL_TK, replace(SMALL, attention="full")])
def test_full_attention_in_parts_gives_the_same_scores_and_gradient(
    network: Network | TKNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs of 9 terms and 2 heads: 162 numbers each, so two of the five at a time, then one."""
    rng = np.random.default_rng(0)
    rows = torch.tensor(rng.integers(2, 30, (5, 9)))
    asked = torch.tensor(rng.integers(2, 30, (5, 4)))
    tf = (rows[:, None] == asked[:, :, None]).sum(2).float()
    given = Pairs(asked, rows, tf, 1 + asked / 10, torch.arange(3.0, 8.0))
    shapes: list[tuple[int, ...]] = []

    def scored(most: int) -> tuple[Any, dict[str, Any]]:
        monkeypatch.setattr(layers, "AT_ONCE", most)
        shapes.clear()
        with seeded(7):
            still = replace(network, dropout=0.0)
            net = TK(still) if isinstance(still, TKNetwork) else ConformerKernel(still)
            assert net.latent is not None
            net.latent.encoder.blocks[0].register_forward_pre_hook(
                lambda _, inputs: shapes.append(tuple(inputs[0].shape[:2]))
            )
            found = net.train()(given)
            (found * torch.arange(5)).sum().backward()
        return found.detach(), {n: p.grad for n, p in net.named_parameters() if p.grad is not None}

    whole, gradient = scored(1 << 27)
    assert {shape for shape in shapes if shape[1] == 9} == {(5, 9)}
    apart, in_parts = scored(2 * 162)
    assert {shape[0] for shape in shapes} == {2, 1}
    torch.testing.assert_close(apart, whole)
    assert gradient.keys() == in_parts.keys()
    largest = max(float(value.abs().max()) for value in gradient.values())
    for name, value in gradient.items():  # some are 0 behind BatchNorm, and rounded
        torch.testing.assert_close(in_parts[name], value, atol=1e-5 * largest, rtol=1e-3, msg=name)
