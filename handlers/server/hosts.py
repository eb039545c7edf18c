"""Refuse requests that another site's page makes a browser send.

Such a page can make its visitor's browser ask a server that only the visitor's machine reaches, and
read the answers, if a name of its own leads there (DNS rebinding). The browser says in `Host` which
name it asked, and in `Origin` which site's page wanted it. Nothing else is believed: a proxy's
`X-Forwarded-Host` is a header that anybody can send.
"""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.variables import Variable

ANY = "*"
_LOCAL = "localhost"
_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[^\s\[\]:@/?#\\,]+)(?::([0-9]{0,5}))?")
_PORTS = {"http": 80, "https": 443}
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?#]+)")
_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\]")
_WITHOUT_ORIGIN = ("file", "ftp", "ws", "wss")  # what no browser names as the site of a page


class Authority(NamedTuple):
    """A host and its port, in the one form that equal ones have."""

    name: str
    port: int


Origin = tuple[str, Authority]  # of a site's pages: scheme, host and port


class Hosts:
    """The names that a server answers to.

    Args:
        address: what the server listens on. On an address of this machine only, it answers to
            `localhost`, to such addresses and to `names`. On any other it answers to every name,
            unless there are `names`.
        names: further names, as RANKLET_HOSTS has them; "*" stands for all.
    """

    def __init__(self, address: str, names: Collection[str] = ()) -> None:
        self._names = frozenset(names)
        self._own = _same(address)
        self._all = ANY in names or not (names or is_local(address))

    def refusal(self, headers: Mapping[str, str], *, origin: bool = False) -> str:
        """Return why a request is not answered, "" if it is.

        Args:
            headers: of the request.
            origin: whether a page must be this server's even where every name is answered.
        """
        text = headers.get("host", "")
        host = authority(text)
        if not self._all and not (
            host is not None
            and (host.name in self._names or host.name == self._own or is_local(host.name))
        ):
            return (
                f"the host {text[:80]!r} is none of this server's; ask for 127.0.0.1 with its "
                f"port, or start it with {Variable.HOSTS} set to the names that it has"
            )
        page = headers.get("origin")
        if page is None or (self._all and not origin) or self._is_own(page, text):
            return ""
        return f"this request comes from the page of another site; {Variable.ORIGINS} can allow it"

    def _is_own(self, page: str, host: str) -> bool:
        """Return whether the page of an origin is this server's, which was asked as `host`."""
        if page == f"http://{host}":
            return bool(host)
        if (origin := parsed(page)) is None:
            return False
        scheme, site = origin
        if scheme not in _PORTS:  # a page that no server sent, such as an extension's
            return False
        if site.name in self._names:
            return True
        if scheme == "https" and not self._all:  # on this machine nobody adds TLS
            return False
        return site == authority(host, _PORTS[scheme])


def read_hosts(text: str) -> tuple[str, ...]:
    """Return the names in a variable, which commas separate.

    Raises:
        InputError: one of them is no name, for example because it has a scheme or a port.
    """
    names = [each.strip() for each in text.split(",")] if text else []
    for name in names:
        if name != ANY and not _NAME.fullmatch(name.lower().removesuffix(".")):
            raise InputError(
                f"{Variable.HOSTS} has {name[:80]!r}; give names without scheme and port, with "
                "commas between, such as search.example,[2001:db8::1], or * for every name"
            )
    return tuple(_same(name) for name in names)


@lru_cache(1024)
def authority(text: str, port: int = 80) -> Authority | None:
    """Return a host and its port, by default `port`; None if the text is not a host.

    >>> authority("LocalHost.:8080"), authority("[0:0::1]"), authority("me@here")
    (Authority(name='localhost', port=8080), Authority(name='::1', port=80), None)
    """
    match = _AUTHORITY.fullmatch(text.lower())
    return Authority(_same(match[1]), int(match[2] or port)) if match else None


def parsed(origin: str) -> Origin | None:
    """Return an origin in the one form that equal ones have; None if it is none."""
    match = _ORIGIN.fullmatch(origin.lower())
    place = authority(match[2], _PORTS.get(match[1], 0)) if match else None
    return (match[1], place) if match and place else None


def is_of_pages(origin: str) -> bool:
    """Return whether a browser can name an origin as the site of a page.

    >>> is_of_pages("app://obsidian.md"), is_of_pages("https://*.example"), is_of_pages("file://a")
    (True, False, False)
    """
    if (found := parsed(origin)) is None or found[0] in _WITHOUT_ORIGIN or found[1].port > 65_535:
        return False
    name = found[1].name
    return bool(_NAME.fullmatch(f"[{name}]" if ":" in name else name))


def is_local(name: str) -> bool:
    """Return whether a name or an address leads to this machine from this machine only.

    >>> is_local("127.0.0.2"), is_local("::1"), is_local("0.0.0.0"), is_local("127.0.0.1.example")
    (True, True, False, False)
    """
    try:
        address = ip_address(name)
    except ValueError:
        return name == _LOCAL
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def _same(name: str) -> str:
    """Return a name in lower case without the dot of the root, an address in its shortest form."""
    name = name.lower().removesuffix(".").removeprefix("[").removesuffix("]")
    try:
        return str(ip_address(name))
    except ValueError:
        return name
