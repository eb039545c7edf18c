"""What earlier versions wrote, in the words of this version."""

from collections.abc import Mapping
from typing import Any

# Settings of a TK that earlier versions wrote among those of a Conformer-Kernel.
_OF_TK = ("field", "max_query_terms", "max_document_terms", "truncated")


def translated(kind: str, settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the kind and the settings of a ranker that was written as format version 1.

    The architecture of a Conformer-Kernel was its `form`, and one of its forms was tk.

    >>> translated("conformer_kernel", {"form": "ndrm1", "floor": 0.5})
    ('conformer_kernel', {'floor': 0.5, 'architecture': 'ndrm1'})
    >>> translated("conformer_kernel", {"form": "tk", "scorer": "onnx", "field": "words"})
    ('tk', {'field': 'words'})
    """
    if kind != "conformer_kernel" or "form" not in settings:
        return kind, dict(settings)
    if settings["form"] == "tk":
        return "tk", {name: settings[name] for name in _OF_TK if name in settings}
    renamed = {name: value for name, value in settings.items() if name != "form"}
    return kind, {**renamed, "architecture": settings["form"]}
