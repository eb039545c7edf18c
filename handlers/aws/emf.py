"""CloudWatch's embedded metric format: a JSON log line that says which fields are metrics.

Lambda's log is read by CloudWatch anyway, so a metric costs one line and no call over the network.
"""

import time
from collections.abc import Mapping
from typing import Any

NAMESPACE = "ranklet"


def embedded(
    metrics: Mapping[str, tuple[float, str]], dimensions: Mapping[str, str]
) -> dict[str, Any]:
    """Return the fields of a log line that CloudWatch turns into metrics.

    Args:
        metrics: name → (value, unit), such as ``Milliseconds`` or ``Count``.
        dimensions: what to tell the metrics apart by; each combination is billed as a metric of
            its own, so no request's id belongs here.

    >>> found = embedded({"Duration": (1.5, "Milliseconds")}, {"function": "search"})
    >>> found["Duration"], found["function"], found["_aws"]["CloudWatchMetrics"][0]["Dimensions"]
    (1.5, 'search', [['function']])
    """
    directive = {
        "Namespace": NAMESPACE,
        "Dimensions": [list(dimensions)],
        "Metrics": [{"Name": name, "Unit": unit} for name, (_, unit) in metrics.items()],
    }
    values = {name: value for name, (value, _) in metrics.items()}
    head = {"Timestamp": int(time.time() * 1e3), "CloudWatchMetrics": [directive]}
    return {"_aws": head, **dimensions, **values}
