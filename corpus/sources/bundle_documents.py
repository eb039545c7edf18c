"""Read the documents of a bundle as a collection has them, whole."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.trec import is_id
from ranklet.corpus.sources.cells import Verbatim
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.location import without_headings
from ranklet.runtime.bundles.manifest import STRING
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.metadata.columns import Metadata
from ranklet.runtime.search.whole_document import whole_text


def whole_documents(bundle: BundleFiles, columns: Sequence[str] = ()) -> Iterator[Document]:
    """Yield every document of a bundle, with some of its columns; passages of one are joined.

    Raises:
        InputError: an id has what separates the columns of judgements, see `is_id`.
    """
    documents, splitting = bundle.need_documents(), bundle.manifest.splitting
    metadata, number = Metadata(bundle), 0
    while number < len(documents):
        name, title, _ = documents.record(number)
        if not is_id(name):
            raise InputError(
                f"judgements cannot name the document {name!r}, because tabs and line breaks "
                "separate them; build the bundle again with --id-column -, which numbers the "
                "documents, or with other ids"
            )
        passages = documents.passages(number).tolist()
        parts = [(documents.location(at), documents.texts[at]) for at in passages]
        held = metadata.of(number) if columns else {}
        own = {each: held[each] for each in columns if each in held}
        title = without_headings(title, parts[0][0])
        yield Document(name, title, whole_text(parts, splitting), own)
        number += len(passages)


def collect_metadata(bundle: BundleFiles, numbers: Iterable[int]) -> Iterator[Mapping[str, Any]]:
    """Yield the metadata of some documents of a bundle, as it stores them."""
    metadata = Metadata(bundle)
    texts = [name for name, type_ in bundle.manifest.declared.items() if type_ == STRING]
    for number in numbers:
        fields = metadata.of(number)
        yield {**fields, **{name: Verbatim(fields[name]) for name in texts if name in fields}}


def collect_each_metadata(
    bundles: Sequence[BundleFiles],
    chosen: Sequence[tuple[int, int]],
    new: Sequence[Mapping[str, Any]] = (),
) -> Iterable[Mapping[str, Any]]:
    """Return the metadata of documents of some bundles, and of new ones; nothing if none has any.

    Args:
        bundles: the bundles.
        chosen: the place of each document's bundle, and the document's number there; the place
            after the last bundle stands for new documents.
        new: the metadata of new documents.
    """
    if not any(each.manifest.metadata for each in bundles) and not any(new):
        return ()
    own: list[Iterator[Mapping[str, Any]]] = [
        collect_metadata(bundle, [number for part, number in chosen if part == at])
        for at, bundle in enumerate(bundles)
    ]
    own.append(new[number] for part, number in chosen if part == len(bundles))
    return (next(own[part]) for part, _ in chosen)
