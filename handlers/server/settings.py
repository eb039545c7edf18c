"""The settings of a server, read from environment variables when it starts and never at import."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ranklet.handlers.api.limits import Limits, whole_number
from ranklet.handlers.playground.look import LOOK, Look
from ranklet.handlers.server.hosts import read_hosts
from ranklet.handlers.server.keys import Filter, read_filters, read_keys
from ranklet.handlers.server.origins import read_origins
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import DEVICES, check_one_of
from ranklet.runtime.ground.variables import Variable
from ranklet.runtime.onnx.session import processors, threads
from ranklet.runtime.storage.address import is_address

_PREFIX = re.compile(r"(/[\w.~-]+)+", re.ASCII)
MOST_WORKERS = 8  # unless a variable says otherwise
NVIDIA = Path("/dev/nvidiactl")  # the driver's, where a process can use a GPU


@dataclass(frozen=True)
class ServerSettings:
    """The settings of a server. The variable that sets each one stands in parentheses.

    Attributes:
        bundle: the path of the bundle (RANKLET_BUNDLE).
        host: the address to listen on (HOST).
        hosts: names that the server answers to, see `Hosts` (RANKLET_HOSTS, separated by commas).
        origins: sites whose pages may ask, see `Origins` (RANKLET_ORIGINS, separated by commas).
        port: the port; 0 lets the system choose (PORT, which Cloud Run sets).
        workers: the number of processes that share the port (RANKLET_WORKERS; by default one per
            processor, or per RANKLET_THREADS of them, and one where models may run on a GPU).
        api_keys: a request needs one of these; none are needed if this is empty (RANKLET_API_KEY,
            separated by commas, so that a key can be replaced without a gap).
        key_filters: further keys, each with the filter by metadata that says which documents it
            opens (RANKLET_API_KEY_FILTERS, a JSON object).
        write_keys: keys that may add and delete documents; those that are none of the others open
            the whole bundle (RANKLET_WRITE_KEYS, separated by commas).
        key_requests: the requests of a key that may be unanswered at a time, 0 for any number
            (RANKLET_KEY_REQUESTS; by default half of what all processes hold, or 0 for one key).
        key_per_minute: the requests that a key may send in a minute, 0 for any number
            (RANKLET_KEY_PER_MINUTE).
        full_check: compare the sha256 of every file when a bundle is opened (RANKLET_CHECK=full).
        device: where models run: ``auto``, ``cpu``, or ``cuda``, with which the server is not ready
            if CUDA is missing (RANKLET_DEVICE).
        threads: the number of threads that rank (RANKLET_POOL; by default one per processor, at
            least 2).
        queue: how many requests may wait for a thread before others are refused (RANKLET_QUEUE).
        connections: how many connections may be open (RANKLET_MAX_CONNECTIONS).
        bodies_bytes: the bytes that the bodies of all requests may have together, in all processes
            (RANKLET_MAX_BODIES_BYTES; by default 64 MiB, or one body if that is more).
        drain: seconds between SIGTERM and the end. Readiness is false meanwhile and requests are
            still answered, so that a load balancer can turn away (RANKLET_DRAIN_SECONDS).
        header_seconds: the time for a request's head to arrive (RANKLET_HEADER_SECONDS).
        project: the Google Cloud project whose traces log lines refer to (GOOGLE_CLOUD_PROJECT).
        limits: the limits of one request (RANKLET_MAX_…).
        collection: the address of a collection in Milvus that is ranked in place of the bundle's
            own; "" for the bundle's own (RANKLET_COLLECTION).
        look: the page (RANKLET_TITLE and others, see `Look`).
        prefix: what the paths of requests begin with where a proxy does not take it away, such as
            ``/search``; "" for nothing (RANKLET_PREFIX).
    """

    bundle: str
    host: str = "0.0.0.0"  # noqa: S104  # a container has no other address
    port: int = 8080
    workers: int = 1
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    api_keys: tuple[str, ...] = field(default=(), repr=False)
    key_filters: Mapping[str, Filter] = field(default_factory=dict, repr=False)
    write_keys: tuple[str, ...] = field(default=(), repr=False)
    key_requests: int = 0
    key_per_minute: int = 0
    full_check: bool = False
    device: str = "auto"
    threads: int = 2
    queue: int = 64
    connections: int = 1000
    bodies_bytes: int = 64 << 20
    drain: int = 2
    header_seconds: int = 10
    project: str = ""
    limits: Limits = field(default_factory=Limits)
    collection: str = ""
    look: Look = LOOK
    prefix: str = ""

    @classmethod
    def from_environment(cls, variables: Mapping[str, str] | None = None) -> "ServerSettings":
        """Read the settings from variables, by default those of the process.

        Raises:
            InputError: RANKLET_BUNDLE is missing, or a variable's value cannot be used.
        """
        variables = os.environ if variables is None else variables
        limits = Limits.from_variables(variables)
        if Variable.BUNDLE not in variables:
            raise InputError(f"no bundle: set {Variable.BUNDLE} to its path")
        host = variables.get("HOST", cls.host)
        if not host.strip():
            raise InputError("HOST or --host is blank; give an address such as 127.0.0.1")
        keys = read_keys(variables)
        filters = read_filters(variables.get(Variable.API_KEY_FILTERS, ""), keys)
        writers = read_keys(variables, Variable.WRITE_KEYS)
        if writers and (
            is_address(variables[Variable.BUNDLE]) or variables.get(Variable.COLLECTION)
        ):
            raise InputError(
                f"{Variable.WRITE_KEYS} is set, but only a bundle on a disk of this machine can be "
                "written to; download it, or do not set the variable"
            )
        number = partial(whole_number, variables)
        workers = number(Variable.WORKERS, _workers(variables), 1, 1024)
        pool = number(Variable.POOL, max(2, threads()), 1, 1024)
        queue = number(Variable.QUEUE, cls.queue, 0, 1 << 20)
        several = len(keys) + len(filters) > 1
        if not (keys or filters):
            for name in (Variable.KEY_REQUESTS, Variable.KEY_PER_MINUTE):
                if name in variables:
                    raise InputError(f"{name} is set, but there is no API key; set RANKLET_API_KEY")
        body = limits.body_bytes
        return cls(
            bundle=variables[Variable.BUNDLE],
            collection=variables.get(Variable.COLLECTION, ""),
            host=host,
            hosts=read_hosts(variables.get(Variable.HOSTS, "")),
            origins=read_origins(variables.get(Variable.ORIGINS, "")),
            port=number("PORT", cls.port, 0, 65_535),
            workers=workers,
            api_keys=keys,
            key_filters=filters,
            write_keys=writers,
            key_requests=number(
                Variable.KEY_REQUESTS, max(1, workers * (pool + queue) // 2) * several, 0, 1 << 20
            ),
            key_per_minute=number(Variable.KEY_PER_MINUTE, 0, 0, 1 << 30),
            full_check=_choice(variables, Variable.CHECK, ("fast", "full")) == "full",
            device=_choice(variables, Variable.DEVICE, DEVICES),
            threads=pool,
            queue=queue,
            connections=number(Variable.MAX_CONNECTIONS, cls.connections, 1, 1 << 20),
            bodies_bytes=number(
                Variable.MAX_BODIES_BYTES, max(body, cls.bodies_bytes), body, 1 << 40
            ),
            drain=number(Variable.DRAIN_SECONDS, cls.drain, 0, 3600),
            header_seconds=number(Variable.HEADER_SECONDS, cls.header_seconds, 1, 3600),
            project=variables.get("GOOGLE_CLOUD_PROJECT", ""),
            limits=limits,
            look=Look.from_variables(variables),
            prefix=_prefix(variables.get(Variable.PREFIX, "")),
        )


def _prefix(text: str) -> str:
    """Return a prefix of paths without the slash at its end."""
    prefix = text.rstrip("/")
    if text and not _PREFIX.fullmatch(prefix):
        raise InputError(
            f"{Variable.PREFIX} is {text[:80]!r}; give the path that the proxy leads here, such as "
            "/search"
        )
    return prefix


def _workers(variables: Mapping[str, str]) -> int:
    """Return how many processes share the work where nobody has said so.

    Each has models of its own, so there are no more than `MOST_WORKERS`, and one on a GPU.
    """
    device = variables.get(Variable.DEVICE, "auto")
    if device == "cuda" or (device == "auto" and NVIDIA.exists()):
        return 1
    per_worker = whole_number(variables, Variable.THREADS, 1, 1, 1024)
    return max(1, min(MOST_WORKERS, processors() // per_worker))


def _choice(variables: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    """Return the value of a variable, or the first of the allowed ones if it is not set."""
    value = variables.get(name, allowed[0])
    check_one_of(name, value, allowed)
    return value
