"""Let a server encode queries, in the form of OpenAI's embeddings.

It is asked in a thread, so that no slow answer takes longer than the time limit. Nothing that it
sends comes into a message, and nor does the key.
"""

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.asks import as_vector
from ranklet.runtime.ground.errors import InputError, NoVectorError
from ranklet.runtime.ground.variables import Variable
from ranklet.runtime.storage.address import shown

KEPT = 512  # queries whose vectors are kept
MS, MOST_MS = 1000.0, 60_000.0  # the time limit, and the longest
_PATH = "/v1/embeddings"  # of an address without a path
_MOST_BYTES = 1 << 24  # of an answer


class QueryEndpoint:
    """A server that encodes queries; shared by all threads.

    Args:
        url: its address, ``http://`` or ``https://``.
        model: the name of the model, which it is asked for; "" for none.
        dimension: of the vectors.
        key: what it asks for, as a bearer token; "" for nothing.
        ms: the time limit of a query.

    Raises:
        InputError: the address is none.
    """

    def __init__(self, url: str, model: str, dimension: int, key: str = "", ms: float = MS) -> None:
        self._url, self._model, self._dimension = check_endpoint(url), model, dimension
        self._key, self._seconds = key, ms / 1000
        self._late = f"did not answer within {ms:,.0f} ms"
        self.encode = lru_cache(KEPT)(self._encode)
        """Return the vector of a query, (dimension,) float32; recent ones are kept.

        Raises:
            NoVectorError: the server did not answer in time, or not with such a vector.
        """

    def _encode(self, query: str) -> NDArray[np.float32]:
        done = SimpleQueue[NDArray[np.float32] | str]()
        Thread(target=lambda: done.put(self._asked(query)), daemon=True, name="endpoint").start()
        try:
            found = done.get(timeout=self._seconds)
        except Empty:
            found = self._late
        if isinstance(found, str):
            raise NoVectorError(f"the endpoint {shown(self._url)} {found}")
        return found

    def _asked(self, query: str) -> NDArray[np.float32] | str:
        """Return the vector of a query, or what went wrong, as the end of a sentence."""
        try:
            status, content = self._post(query)
        except TimeoutError:
            return self._late
        except Exception as error:  # whose text may have the key
            return f"cannot be reached ({type(error).__name__})"
        if status != 200:
            return f"answered with the status {status}"
        try:
            vector = np.array(
                as_vector("vector", json.loads(content)["data"][0]["embedding"]), np.float32
            )
        except (InputError, ValueError, TypeError, LookupError, RecursionError):
            return "did not answer with a vector"
        if len(vector) != self._dimension:
            return f"answered with {len(vector):,} numbers, not {self._dimension:,}"
        return vector if vector.any() else "answered with a vector of zeros"

    def _post(self, query: str) -> tuple[int, bytes]:
        """Return the status and the body of the answer; a redirection is not followed."""
        from http.client import HTTPConnection, HTTPSConnection  # few programs need it

        parts = urlsplit(self._url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=self._seconds)
        body: dict[str, Any] = {"input": query, "encoding_format": "float"}
        headers = {"Content-Type": "application/json"}
        if self._model:
            body["model"] = self._model
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            place = (parts.path if parts.path.strip("/") else _PATH) + (
                f"?{parts.query}" if parts.query else ""
            )
            connection.request("POST", place, json.dumps(body).encode(), headers)
            answer = connection.getresponse()
            return answer.status, answer.read(_MOST_BYTES)
        finally:
            connection.close()


def check_endpoint(url: str) -> str:
    """Return the address of an endpoint.

    Raises:
        InputError: it is none.
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise InputError(
            f"{shown(url)!r:.200} is no endpoint; give an address such as "
            "https://api.openai.com/v1/embeddings"
        )
    return url


def use_endpoint(url: str | None) -> None:
    """Let this process and those that it starts encode queries at an address, if one is given.

    Raises:
        InputError: it is none.
    """
    if url is not None:
        os.environ[Variable.QUERY_ENDPOINT] = check_endpoint(url)


def find_endpoint(
    model: str, dimension: int, variables: Mapping[str, str] | None = None
) -> QueryEndpoint | None:
    """Return the endpoint that the environment names; None if it names none.

    Raises:
        InputError: a variable has a wrong value.
    """
    known = os.environ if variables is None else variables
    if not (url := known.get(Variable.QUERY_ENDPOINT, "")):
        return None
    typed = known.get(Variable.QUERY_MS) or str(MS)
    try:
        ms = float(typed)
    except ValueError:
        ms = 0.0
    if not 0 < ms <= MOST_MS:
        raise InputError(f"{Variable.QUERY_MS} is {typed!r:.40}; give up to {MOST_MS:,.0f} ms")
    return _open(url, model, dimension, known.get(Variable.QUERY_KEY, ""), ms)


_open = lru_cache(8)(QueryEndpoint)
