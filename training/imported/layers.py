"""Read the layers after a transformer out of modules of sentence-transformers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from ranklet.runtime.ground.errors import ModelFolderError

LAYERS = "ranklet_layers"  # key in config.json: the layers after the pooling, in order
# By name: the functions that a layer can end with.
ACTIVATIONS: Mapping[str, type[nn.Module]] = {
    "identity": nn.Identity, "tanh": nn.Tanh, "relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU,
    "sigmoid": nn.Sigmoid, "softmax": nn.Softmax,
}  # fmt: skip


def name_activation(
    function: nn.Module, path: Path, names: tuple[str, ...] = tuple(ACTIVATIONS)
) -> str:
    """Return our name of an activation function, one of `ACTIVATIONS`.

    >>> name_activation(nn.Tanh(), Path("model"))
    'tanh'

    Args:
        function: of a module.
        path: the model's folder, for the message.
        names: what is supported there.

    Raises:
        ModelFolderError: it is none of these.
    """
    kinds = {ACTIVATIONS[name]: name for name in names}
    if type(function) not in kinds:
        raise ModelFolderError(
            f"{str(path)!r} has the activation function {type(function).__name__}; supported are "
            f"{', '.join(kind.__name__ for kind in kinds)} of torch.nn"
        )
    return kinds[type(function)]


def linear_layer(module: Any, path: Path, reads: str) -> dict[str, Any]:
    """Return the sizes, bias and activation of a linear layer as config.json has them.

    Args:
        module: a Dense of sentence-transformers.
        path: the model's folder, for messages.
        reads: the name of what it must read and write.

    Raises:
        ModelFolderError: it reads or writes something else, or its activation is not supported.
    """
    if {module.module_input_name, module.module_output_name} != {reads}:
        raise ModelFolderError(
            f"{str(path)!r} has a Dense from {module.module_input_name} to "
            f"{module.module_output_name}; supported are layers over {reads}"
        )
    linear = module.linear
    return {
        "in": linear.in_features, "out": linear.out_features, "bias": linear.bias is not None,
        "activation": name_activation(module.activation_function, path),
    }  # fmt: skip
