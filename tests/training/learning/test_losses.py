import math

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from ranklet.training.learning.losses import pointwise_loss, ranknet_loss


def test_pointwise_loss_is_cross_entropy_over_two_classes() -> None:
    positive, negative = torch.tensor([[1.5], [-2.0]]), torch.tensor([[0.3, -1.0], [60.0, -60.0]])
    scores = torch.cat([positive.flatten(), negative.flatten()])
    labels = torch.tensor([1.0, 1, 0, 0, 0, 0])
    found = pointwise_loss(positive, negative).item()
    assert found == pytest.approx(binary_cross_entropy_with_logits(scores, labels).item())
    two = torch.stack([torch.zeros_like(scores), scores], dim=1)
    assert found == pytest.approx(cross_entropy(two, labels.long()).item())


def test_ranknet_by_hand() -> None:
    better, worse = torch.tensor([2.0, 0.0]), torch.tensor([1.0, 0.5])
    by_hand = [-math.log(1 / (1 + math.exp(-gap))) for gap in (1.0, -0.5)]
    assert ranknet_loss(better, worse).item() == pytest.approx(np.mean(by_hand))
