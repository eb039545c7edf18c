"""Read the documents of a bundle as a collection has them, whole."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.trec import is_id
from ranklet.corpus.sources.passages import sentences
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import Splitting
from ranklet.runtime.errors import InputError
from ranklet.runtime.metadata.columns import Metadata


def whole_documents(bundle: BundleFiles) -> Iterator[Document]:
    """Yield every document of a bundle; passages of one are joined.

    Raises:
        InputError: an id has what separates the columns of judgements, see `is_id`.
    """
    documents, splitting = bundle.need_documents(), bundle.manifest.splitting
    number = 0
    while number < len(documents):
        name, title, text = documents.record(number)
        if not is_id(name):
            raise InputError(
                f"judgements cannot name the document {name!r}, because tabs and line breaks "
                "separate them and white space at its ends is not kept; build the bundle again "
                "with --id-column -, which numbers the documents, or with other ids"
            )
        count = len(documents.passages(number))
        before = text
        for at in range(number + 1, number + count):
            passage = documents.texts[at]
            text, before = text + added(before, passage, splitting), passage
        yield Document(name, title, text)
        number += count


def metadata_of(bundle: BundleFiles, numbers: Iterable[int]) -> Iterator[Mapping[str, Any]]:
    """Yield the metadata of some documents of a bundle, as it stores them."""
    metadata = Metadata(bundle)
    for number in numbers:
        yield metadata.of(number)


def added(before: str, passage: str, splitting: Splitting) -> str:
    """Return what a passage adds to the one before it, whose last sentences it may repeat.

    >>> added("One two. Three four.", "Three four. Five six.", Splitting(4, 2))
    ' Five six.'
    >>> added("One two.", "Three four.", Splitting(4, 2))
    ' Three four.'
    """
    for part in sentences(before, splitting.words) if splitting.overlap else ():
        if passage.startswith(before[part.begin :]):
            return passage[len(before) - part.begin :]
    return f" {passage}"
