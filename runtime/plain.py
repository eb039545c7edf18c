"""Metadata as JSON values."""

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranklet.runtime.bundles.manifest import Value


def plain_value(value: object) -> Any:
    """Return a value, or a date as an ISO 8601 string."""
    return value.isoformat() if isinstance(value, date) else value


def plain(metadata: "Mapping[str, Value]") -> dict[str, Any]:
    """Return metadata as JSON values, where dates are ISO 8601 strings.

    >>> plain({"day": date(2024, 5, 31), "year": 2024})
    {'day': '2024-05-31', 'year': 2024}
    """
    return {name: plain_value(value) for name, value in metadata.items()}
