"""Write structured logs, one JSON object per line on standard output, for Cloud Run and Lambda."""

import contextlib
import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

# The field in which Google Cloud's logging expects the trace of a line.
TRACE = "logging.googleapis.com/trace"
_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)


def write(severity: str, message: str, **fields: Any) -> None:
    """Write one line."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    line = {"severity": severity, "time": now, "message": message, **fields}
    text = _ENCODER.encode(line)
    with contextlib.suppress(OSError, ValueError):  # the log's reader may be gone; answers go on
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
        sys.stdout.buffer.flush()


class JSONLines(logging.Handler):
    """Send the records of libraries that use `logging` to the same stream."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as one line."""
        fields: dict[str, Any] = {"logger": record.name}
        if record.exc_info:
            fields["exception"] = logging.Formatter().formatException(record.exc_info)
        write(record.levelname, record.getMessage(), **fields)
