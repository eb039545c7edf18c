from dataclasses import replace

import torch
from torch import nn

from ranklet.training.learning.optimiser import make_optimiser, set_rate
from ranklet.training.learning.options import TrainingOptions


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.head = nn.Linear(2, 2), nn.Linear(2, 1)


def test_the_head_has_a_rate_of_its_own() -> None:
    model, options = Model(), TrainingOptions(learning_rate=2e-5, head_rate=10)
    optimiser = make_optimiser(model, options, torch.device("cpu"))
    set_rate(optimiser, options, 1e-5)
    rates = {id(p): group["lr"] for group in optimiser.param_groups for p in group["params"]}
    assert [rates[id(each)] for each in model.encoder.parameters()] == [1e-5, 1e-5]
    assert [rates[id(each)] for each in model.head.parameters()] == [1e-4, 1e-4]


def test_without_a_head_or_a_factor_there_is_one_group() -> None:
    plain = TrainingOptions(learning_rate=1e-3)
    for model, options in ((Model(), plain), (nn.Linear(2, 2), replace(plain, head_rate=10))):
        optimiser = make_optimiser(model, options, torch.device("cpu"))
        set_rate(optimiser, options, 5e-4)
        assert [group["lr"] for group in optimiser.param_groups] == [5e-4]
