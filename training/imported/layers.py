"""Read the layers after a transformer as a folder describes them, and their weights."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from ranklet.runtime.errors import ModelFolderError
from ranklet.training.imported.folder import CONFIG, Module

LAYERS = "ranklet_layers"  # key in config.json: the layers after the pooling, in order
# By name: the functions that a layer can end with.
ACTIVATIONS: Mapping[str, type[nn.Module]] = {
    "identity": nn.Identity, "tanh": nn.Tanh, "relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU,
    "sigmoid": nn.Sigmoid, "softmax": nn.Softmax,
}  # fmt: skip


def activation_of(path: object, place: Path, names: tuple[str, ...] = tuple(ACTIVATIONS)) -> str:
    """Return our name of an activation function, one of `ACTIVATIONS`.

    Only PyTorch's own classes count, not others with the same last name.

    >>> activation_of("torch.nn.modules.activation.Tanh", Path("config.json"))
    'tanh'

    Args:
        path: the dotted path of a class, as sentence-transformers and PyLate write it.
        place: the file or folder that names it, for the message.
        names: what is supported there.

    Raises:
        ModelFolderError: it is none of these.
    """
    kinds = {name: ACTIVATIONS[name] for name in names}
    for name, kind in kinds.items():
        if path in (f"torch.nn.{kind.__name__}", f"{kind.__module__}.{kind.__name__}"):
            return name
    raise ModelFolderError(
        f"{str(place)!r} has the activation function {path!r}; supported are "
        f"{', '.join(kind.__name__ for kind in kinds.values())} of torch.nn"
    )


def linear_layer(module: Module, default: str) -> dict[str, Any]:
    """Return the sizes, bias and activation of a linear layer as config.json has them.

    Args:
        module: the layer.
        default: the name in torch.nn of its activation function, if it does not have any.

    Raises:
        ModelFolderError: a size is missing, or the activation function is not supported.
    """
    config, place = module.config, module.folder / CONFIG
    try:
        sizes = {"in": config["in_features"], "out": config["out_features"]}
    except KeyError as error:
        raise ModelFolderError(f"{str(place)!r}: {error} is missing") from None
    path = config.get("activation_function", f"torch.nn.{default}")
    return {**sizes, "bias": config.get("bias", True), "activation": activation_of(path, place)}


def load_layer(layer: nn.Module, weights: Mapping[str, Tensor], folder: Path) -> None:
    """Put the weights of a folder into a layer, in place.

    Raises:
        ModelFolderError: they do not fit.
    """
    try:
        layer.load_state_dict(dict(weights))
    except RuntimeError as error:
        why = " ".join(str(error).split())
        raise ModelFolderError(f"the weights in {str(folder)!r} do not fit: {why}") from None
