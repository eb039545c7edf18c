"""Connect to Milvus, and turn its errors into ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ranklet.runtime.errors import InputError, RemoteError
from ranklet.runtime.extras import hinted

if TYPE_CHECKING:
    from pymilvus import MilvusClient

SECONDS = 10.0  # for a call


def address(uri: str) -> tuple[str, str]:
    """Return what the client connects to, and the collection that the address names, or "".

    Raises:
        InputError: it is no address.

    >>> address("milvus://db:19530/books"), address("milvus://db:19530")
    (('http://db:19530', 'books'), ('http://db:19530', ''))
    >>> address("milvus:///srv/books.db"), address("https://db.example:443")
    (('/srv/books.db', ''), ('https://db.example:443', ''))
    """
    parts = urlsplit(uri)
    if parts.scheme == "milvus" and parts.netloc:
        return f"http://{parts.netloc}", parts.path.strip("/")
    if parts.scheme == "milvus" and parts.path.endswith(".db"):
        return parts.path, ""
    if parts.scheme in ("http", "https") and parts.netloc:
        return uri, ""
    if not parts.scheme and uri.endswith(".db"):
        return uri, ""
    raise InputError(
        f"{uri!r} is no address of Milvus; give milvus://HOST:PORT/COLLECTION, https://HOST:PORT, "
        "or a file that ends in .db for Milvus Lite"
    )


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


@contextmanager
def remote_errors(uri: str) -> Iterator[None]:
    """Turn errors of Milvus into ours.

    Raises:
        RemoteError: a call failed.
    """
    from pymilvus.exceptions import MilvusException

    try:
        yield
    except MilvusException as error:
        raise RemoteError(f"Milvus at {uri!r}: {error.message or error}") from error
    except OSError as error:  # a file of Milvus Lite
        raise RemoteError(f"Milvus at {uri!r}: {error}") from error


def properties(client: "MilvusClient", collection: str) -> dict[str, Any]:
    """Return the properties of a collection."""
    found: dict[str, Any] = client.describe_collection(collection)["properties"]
    return found
