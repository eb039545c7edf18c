"""Addresses of bundles on object storage, which stand where a path may stand.

This is the one place that knows what an address is, how messages show one, and that nothing can be
written to one.
"""

import os
import re
from pathlib import Path
from typing import TypeGuard
from urllib.parse import urlsplit

from ranklet.runtime.ground.errors import InputError

S3, HTTP, HUB = "s3", ("http", "https"), "hf"
SCHEMES = (S3, *HTTP, HUB)
HIDDEN = "…"  # in the place of what a message leaves out

# Two letters or more, because C:/ is a drive; one slash, because Path("s3://b/k") has lost one.
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]+:/"
# Also what an address becomes that was taken for a path and made absolute.
_MADE_PATH = rf"(?:^|/){_SCHEME}"
# An address in a text; what may stand after it, such as a quotation mark, does not belong to it.
_IN_TEXT = r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>`\\]+"
_HUB = r"(?i:hf)://((?:datasets/|spaces/)?\w[\w.-]*/\w[\w.-]*)(?:@([\w.-]+))?(?:/([^?#\s]+))?"
_BUNDLE = "bundle.zip"  # of a repository on the hub, unless the address names another file
_USER = r"(:/+)[^/?#]*@"


BundleLike = str | os.PathLike[str]  # a path or address, or a bundle, which stands for its path


class Address(str):
    """The address of a bundle's zip, ``s3://bucket/key``, ``https://…`` or ``http://…``.

    ``hf://owner/name[@revision][/file]`` becomes the address of a file on the Hugging Face hub,
    ``bundle.zip`` unless it is named. The environment variable HF_ENDPOINT names another hub.

    Whatever prints it shows no signature and no password, because ``str()``, ``repr()`` and
    formatting give what `shown` gives. Use `raw` to open it.
    """

    __slots__ = ()

    def __new__(cls, address: str) -> "Address":
        """Return an address, itself if it is one.

        Raises:
            InputError: an address on the hub names no repository.
        """
        return address if isinstance(address, cls) else super().__new__(cls, _of_hub(address))

    @property
    def name(self) -> str:
        """The last part, such as ``docs.ranklet``."""
        return urlsplit(self.raw).path.rsplit("/", 1)[-1]

    @property
    def raw(self) -> str:
        """All of it, with the signature."""
        return str.__str__(self)

    @property
    def unsigned(self) -> str:
        """The address without its query string, which is the same for every signature."""
        return self.raw.partition("?")[0]

    def absolute(self) -> "Address":
        """Return the address itself, which depends on no folder; paths have this, too."""
        return self

    def __str__(self) -> str:
        """Return the address as messages show it."""
        return shown(self.raw)

    def __repr__(self) -> str:
        """Return the address as messages show it, in quotation marks."""
        return repr(str(self))

    def __format__(self, form: str) -> str:
        """Return the address as messages show it."""
        return format(str(self), form)


def _of_hub(address: str) -> str:
    """Return the address on the web of what is on the hub; any other address as it is.

    >>> _of_hub("hf://ada/books@v2/small.zip")
    'https://huggingface.co/ada/books/resolve/v2/small.zip'
    """
    if address.partition("://")[0].lower() != HUB:
        return address
    match = re.fullmatch(_HUB, address, re.ASCII)
    if match is None:
        raise InputError(
            f"{address[:80]!r} is no address on the Hugging Face hub; give hf://OWNER/NAME, "
            "hf://OWNER/NAME/FILE or hf://OWNER/NAME@REVISION/FILE, and hf://datasets/OWNER/NAME "
            "for a dataset"
        )
    hub = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    return f"{hub}/{match[1]}/resolve/{match[2] or 'main'}/{match[3] or _BUNDLE}"


def located(bundle: str | os.PathLike[str]) -> Path | Address:
    """Return an address if a text is one, otherwise an absolute path.

    >>> located("s3://bucket/docs.ranklet").name
    'docs.ranklet'
    """
    return Address(bundle) if is_address(bundle) else Path(bundle).absolute()


def is_address(bundle: object) -> TypeGuard[str]:
    """Return whether something is the address of a bundle and no path.

    >>> is_address("https://example.org/docs.ranklet"), is_address("docs.ranklet")
    (True, False)
    """
    return isinstance(bundle, str) and bundle.partition("://")[0].lower() in SCHEMES


def raw_text(place: Path | Address) -> str:
    """Return the text that opens a bundle again, which ``str()`` of an address is not."""
    return place.raw if isinstance(place, Address) else str(place)


def shown(place: str | os.PathLike[str]) -> str:
    """Return a path or an address as messages show it, without what may be a secret.

    The query string of an address may hold a signature, and what stands before its host a password.
    Paths are shown as they are.

    >>> shown("https://example.org/docs.zip?X-Amz-Signature=1f2e"), shown("docs?.zip")
    ('https://example.org/docs.zip?…', 'docs?.zip')
    >>> shown("milvus://ada:secret@db:19530/books")
    'milvus://…@db:19530/books'
    """
    text = place.raw if isinstance(place, Address) else str(place)
    if not re.search(_MADE_PATH, text):
        return text
    address, mark, _ = text.partition("?")
    return re.sub(_USER, rf"\1{HIDDEN}@", address, count=1) + (f"?{HIDDEN}" if mark else "")


def hide_secrets(text: str) -> str:
    """Return a text whose addresses are as `shown` shows them.

    >>> hide_secrets("'https://example.org/docs.zip?sig=1f2e' cannot be read")
    "'https://example.org/docs.zip?…' cannot be read"
    """
    return re.sub(_IN_TEXT, lambda found: shown(found[0]), text) if "://" in text else text


def on_disk(bundle: str | os.PathLike[str]) -> Path:
    """Return the path of a bundle that a new one is made of.

    Raises:
        InputError: it is no path, or at an address, from which only rankings are read.
    """
    check_path("a bundle", bundle)
    if _is_any_address(bundle):
        raise InputError(
            f"{shown(bundle)!r} is an address, and a bundle is made only of bundles on disk; "
            "download it, give the file, and upload what was written"
        )
    return Path(bundle)


def writable(target: str | os.PathLike[str]) -> Path:
    """Return the place where something is written, which is where links lead.

    Whatever writes calls this before any other work.

    Raises:
        InputError: the target is no path, an address, or a link that leads nowhere.
    """
    check_path("what is written", target)
    if _is_any_address(target):
        raise InputError(
            f"{shown(target)!r} is an address, where nothing can be written; give a path, and "
            "upload what was written there (a folder of such a name needs its whole path)"
        )
    try:
        return Path(target).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # links in a loop, a NUL
        raise InputError(f"{str(target)!r} cannot be written: {error}") from error


def check_path(name: str, place: object) -> None:
    """Raise InputError unless `place` is a path or a text that is not empty."""
    if not isinstance(place, str | os.PathLike) or isinstance(os.fspath(place), bytes):
        raise InputError(f"{name} must be a path, not {type(place).__name__}")
    if place == "":  # which would be the current folder
        raise InputError(f"{name} is an empty text; give a path")


def _is_any_address(place: str | os.PathLike[str]) -> bool:
    """Return whether a text or path has the form of an address, of whatever scheme."""
    return bool(re.match(_SCHEME, raw_text(place) if isinstance(place, Address) else str(place)))
