"""What a server is told by its environment, read once when it starts and never at import."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from ranklet.handlers.api.limits import Limits
from ranklet.runtime.errors import InputError
from ranklet.runtime.onnx.session import threads
from ranklet.runtime.ranking import BUNDLE_VARIABLE


@dataclass(frozen=True)
class ServerSettings:
    """What a server needs to know.

    Attributes:
        bundle: path of the bundle; RANKLET_BUNDLE.
        host: address to listen on; HOST.
        port: PORT, as Cloud Run sets it; 0 lets the system choose.
        workers: processes that share the port; RANKLET_WORKERS.
        api_keys: any one of them opens the door, none leaves it open; RANKLET_API_KEY, with commas
            between several, so that a key can be changed without a gap.
        full_check: compare the sha256 of every file when a bundle is opened; RANKLET_CHECK=full.
        device: where models run: ``auto``, ``cpu``, or ``cuda``, which is not ready where CUDA
            cannot be had; RANKLET_DEVICE.
        threads: that rank; RANKLET_POOL, else as many as there are processors, at least 2.
        queue: requests that may wait for a thread before others are turned away; RANKLET_QUEUE.
        connections: that may be open at once; RANKLET_MAX_CONNECTIONS.
        drain: seconds between SIGTERM and the end, in which readiness is false and requests are
            still answered, so that a load balancer can look away; RANKLET_DRAIN_SECONDS.
        header_seconds: for a request's head to arrive; RANKLET_HEADER_SECONDS.
        project: of Google Cloud, to link log lines with traces; GOOGLE_CLOUD_PROJECT.
        limits: of one request.
    """

    bundle: str
    host: str = "0.0.0.0"  # noqa: S104  # a container's only address
    port: int = 8080
    workers: int = 1
    api_keys: tuple[str, ...] = field(default=(), repr=False)
    full_check: bool = False
    device: str = "auto"
    threads: int = 2
    queue: int = 64
    connections: int = 1000
    drain: int = 2
    header_seconds: int = 10
    project: str = ""
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def from_environment(cls, variables: Mapping[str, str] | None = None) -> "ServerSettings":
        """Read the settings.

        Raises:
            InputError: RANKLET_BUNDLE is missing, or a variable's value cannot be used.
        """
        given = os.environ if variables is None else variables
        if not given.get(BUNDLE_VARIABLE):
            raise InputError(f"no bundle: set {BUNDLE_VARIABLE} to its path")
        check = _choice(given, "RANKLET_CHECK", ("fast", "full"))
        device = _choice(given, "RANKLET_DEVICE", ("auto", "cpu", "cuda"))
        keys = given.get("RANKLET_API_KEY", "").split(",")
        return cls(
            bundle=given[BUNDLE_VARIABLE],
            host=given.get("HOST") or cls.host,
            port=_number(given, "PORT", cls.port, 65_535),
            workers=_number(given, "RANKLET_WORKERS", cls.workers, 1024) or 1,
            api_keys=tuple(key.strip() for key in keys if key.strip()),
            full_check=check == "full",
            device=device,
            threads=_number(given, "RANKLET_POOL", max(2, threads()), 1024) or 1,
            queue=_number(given, "RANKLET_QUEUE", cls.queue, 1 << 20),
            connections=_number(given, "RANKLET_MAX_CONNECTIONS", cls.connections, 1 << 20) or 1,
            drain=_number(given, "RANKLET_DRAIN_SECONDS", cls.drain, 3600),
            header_seconds=_number(given, "RANKLET_HEADER_SECONDS", cls.header_seconds, 3600) or 1,
            project=given.get("GOOGLE_CLOUD_PROJECT", ""),
            limits=Limits.from_variables(given),
        )


def _choice(given: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    """Return a variable's value; the first of what is allowed where it is not set."""
    found = given.get(name) or allowed[0]
    if found not in allowed:
        raise InputError(f"{name} is {found[:40]!r}; allowed are {', '.join(allowed)}")
    return found


def _number(given: Mapping[str, str], name: str, default: int, largest: int) -> int:
    text = given.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or len(text) > 12 or int(text) > largest:
        raise InputError(f"{name} is {text[:40]!r}; it must be a number from 0 to {largest:,}")
    return int(text)
