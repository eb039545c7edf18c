"""PyTorch in place of a session."""

import numpy as np
import torch

from ranklet.export.onnx.graph import TorchSession


class Doubled(torch.nn.Module):
    def forward(self, left: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return 2.0 * left, right


def test_pytorch_takes_the_feeds_by_position_and_keeps_them() -> None:
    session = TorchSession(Doubled())
    fed = [{"a": np.array([[at]]), "b": np.array([[7]])} for at in range(3)]
    outputs = [session.run("the first", feeds) for feeds in fed]
    assert np.concatenate(outputs).tolist() == [[0.0], [2.0], [4.0]]
    assert session.feeds == fed
