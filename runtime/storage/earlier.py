"""What earlier versions wrote, in the words of this version."""

from collections.abc import Mapping
from typing import Any

# Of a TK, which was a Conformer-Kernel and had its settings, too.
_OF_TK = ("field", "max_query_terms", "max_document_terms")
EARLIER = ("repbert",)  # kinds that no longer exist
_OF_REPBERT = {"similarity": "dot", "document_segment": 1}
_MEASURED = ("recall", "overlap", "impact_loss", "truncated")


def translated(
    kind: str, settings: Mapping[str, Any]
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return kind, settings and measured values of a ranker that an earlier version wrote.

    Measured values stood among the settings. The architecture of a Conformer-Kernel was called its
    form, and one of the forms was tk. RepBERT was the only dense encoder.

    >>> translated("repbert", {"dimension": 8, "recall": 0.99})
    ('dense', {'similarity': 'dot', 'document_segment': 1, 'dimension': 8}, {'recall': 0.99})
    >>> translated("conformer_kernel", {"form": "ndrm1", "floor": 0.5})
    ('conformer_kernel', {'floor': 0.5, 'architecture': 'ndrm1'}, {})
    >>> translated("conformer_kernel", {"form": "tk", "scorer": "onnx", "truncated": 3})
    ('tk', {}, {'truncated': 3})
    """
    measured = {name: settings[name] for name in _MEASURED if name in settings}
    chosen = {name: value for name, value in settings.items() if name not in measured}
    if kind == "repbert":
        return "dense", {**_OF_REPBERT, **chosen}, measured
    if kind == "conformer_kernel" and "form" in chosen:
        form = chosen.pop("form")
        if form == "tk":
            measured = {name: value for name, value in measured.items() if name == "truncated"}
            return "tk", {name: chosen[name] for name in _OF_TK if name in chosen}, measured
        chosen["architecture"] = form
    return kind, chosen, measured


def translated_network(network: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config.json of an earlier checkpoint; others are returned as they are.

    >>> earlier = {"architectures": ["ConformerKernel"], "form": "tk", "attention": None}
    >>> translated_network(earlier)["attention"]
    'full'
    """
    if network.get("architectures") != ["ConformerKernel"] or "form" not in network:
        return dict(network)
    form = network["form"]
    attention = network["attention"] or ("full" if form == "tk" else "separable")
    return {**network, "architecture": form, "attention": attention}
