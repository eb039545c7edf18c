import math

import numpy as np
import torch

from ranklet.training.rankers.tk.network import positions


def test_positions_by_hand() -> None:
    found = positions(3, 4, torch.zeros(1))
    expected = [
        [math.sin(at), math.cos(at), math.sin(at / 100), math.cos(at / 100)] for at in range(3)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-6)
