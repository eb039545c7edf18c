"""Write structured logs, one JSON object per line on standard output, for Cloud Run and Lambda.

No line has what a request asked, which may be personal, or the signature of an address.
"""

import contextlib
import json
import re
import sys
from datetime import UTC, datetime
from typing import Any

from ranklet.runtime.ground.errors import BundleError, RemoteError
from ranklet.runtime.storage.address import hide_secrets

# The field in which Google Cloud's logging expects the trace of a line.
TRACE = "logging.googleapis.com/trace"
# Errors whose messages are of files and other systems. Those of others may quote a request.
_OF_NO_REQUEST = (OSError, MemoryError, BundleError, RemoteError)
_MOST_CAUSES = 10
_NO_ASCII = re.compile(r"[^ -~]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)


def write(severity: str, message: str, **fields: Any) -> None:
    """Write one line."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    line = {"severity": severity, "time": now, "message": message, **fields}
    text = _NO_ASCII.sub(_escaped, hide_secrets(_ENCODER.encode(line)))
    # The log's reader may be gone, or there never was one; answers go on.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.buffer.write(text.encode() + b"\n")
        sys.stdout.buffer.flush()


def _escaped(match: re.Match[str]) -> str:
    """Return a character that can be seen as it is, and any other as JSON's escape.

    A terminal obeys some of the others, and some turn the order of a line around.
    """
    return match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1]


def describe_stack(error: BaseException) -> str:
    """Return where an error and its causes were raised, and messages that quote no request."""
    import traceback  # takes long, and few requests fail

    parts: list[str] = []
    found: BaseException | None = error
    while found is not None and len(parts) < _MOST_CAUSES:
        message = f": {found}" if isinstance(found, _OF_NO_REQUEST) else ""
        frames = "".join(traceback.format_tb(found.__traceback__))
        parts.append(f"{frames}{type(found).__module__}.{type(found).__qualname__}{message}\n")
        hidden = None if found.__suppress_context__ else found.__context__
        found = found.__cause__ or hidden
    return "\nbecause of\n".join(parts)
