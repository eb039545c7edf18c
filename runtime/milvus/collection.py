"""Search and read a collection that Milvus stores, across restarts and replacements of it.

Milvus's errors become ours.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.query import QueryVector, SparseQuery
from ranklet.runtime.ground.errors import InputError, RemoteError
from ranklet.runtime.ground.extras import hint_packages
from ranklet.runtime.milvus.expressions import EVERYTHING, text
from ranklet.runtime.milvus.names import (
    ABOUT,
    DOCUMENT,
    KEY,
    METADATA,
    PASSAGE,
    STORED,
    TEXT,
    TITLE,
    VERSION,
    digests,
    restored,
    same,
)
from ranklet.runtime.search.texts import Passage
from ranklet.runtime.storage.address import shown

if TYPE_CHECKING:
    from pymilvus import MilvusClient


MOST = 16_384  # entities that Milvus returns for a search
THREADS = 32  # calls at a time

T = TypeVar("T")

# Codes of errors: nobody answers, and Milvus has no such collection.
UNREACHABLE, NOT_FOUND = 2, 100
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0  # seconds between two trials to connect
SECONDS = 10.0  # for a call


class ReplacedError(RemoteError):
    """The collection was replaced while it was searched; the same search now finds the new one."""


class Published(NamedTuple):
    """What a name of a collection means until it is published again.

    Attributes:
        collection: the collection's name without aliases, which changes when it is published again.
        fields: the field of each ranker whose vectors fit the bundle.
        metadata: the type of each field of the metadata.
        titles: whether a document's title is part of its ranked text.
    """

    collection: str
    fields: Mapping[str, str]
    metadata: Mapping[str, str]
    titles: bool


class MilvusCollection:
    """A collection that `ranklet publish` wrote, for a bundle whose models fit it.

    The client connects again by itself, as long as the time for a call allows it.

    Args:
        files: the bundle.
        uri: ``milvus://HOST:PORT/COLLECTION``, ``https://HOST:PORT/COLLECTION``, or a file of
            Milvus Lite and ``#COLLECTION``.
        token: what Milvus asks for, such as ``user:password``.
        seconds: the time limit for a call without a budget.

    Attributes:
        published: what the name means now.
        closed: whether the connection was ended.

    Raises:
        InputError: the address is invalid, or the collection does not belong to the bundle.
        RemoteError: Milvus does not answer, or has no such collection.
        MissingPackageError: the extra [milvus] is not installed.
    """

    def __init__(self, files: BundleFiles, uri: str, *, token: str, seconds: float) -> None:
        self._files, self._seconds, self.closed = files, seconds, False
        self._uri, self._name = address(uri)
        if not self._name:
            raise InputError(
                f"{shown(uri)!r} names no collection; give milvus://HOST:PORT/NAME, or FILE.db#NAME"
            )
        self._client = connect(self._uri, token, seconds)
        self._threads = ThreadPoolExecutor(THREADS, "ranklet-milvus")
        try:
            self.published = self._read(seconds)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the connection."""
        self.closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    def search(
        self,
        ranker: str,
        vector: QueryVector,
        k: int,
        expression: str,
        deadline: Deadline,
        published: Published,
    ) -> list[tuple[Passage, float]]:
        """Return the passages with the largest products with a query's vector, best first.

        Args:
            ranker: the name of the one whose vector it is.
            vector: the query's vector.
            k: how many passages, ≤ `MOST`.
            expression: the filter, "" for none.
            deadline: bounds the call.
            published: what is searched.

        Raises:
            ReplacedError: the collection was replaced; `published` is the new one.
            RemoteError: Milvus did not answer, or not in time.
        """
        data = as_stored(vector)
        if not data:
            return []
        left = deadline.left_ms()
        seconds = self._seconds if left is None else min(self._seconds, max(left, 1.0) / 1e3)
        (answer,) = self._call(
            published,
            self._client.search,
            seconds,
            data=[data],
            anns_field=published.fields[ranker],
            limit=k,
            filter=expression,
            output_fields=list(STORED),
        )
        types = published.metadata
        return [(_passage(each["entity"], types), float(each["distance"])) for each in answer]

    def of_document(self, document_id: str, expression: str, published: Published) -> list[Passage]:
        """Return the passages of a document in their order, or the whole one; [] if it is unknown.

        Raises:
            ReplacedError, RemoteError: as `search`.
        """
        wanted = f"{DOCUMENT} == {text(document_id)}"
        found = self._query(published, _joined(wanted, expression), list(STORED), MOST)
        passages = [_passage(each, published.metadata) for each in found]
        return sorted(passages, key=lambda each: each.passage or 0)

    def count(self, expression: str, published: Published, *, passages: bool = False) -> int:
        """Return the number of documents, or of passages, which is 0 if documents are whole.

        Raises:
            ReplacedError, RemoteError: as `search`.
        """
        kind = f"{PASSAGE} is not null" if passages else f"({PASSAGE} is null or {PASSAGE} == 1)"
        (row,) = self._query(published, _joined(kind, expression), ["count(*)"])
        if passages and row["count(*)"]:  # documents that are whole count as one
            (row,) = self._query(published, expression or EVERYTHING, ["count(*)"])
        return int(row["count(*)"])

    def samples(self, count: int, expression: str, published: Published) -> list[str]:
        """Return titles of some documents, or the beginnings of texts without one.

        Raises:
            ReplacedError, RemoteError: as `search`.
        """
        rows = self._query(published, expression or EVERYTHING, [TITLE, TEXT], count)
        return [str(row[TITLE]) or str(row[TEXT])[:200] for row in rows]

    def _query(
        self, published: Published, expression: str, fields: list[str], limit: int | None = None
    ) -> Sequence[Mapping[str, Any]]:
        options = {} if limit is None else {"limit": limit}
        found: Sequence[Mapping[str, Any]] = self._call(
            published, self._client.query, self._seconds, filter=expression,
            output_fields=fields, **options,
        )  # fmt: skip
        return found

    def _call(
        self, published: Published, method: Callable[..., T], seconds: float, **options: Any
    ) -> T:
        """Call Milvus, and find out whether the collection was replaced if it is gone."""
        try:
            return self._wait_for(method, published.collection, seconds, **options)
        except GoneError as error:
            try:
                self.published = self._read(seconds)
            except InputError as other:
                raise RemoteError(f"the collection was replaced, and {other}") from error
            raise ReplacedError(f"the collection {self._name!r} was replaced") from error

    def _wait_for(
        self, method: Callable[..., T], collection: str, seconds: float, **options: Any
    ) -> T:
        """Call Milvus and wait for at most so many seconds.

        The client bounds a call itself, but not the time in which it connects again.
        """
        end = monotonic() + seconds
        once = partial(method, collection, timeout=seconds, **options)
        call = self._threads.submit(persistent, once, end)
        with remote_errors(self._uri):
            try:
                return call.result(seconds)
            except TimeoutError:
                call.cancel()
                raise RemoteError(
                    f"Milvus at {shown(self._uri)!r} did not answer within {seconds:.3g} s"
                ) from None

    def _read(self, seconds: float) -> Published:
        """Return what the name means now.

        Raises:
            InputError: it means what ranklet did not write, or what does not belong to the bundle.
            RemoteError: Milvus did not answer, or has no such collection.
        """
        from pymilvus.client.types import LoadState

        found = self._wait_for(self._client.describe_collection, self._name, seconds)
        about = _read_about(found["properties"].get(ABOUT), self._name)
        name = found["collection_name"]
        # A file of Milvus Lite forgets that a collection was loaded when its process ends. A server
        # does not, and whoever may only read there may not load.
        if self._wait_for(self._client.get_load_state, name, seconds)["state"] != LoadState.Loaded:
            self._wait_for(self._client.load_collection, name, seconds)
        return Published(name, self._usable(about), about["metadata"], about["titles"])

    def _usable(self, about: Mapping[str, Any]) -> dict[str, str]:
        own = self._files.manifest.rankers
        found = {
            name: field
            for name, field in about["fields"].items()
            if name in own and same(about["digests"].get(name, {}), digests(self._files, name))
        }
        if not found:
            raise InputError(
                f"the collection {self._name!r} does not belong to this bundle: its vectors "
                f"are of {', '.join(about['fields']) or 'no rankers'}, and the bundle has other "
                f"models or another vocabulary ({', '.join(own) or 'no rankers'}); publish the "
                "collection again, or load the bundle that it was published from"
            )
        return found


def _read_about(raw: object, collection: str) -> dict[str, Any]:
    """Return the description that is stored with a collection.

    Raises:
        InputError: `ranklet publish` has not written it, or another version has.
    """
    try:
        about = json.loads(raw) if isinstance(raw, str) else None
    except ValueError:
        about = None
    if not isinstance(about, dict) or not isinstance(about.get("fields"), dict):
        raise InputError(
            f"the collection {collection!r} was not written by `ranklet publish`; publish a bundle "
            "under another name"
        )
    if about.get("version") != VERSION:
        raise InputError(
            f"the collection {collection!r} has version {about.get('version')!r} of what ranklet "
            f"publishes, and this ranklet reads {VERSION}; publish it again"
        )
    return about


def as_stored(vector: QueryVector) -> Any:
    """Return a vector as Milvus takes it; empty if no term has a weight."""
    if not isinstance(vector, SparseQuery):
        return vector.tolist()
    pairs = zip(vector.terms.tolist(), vector.weights.tolist(), strict=True)
    return {term: weight for term, weight in pairs if weight > 0}


def _passage(raw: Mapping[str, Any], types: Mapping[str, str]) -> Passage:
    """Return what Milvus stores of a passage, or of a document that is whole.

    Raises:
        RemoteError: `ranklet publish` has not written it.
    """
    try:
        metadata = raw[METADATA]
        found = json.loads(metadata) if isinstance(metadata, str | bytes) else metadata
        return Passage(
            str(raw[KEY]), str(raw[DOCUMENT]), raw.get(PASSAGE), str(raw[TITLE]), str(raw[TEXT]),
            restored(dict(found or {}), types),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise RemoteError(f"Milvus returned what ranklet did not write: {error}") from error


def _joined(*expressions: str) -> str:
    return " and ".join(f"({each})" for each in expressions if each)


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
    with hint_packages(lambda: "milvus"):
        from pymilvus import MilvusClient
    logging.getLogger("pymilvus.decorators").addFilter(_is_no_error)
    with remote_errors(uri):
        return MilvusClient(uri, token=token, timeout=seconds)


def _is_no_error(record: logging.LogRecord) -> bool:
    """Keep from the log what the client raises, too, because it has a stack and the filter."""
    return record.funcName != "_log_rpc_error"


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
