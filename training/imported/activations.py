"""Recognise the functions that a folder names by the classes of PyTorch."""

from collections.abc import Mapping


def activation_of(path: object, names: Mapping[str, str]) -> str | None:
    """Return our name of an activation function; None if it is unknown.

    Only PyTorch's own classes count, not others with the same last name.

    >>> activation_of("torch.nn.modules.activation.Tanh", {"Tanh": "tanh"})
    'tanh'
    >>> activation_of("other.Tanh", {"Tanh": "tanh"})

    Args:
        path: the dotted path of a class, as sentence-transformers and PyLate write it.
        names: our names by the names of the classes in torch.nn.
    """
    from torch import nn

    for name, ours in names.items():
        if path in (f"torch.nn.{name}", f"{getattr(nn, name).__module__}.{name}"):
            return ours
    return None
