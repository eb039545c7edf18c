"""Write the file of synonyms beside a bundle."""

from pathlib import Path

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import locate_synonyms
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.storage.address import Address
from ranklet.runtime.text.synonyms import Synonyms
from ranklet.runtime.writing.atomic_file import atomic_file


def write_synonyms(bundle: Bundle, file: Path) -> int:
    """Copy a file of synonyms beside a bundle, and return how many entries have some.

    Raises:
        InputError: it cannot be read, a line is wrong, or the bundle is at an address.
    """
    place = locate_synonyms(bundle.path)
    if isinstance(place, Address):
        raise InputError(f"the bundle is at an address; upload the file there as {str(place)!r}")
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{str(file)!r} cannot be read: {error}") from error
    found = len(Synonyms(text, bundle.files.analyzer.vocabulary))
    with atomic_file(place) as target:
        target.write(text.encode())
    return found
