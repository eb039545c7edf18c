"""What both architectures have in common."""

import pytest
import torch

from ranklet.runtime.rankers.tk import ARCHITECTURES
from ranklet.training.learning.device import seeded
from ranklet.training.rankers.tk.model import TK
from ranklet.training.rankers.tk.sizes import TKNetwork

QUERY = torch.tensor([[5, 9, 1, 3], [4, 4, 8, 0]])
DOCUMENTS = torch.tensor(
    [[7, 5, 5, 20, 1, 11, 12, 9, 30, 31, 5, 9, 33], [4, 8, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]
)
NOTHING = torch.zeros(2, 1, dtype=torch.int64)


@pytest.fixture(params=ARCHITECTURES)
def model(request: pytest.FixtureRequest) -> TK:
    sizes = TKNetwork(
        40, hidden=8, layers=1, heads=2, dropout=0.0, architecture=request.param, chunk=4,
        overlap=2, window=3, stride=2, regions=2,
    )  # fmt: skip
    with seeded(7):
        return TK(sizes)


def test_an_empty_document_and_an_empty_query_have_scores(model: TK) -> None:
    net = model.eval().latent
    with torch.no_grad():
        assert torch.isfinite(net(QUERY, NOTHING)).all()
        assert not net(NOTHING, DOCUMENTS).any()


def test_every_parameter_learns(model: TK) -> None:
    model.latent(QUERY, DOCUMENTS).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        if "projections.bias" not in name:  # attention ignores what all keys share
            assert parameter.grad.abs().max() > 0, name
