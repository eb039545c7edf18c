"""Addresses of bundles on object storage, which stand where a path may stand."""

import os
from pathlib import Path
from urllib.parse import urlsplit

S3, HTTP = "s3", ("http", "https")
SCHEMES = (S3, *HTTP)


class Address(str):
    """The address of a bundle's zip, ``s3://bucket/key``, ``https://…`` or ``http://…``."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The last part, such as ``docs.ranklet``."""
        return urlsplit(self).path.rsplit("/", 1)[-1]

    @property
    def shown(self) -> str:
        """The address for messages, without a query string, which may hold a signature."""
        return self.partition("?")[0]

    def absolute(self) -> "Address":
        """Return the address itself, which depends on no folder; paths have this, too."""
        return self


def located(bundle: str | os.PathLike[str]) -> Path | Address:
    """Return an address if a text is one, otherwise an absolute path.

    >>> located("s3://bucket/docs.ranklet").name
    'docs.ranklet'
    """
    return Address(bundle) if is_address(bundle) else Path(bundle).absolute()


def is_address(bundle: object) -> bool:
    """Return whether something is the address of a bundle and no path.

    >>> is_address("https://example.org/docs.ranklet"), is_address("docs.ranklet")
    (True, False)
    """
    return isinstance(bundle, str) and bundle.partition("://")[0].lower() in SCHEMES
