"""Connect to Milvus, and turn its errors into ours."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from ranklet.runtime.errors import InputError, RemoteError
from ranklet.runtime.extras import hinted
from ranklet.runtime.storage.address import shown

if TYPE_CHECKING:
    from pymilvus import MilvusClient

# Codes of errors: nobody answers, and Milvus has no such collection.
UNREACHABLE, NOT_FOUND = 2, 100
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0  # seconds between two trials to connect
SECONDS = 10.0  # for a call
TOKEN_VARIABLE = "RANKLET_MILVUS_TOKEN"  # noqa: S105  # the name of a variable

T = TypeVar("T")


class GoneError(RemoteError):
    """Milvus has no such collection."""


def address(uri: str) -> tuple[str, str]:
    """Return what the client connects to, and the collection that the address names, or "".

    Raises:
        InputError: it is no address.

    >>> address("milvus://db:19530/books"), address("milvus://db:19530")
    (('http://db:19530', 'books'), ('http://db:19530', ''))
    >>> address("https://db.example:443/books"), address("milvus:///srv/books.db#novels")
    (('https://db.example:443', 'books'), ('/srv/books.db', 'novels'))
    """
    parts = urlsplit(uri)
    if parts.scheme in ("milvus", "http", "https") and parts.netloc:
        scheme = "http" if parts.scheme == "milvus" else parts.scheme
        return f"{scheme}://{parts.netloc}", parts.path.strip("/")
    if parts.scheme in ("milvus", "") and parts.path.endswith(".db"):
        return parts.path, parts.fragment
    raise InputError(
        f"{shown(uri)!r} is no address of Milvus; give milvus://HOST:PORT/NAME, "
        "https://HOST:PORT/NAME, or FILE.db#NAME for Milvus Lite"
    )


def located(uri: str) -> str:
    """Return an address that means the same in every folder, as a file of Milvus Lite has a path.

    >>> located("milvus://db:19530/books"), located("/srv/books.db#novels")
    ('milvus://db:19530/books', '/srv/books.db#novels')
    """
    if urlsplit(uri).netloc or not urlsplit(uri).path.endswith(".db"):
        return uri
    place, name = address(uri)
    return f"{Path(place).absolute()}{'#' if name else ''}{name}"


def connect(uri: str, token: str = "", seconds: float = SECONDS) -> "MilvusClient":
    """Return a client.

    Raises:
        MissingPackageError: the extra [milvus] is not installed.
        RemoteError: nobody answers.
    """
    with hinted(lambda: "milvus"):
        from pymilvus import MilvusClient
    with remote_errors(uri):
        return MilvusClient(uri, token=token, timeout=seconds)


def persistent(call: Callable[[], T], end: float) -> T:
    """Return the result of a call; call again while nobody answers at Milvus's address.

    Args:
        call: the call, which may be repeated, as a search may.
        end: the time after which it is not tried again, as `monotonic` counts.
    """
    from pymilvus.exceptions import MilvusException

    pause = FIRST_PAUSE
    while True:
        try:
            return call()
        except MilvusException as error:
            if error.code != UNREACHABLE or monotonic() + pause > end:
                raise
        sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


@contextmanager
def remote_errors(uri: str) -> Iterator[None]:
    """Turn errors of Milvus into ours.

    Raises:
        GoneError: there is no such collection.
        RemoteError: a call failed.
    """
    from grpc import Call, RpcError
    from pymilvus.exceptions import MilvusException

    try:
        yield
    except MilvusException as error:
        if error.code == NOT_FOUND:
            raise GoneError(f"Milvus at {shown(uri)!r}: {error.message or error}") from error
        raise RemoteError(f"Milvus at {shown(uri)!r}: {error.message or error}") from error
    except RpcError as error:  # the client passes some on, such as a time that is over
        reason = error.details() if isinstance(error, Call) else str(error)
        raise RemoteError(f"Milvus at {shown(uri)!r}: {reason}") from error
    except OSError as error:  # a file of Milvus Lite
        raise RemoteError(f"Milvus at {shown(uri)!r}: {error}") from error
