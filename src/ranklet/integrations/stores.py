"""What the vector stores of all frameworks share: adding to a bundle and deleting from it.

Only here integrations see more than the runtime, and only once somebody writes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ranklet.runtime import InputError
from ranklet.runtime.asks import Where
from ranklet.runtime.storage.address import BundleLike

_OWN = ("id", "text")


def add(bundle: BundleLike, documents: Sequence[Mapping[str, Any]]) -> list[str]:
    """Add documents to a bundle, or replace those with the same ids; return their ids.

    Raises:
        CollectionError: one cannot be used; the message names its index and the field.
        InputError: the bundle cannot be written to.
    """
    if documents:
        _writable(bundle).add(documents)
    return [str(each["id"]) for each in documents]


def delete(bundle: BundleLike, ids: Iterable[str] = (), where: Where | None = None) -> None:
    """Delete the documents with some ids that there are, and those that a filter allows."""
    _writable(bundle).delete(ids, where=where, missing_ok=True)


def document(id_: str, text: str, metadata: Mapping[str, Any], place: int) -> dict[str, Any]:
    """Return a framework's document as a bundle takes it; its metadata become fields.

    Raises:
        InputError: a field has a name that a document needs itself.
    """
    for name in _OWN:
        if name in metadata:
            raise InputError(
                f"documents[{place}]: its metadata has a field {name!r}, which every document "
                "has already; give the field another name"
            )
    return {**metadata, "id": id_, "text": text}


def _writable(bundle: BundleLike) -> Any:
    from ranklet.corpus.updating.writable import WritableBundle

    return WritableBundle(bundle)
