"""Only PyTorch's own classes are activation functions."""

from pathlib import Path

import pytest

from ranklet.runtime.errors import ModelFolderError
from ranklet.training.imported.layers import activation_of


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("torch.nn.Tanh", "tanh"),
        ("torch.nn.modules.activation.Tanh", "tanh"),
        ("torch.nn.modules.linear.Identity", "identity"),
    ],
)
def test_a_function_is_known_by_its_full_path(path: str, expected: str) -> None:
    assert activation_of(path, Path("c"), ("identity", "tanh")) == expected


@pytest.mark.parametrize(
    "path", ["torch.nn.ReLU", "evil.Tanh", "torch.evil.Tanh", "Tanh", "", None, 7]
)
def test_other_functions_are_refused(path: object) -> None:
    with pytest.raises(ModelFolderError, match=r"supported are Identity, Tanh of torch\.nn"):
        activation_of(path, Path("c"), ("identity", "tanh"))
