"""API keys, and the documents that each of them opens."""

import hmac
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.reading import loads
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.ground.variables import Variable

_EXAMPLE = '{"KEY": {"tenant": "a"}}'

Filter = Mapping[str, Any]  # by metadata; see docs/filtering.md


class Opened(NamedTuple):
    """What a request's key opens.

    Attributes:
        key: the number of the key; None if no key is needed.
        where: the filter of the documents that it opens; None for the whole bundle.
        writes: whether these may be added, replaced and deleted.
    """

    key: int | None
    where: Filter | None
    writes: bool = False


class ApiKeys:
    """The keys of a server; no key is needed to read if there are only such as may write.

    Args:
        whole: keys that open the whole bundle.
        filters: for each key, the filter that says which documents it opens.
        writers: keys that may write; those that are none of the others open the whole bundle.
    """

    def __init__(
        self, whole: Sequence[str], filters: Mapping[str, Filter], writers: Sequence[str] = ()
    ) -> None:
        filtered: list[tuple[str, Filter | None]] = list(filters.items())
        more = [key for key in writers if key not in whole and key not in filters]
        opened = [(key, None) for key in (*whole, *more)] + filtered
        self._keys = [
            (key.encode(), Opened(number, where, key in writers))
            for number, (key, where) in enumerate(opened)
        ]
        self._open, self._written = not whole and not filters, bool(writers)

    def __len__(self) -> int:
        return len(self._keys)

    def __bool__(self) -> bool:
        """Whether a key is needed to read."""
        return not self._open

    def opened(self, headers: Mapping[str, str]) -> Opened:
        """Return what a request's key opens.

        Raises:
            RequestError: 401: a key is needed, and the request has none of the keys.
        """
        if self._open and not read_key(headers):
            return Opened(None, None)
        try:
            return self._found(headers)
        except RequestError:
            if self._open:
                return Opened(None, None)
            raise

    def writing(self, headers: Mapping[str, str]) -> Opened:
        """Return what a request may write.

        Raises:
            RequestError: 401: the request has none of the keys; 403: its key may not write, or
                none may.
        """
        if not self._written:
            raise RequestError(
                403, f"this server takes no documents, because {Variable.WRITE_KEYS} is not set"
            )
        found = self._found(headers)
        if not found.writes:
            raise RequestError(403, f"this key may not write; {Variable.WRITE_KEYS} lacks it")
        return found

    def _found(self, headers: Mapping[str, str]) -> Opened:
        sent = read_key(headers)
        # All keys are compared, each in constant time, so that timing does not reveal a key.
        matches = [opened for known, opened in self._keys if hmac.compare_digest(sent, known)]
        if not matches:
            raise RequestError(401, "give the API key as 'Authorization: Bearer KEY' or x-api-key")
        return matches[0]


def read_key(headers: Mapping[str, str]) -> bytes:
    """Return the key in a request's headers, empty if there is none."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key:
        key = headers.get("x-api-key", "")
    # Nothing else is white space of a header: a byte that Latin-1 has as one may end an "à".
    return key.strip(" \t").encode("latin-1")


def open_part(bundle: Bundle, where: Filter | None) -> Bundle:
    """Return the part of a bundle that a key opens.

    Raises:
        BundleError: the key's filter does not fit the bundle. That is no fault of the caller, who
            must not learn the filter.
    """
    if where is None:
        return bundle
    try:
        return bundle.only(where)
    except InputError as error:
        raise BundleError(
            f"a filter of {Variable.API_KEY_FILTERS} does not fit: {error}"
        ) from error


def read_keys(variables: Mapping[str, str], variable: str = Variable.API_KEY) -> tuple[str, ...]:
    """Return the keys of a variable, separated by commas; without the variable there are no keys.

    Raises:
        InputError: the variable is set without a key, or a key cannot be one. No message shows a
            key.
    """
    if variable not in variables:
        return ()
    keys = tuple(key.strip() for key in variables[variable].split(",") if key.strip())
    if not keys:
        raise InputError(
            f"{variable} is set, but has no key; give it one, or do not set it, and "
            + ("everybody can ask" if variable == Variable.API_KEY else "nobody can write")
        )
    for key in keys:
        _check_key(key, variable)
    return keys


def _check_key(key: str, variable: str) -> None:
    if not key.isprintable() or " " in key:
        raise InputError(
            f"a key of {variable} has white space or a control character in it, which no header "
            "can send; commas separate keys"
        )


def read_filters(text: str, whole: Sequence[str]) -> dict[str, Filter]:
    """Return the filters by key in a variable's JSON; an empty text has no filters.

    Args:
        text: an object whose keys are API keys and whose values are filters.
        whole: the keys that have no filter.

    Raises:
        InputError: it is not such an object, or a key is also one without a filter. No message
            shows a key.
    """
    if not text.strip():
        return {}
    try:
        filters = loads(text)
    except (ValueError, RecursionError, RequestError):
        raise InputError(
            f"{Variable.API_KEY_FILTERS} is not JSON, or has a key twice; it must be {_EXAMPLE}"
        ) from None
    if not isinstance(filters, dict) or not filters:
        raise InputError(
            f"{Variable.API_KEY_FILTERS} must be an object with a key at least: {_EXAMPLE}"
        )
    for key, where in filters.items():
        if not key.strip() or key != key.strip() or "," in key:
            raise InputError(
                f"a key of {Variable.API_KEY_FILTERS} is empty, or has a comma or white space "
                "around it"
            )
        _check_key(key, Variable.API_KEY_FILTERS)
        if not isinstance(where, dict) or not where:
            raise InputError(
                f"a key of {Variable.API_KEY_FILTERS} has no filter; give it an object such as "
                '{"tenant": "a"}, or put it into RANKLET_API_KEY, where keys open all documents'
            )
        if key in whole:
            raise InputError(
                f"a key stands in RANKLET_API_KEY, too, where keys open all documents; leave it "
                f"only in {Variable.API_KEY_FILTERS}"
            )
    return filters
