import pytest
import torch
from torch import nn

from ranklet.training.rankers.dense.averaging import average, averaged, copied


class Counting(nn.Module):
    def __init__(self, value: float, count: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((2, 3), value))
        self.count: torch.Tensor
        self.register_buffer("count", torch.tensor(count))


def test_the_average_has_a_share_of_the_start() -> None:
    model, start = Counting(1.0, 7), Counting(5.0, 9)
    average(model, copied(start), 0.25)
    assert model.weight.tolist() == [[2.0] * 3] * 2
    assert model.count.item() == 7  # whole numbers are no weights
    assert start.weight.tolist() == [[5.0] * 3] * 2


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_model_gets_its_own_weights_back(share: float) -> None:
    torch.manual_seed(0)
    model, start = nn.Linear(4, 3), copied(nn.Linear(4, 3))
    before = copied(model)
    with torch.inference_mode(), averaged(model, start, share):
        changed = copied(model)
    for name, each in copied(model).items():
        torch.testing.assert_close(changed[name], torch.lerp(before[name], start[name], share))
        assert torch.equal(each, before[name])
    model(torch.ones(1, 4)).sum().backward()  # it can learn on
