"""Only PyTorch's own classes are activation functions."""

from pathlib import Path

import pytest
from torch import nn

from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.training.imported.layers import name_activation


class Tanh(nn.Tanh):
    """A class of another library with the same last name."""


def test_other_functions_are_refused() -> None:
    assert name_activation(nn.Identity(), Path("c"), ("identity", "tanh")) == "identity"
    for function in (nn.ReLU(), Tanh()):
        with pytest.raises(ModelFolderError, match=r"supported are Identity, Tanh of torch\.nn"):
            name_activation(function, Path("c"), ("identity", "tanh"))
