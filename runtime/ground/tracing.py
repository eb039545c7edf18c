"""Spans of OpenTelemetry for rankings and requests, only if RANKLET_TRACES asks for them.

The program that runs ranklet decides where spans go, as `opentelemetry-instrument` does. A span has
no query and no text, because they may be personal.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from time import time_ns
from typing import Any

from ranklet.runtime.ground.variables import Variable

_NANOSECONDS = 1_000_000  # per millisecond


@cache
def tracer() -> Any:
    """Return the tracer of OpenTelemetry; None if RANKLET_TRACES is not set.

    Raises:
        MissingPackageError: traces are wanted, and the package is not installed.
    """
    if os.environ.get(Variable.TRACES, "").lower() in ("", "0", "false", "no", "off"):
        return None
    from ranklet.runtime.ground.extras import hint_packages

    with hint_packages():
        from opentelemetry import trace
    if type(trace.get_tracer_provider()).__name__ == "ProxyTracerProvider":
        import logging

        logging.getLogger("ranklet.tracing").warning(
            "%s is set, but spans go nowhere, because this program has no tracer provider; start "
            "it by opentelemetry-instrument, or set one up before the first query", Variable.TRACES,
        )  # fmt: skip
    return trace.get_tracer("ranklet")


def record(name: str, stages: Sequence[tuple[str, float]], **attributes: str | int | float) -> None:
    """Record a span that ends now, and below it one per stage.

    Args:
        name: of the span.
        stages: what was done and how many milliseconds each took, one after another.
        attributes: of the span, by their names after ``ranklet.``.
    """
    if (own := tracer()) is None:
        return
    from opentelemetry import trace

    end = time_ns()
    at = end - round(sum(ms for _, ms in stages) * _NANOSECONDS)
    named = {f"ranklet.{key}": value for key, value in attributes.items()}
    span = own.start_span(name, start_time=at, attributes=named)
    below = trace.set_span_in_context(span)
    for stage, ms in stages:
        part = own.start_span(stage, context=below, start_time=at)
        at += round(ms * _NANOSECONDS)
        part.end(at)
    span.end(end)


@contextmanager
def request_span(name: str, headers: Mapping[str, str]) -> Iterator[Any]:
    """Give the span of a request, below the one that its W3C trace headers name; None without one.

    Args:
        name: the method and the route.
        headers: those of the request.
    """
    if (own := tracer()) is None:
        yield None
        return
    from opentelemetry import propagate, trace

    kind, above = trace.SpanKind.SERVER, propagate.extract(headers)
    with own.start_as_current_span(name, context=above, kind=kind) as span:
        yield span


def trace_end(span: Any, status: int) -> None:
    """Say with which HTTP status the span of a request ends; from 500 on it has failed."""
    from opentelemetry.trace import StatusCode

    span.set_attribute("http.response.status_code", status)
    if status >= 500:
        span.set_status(StatusCode.ERROR)
