"""The file of synonyms beside a bundle, NAME.synonyms, which is read when queries are.

The bundle does not change with it, and whoever copies a bundle copies the file, too.
"""

from ranklet.runtime.bundles.additions import read_local, read_remote
from ranklet.runtime.bundles.files import BundleFiles, locate_synonyms
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.storage.address import Address
from ranklet.runtime.text.synonyms import Synonyms


def read_synonyms(files: BundleFiles) -> str:
    """Return the content of the file of synonyms, "" if there is none.

    Raises:
        BundleError: it is not UTF-8, or cannot be read.
        RemoteError: as `BundleFiles`.
    """
    place = locate_synonyms(files.path)
    data = read_remote(place) if isinstance(place, Address) else read_local(place)
    # Some web servers answer with a page of theirs, or with something else, for what they lack.
    if data is None or (files.is_remote and data.lstrip().startswith(b"<")):
        return ""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if files.is_remote:
            return ""
        raise BundleError(f"{str(place)!r} is not UTF-8; save it as UTF-8") from error


def open_synonyms(files: BundleFiles) -> Synonyms | None:
    """Return the synonyms of a bundle; None if there is no file, or nothing in it.

    Raises:
        BundleError: a line cannot be read.
    """
    if not (text := read_synonyms(files)):
        return None
    try:
        return Synonyms(text, files.analyzer.vocabulary)
    except InputError as error:
        raise BundleError(f"{str(locate_synonyms(files.path))!r}: {error}") from error
