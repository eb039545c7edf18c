"""The one line that each request leaves in Lambda's log, which is also its metrics."""

import time
import traceback
from collections.abc import Mapping
from typing import Any, NamedTuple

from ranklet.handlers import logs
from ranklet.handlers.api.errors import RequestError, failure
from ranklet.runtime.hits import Timing

NAMESPACE = "ranklet"


class Outcome(NamedTuple):
    """What became of one request.

    Attributes:
        status: as HTTP knows it, whatever the event's shape.
        body: of the answer, or the object that describes the error.
        timings: milliseconds by stage.
        left_out: stages that there was no time for.
        error: what went wrong.
    """

    status: int
    body: Any
    timings: tuple[Timing, ...] = ()
    left_out: tuple[str, ...] = ()
    error: Exception | None = None

    @classmethod
    def of(cls, error: Exception) -> "Outcome":
        """Return the outcome of a request that failed."""
        return cls(*failure(error), error=error)


def log_request(
    outcome: Outcome, seconds: float, *, function: str, cold: bool, **fields: Any
) -> None:
    """Write the line.

    Args:
        outcome: what became of the request.
        seconds: how long it took.
        function: Lambda's name of the function, which the metrics are told apart by.
        cold: the process had answered nothing before.
        fields: of the line, beside.
    """
    status, error = outcome.status, outcome.error
    if error is not None:
        fields["error"] = str(error)
    if status >= 500 and not isinstance(error, RequestError):  # that one was meant
        fields["exception"] = "".join(traceback.format_exception(error))
    metrics = {
        "Duration": (round(seconds * 1e3, 3), "Milliseconds"),
        "ColdStarts": (int(cold), "Count"),
        "ClientErrors": (int(400 <= status < 500), "Count"),
        "Faults": (int(status >= 500), "Count"),
        "LeftOut": (len(outcome.left_out), "Count"),
    }
    logs.write(
        "INFO" if status < 400 else "WARNING" if status < 500 else "ERROR",
        "request",
        cold_start=cold,
        status=status,
        stages={stage: round(ms, 3) for stage, ms in outcome.timings},
        left_out=outcome.left_out,
        **fields,
        **embedded(metrics, {"function": function}),
    )


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
