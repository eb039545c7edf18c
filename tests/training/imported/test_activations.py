"""Only PyTorch's own classes are activation functions."""

import pytest

from ranklet.training.imported.activations import activation_of

NAMES = {"Identity": "identity", "Tanh": "tanh"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("torch.nn.Tanh", "tanh"),
        ("torch.nn.modules.activation.Tanh", "tanh"),
        ("torch.nn.modules.linear.Identity", "identity"),
        ("torch.nn.ReLU", None),
        ("evil.Tanh", None),
        ("torch.evil.Tanh", None),
        ("Tanh", None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_a_function_is_known_by_its_full_path(path: object, expected: str | None) -> None:
    assert activation_of(path, NAMES) == expected
