"""Read the documents of a bundle as a collection has them, whole."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.errors import InputError
from ranklet.runtime.metadata.columns import Metadata
from ranklet.training.data.collection import Document


def whole_documents(documents: Documents) -> Iterator[Document]:
    """Yield every document of a bundle; passages of one are joined.

    Raises:
        InputError: an id has white space, which separates the columns of judgements.
    """
    number = 0
    while number < len(documents):
        name, title, text = documents.record(number)
        if name.split() != [name]:
            raise InputError(
                f"judgements cannot name the document {name!r}, because white space separates "
                "their columns; build the bundle again with --id-column -, which numbers the "
                "documents, or with ids without white space"
            )
        count = len(documents.passages(number))
        for passage in range(number + 1, number + count):
            text = joined(text, documents.texts[passage])
        yield Document(name, title, text)
        number += count


def metadata_of(bundle: BundleFiles, numbers: Iterable[int]) -> Iterator[Mapping[str, Any]]:
    """Yield the metadata of some documents of a bundle, as it stores them."""
    metadata = Metadata(bundle)
    for number in numbers:
        yield metadata.of(number)


def joined(text: str, passage: str) -> str:
    """Return a text with the passage that follows it, without the words that both have.

    >>> joined("One two. Three four.", "Three four. Five six.")
    'One two. Three four. Five six.'
    >>> joined("One two.", "Three four.")
    'One two. Three four.'
    """
    shared = next((n for n in range(len(passage), 0, -1) if text.endswith(passage[:n])), 0)
    between = "" if shared else " "
    return f"{text}{between}{passage[shared:]}"
