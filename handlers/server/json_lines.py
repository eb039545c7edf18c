"""Send the records of libraries that use `logging` to the stream of the structured logs."""

import logging
from typing import Any

from ranklet.handlers import logs


class JSONLines(logging.Handler):
    """Writes each record as a line of `logs`."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as one line."""
        fields: dict[str, Any] = {"logger": record.name}
        if record.exc_info and record.exc_info[1]:
            fields["exception"] = logs.describe_stack(record.exc_info[1])
        logs.write(record.levelname, record.getMessage(), **fields)
