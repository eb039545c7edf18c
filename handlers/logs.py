"""Structured logs: one JSON object a line on standard output, as Cloud Run and Lambda read them."""

import contextlib
import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

# Where Google's logging looks for the trace that a line belongs to.
TRACE = "logging.googleapis.com/trace"


def write(severity: str, message: str, **fields: Any) -> None:
    """Write one line."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    line = {"severity": severity, "time": now, "message": message, **fields}
    text = json.dumps(line, ensure_ascii=False, default=str)
    with contextlib.suppress(OSError, ValueError):  # a reader that went away must not stop answers
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
        sys.stdout.buffer.flush()


class JSONLines(logging.Handler):
    """Carries warnings of libraries, which use :mod:`logging`, into the same stream."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as one line."""
        fields: dict[str, Any] = {"logger": record.name}
        if record.exc_info:
            fields["exception"] = logging.Formatter().formatException(record.exc_info)
        write(record.levelname, record.getMessage(), **fields)
