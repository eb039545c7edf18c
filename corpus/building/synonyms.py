"""Write the file of synonyms beside a bundle."""

from pathlib import Path

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import locate_synonyms
from ranklet.runtime.ground.errors import InputError, UnknownDocumentError
from ranklet.runtime.storage.address import Address
from ranklet.runtime.text.synonyms import Synonyms
from ranklet.runtime.writing.atomic_file import atomic_file


def write_synonyms(bundle: Bundle, file: Path) -> str:
    """Copy a file of synonyms beside a bundle, and return what it has, and which ids are unknown.

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
    found = Synonyms(text, bundle.files.analyzer.vocabulary)
    with atomic_file(place) as target:
        target.write(text.encode())
    said = f"{len(found):,} entries have synonyms"
    if found.rules:
        said += f"; queries with rules: {len(found.rules):,}"
    ids = dict.fromkeys(e for rule in found.rules.values() for named in rule for e in named)
    if unknown := [each for each in ids if not _has(bundle, each)]:
        said += f"; no document has the ids {', '.join(unknown)}"
    return said


def _has(bundle: Bundle, document_id: str) -> bool:
    try:
        bundle.document(document_id)
    except UnknownDocumentError:
        return False
    return True
