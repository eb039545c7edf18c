"""What came of a request to the Lambda function, and the log's line about it."""

import time
from typing import Any, NamedTuple

from ranklet.handlers import logs
from ranklet.handlers.api.errors import RequestError, failure
from ranklet.runtime.hits import Timing


class Outcome(NamedTuple):
    """The outcome of one request.

    Attributes:
        status: the HTTP status, whatever the event's shape.
        body: the answer, or the object that describes the error.
        timings: milliseconds per stage.
        left_out: the stages that the budget left no time for.
        error: the error, if the request failed.
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
    """Write the line of one request, the first one of its process if it was cold.

    The line has CloudWatch's embedded metric format. CloudWatch reads Lambda's log anyway, so a
    metric costs no call over the network. Metrics are kept per `function`, Lambda's name of it.
    The line also has the further `fields`.
    """
    status, error = outcome.status, outcome.error
    if error is not None:  # only the caller is told what is wrong with the request
        fields["error_type"] = outcome.body["error_type"]
        if status >= 500 and isinstance(error, RequestError):  # raised on purpose
            fields["error"] = str(error)
        elif status >= 500:
            fields["exception"] = logs.describe_stack(error)
    metrics = {
        "Duration": (round(seconds * 1e3, 3), "Milliseconds"),
        "ColdStarts": (int(cold), "Count"),
        "ClientErrors": (int(400 <= status < 500), "Count"),
        "Faults": (int(status >= 500), "Count"),
        "LeftOut": (len(outcome.left_out), "Count"),
    }
    # Every value of a dimension is billed as further metrics, so the request's id must not be one.
    directive = {
        "Namespace": "ranklet",
        "Dimensions": [["function"]],
        "Metrics": [{"Name": name, "Unit": unit} for name, (_, unit) in metrics.items()],
    }
    logs.write(
        "INFO" if status < 400 else "WARNING" if status < 500 else "ERROR",
        "request",
        cold_start=cold,
        status=status,
        stages={stage: round(ms, 3) for stage, ms in outcome.timings},
        left_out=outcome.left_out,
        **fields,
        _aws={"Timestamp": int(time.time() * 1e3), "CloudWatchMetrics": [directive]},
        function=function,
        **{name: value for name, (value, _) in metrics.items()},
    )
