"""PyTorch in place of a session, and what is traced and fused."""

from pathlib import Path

import numpy as np
import pytest
import torch

from ranklet.export.onnx.graph import TorchSession, Transformer, export_graph


class Doubled(torch.nn.Module):
    def forward(self, left: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return 2.0 * left, right


def test_pytorch_takes_the_feeds_by_position_and_keeps_them() -> None:
    session = TorchSession(Doubled())
    fed = [{"a": np.array([[at]]), "b": np.array([[7]])} for at in range(3)]
    outputs = [session.run("the first", feeds) for feeds in fed]
    assert np.concatenate(outputs).tolist() == [[0.0], [2.0], [4.0]]
    assert session.feeds == fed


class Transformed(torch.nn.Module):
    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        real: torch.Tensor = torch.fft.fftn(input_ids.float()).real
        return real


def test_an_operator_that_cannot_be_exported_prints_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    example = {"input_ids": torch.ones((2, 8), dtype=torch.int64)}
    with pytest.raises(Exception, match="fft_fftn"):
        export_graph(Transformed(), example, "vectors", tmp_path / "model.onnx")
    assert capfd.readouterr() == ("", "")


def test_a_network_without_attention_has_none_to_fuse() -> None:
    assert Transformer.of({"model_type": "fnet"}) is None
    small = {"model_type": "t5", "d_model": 32, "num_layers": 2, "num_heads": 4}
    assert Transformer.of(small) == Transformer(heads=4, hidden=32, layers=2)
