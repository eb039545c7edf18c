"""Write a feed: one JSONL of a bundle's documents with their vectors and impacts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ranklet.corpus.errors import REPLACE
from ranklet.corpus.progress import progress
from ranklet.export.errors import ExportError
from ranklet.runtime.answers.plain import plain
from ranklet.runtime.storage.address import BundleLike, writable
from ranklet.runtime.writing.atomic_file import atomic_file
from ranklet.workflows.feeds.entries import Entry, as_json, plain_vector
from ranklet.workflows.feeds.source import Source


def write_feed(
    bundle: BundleLike, target: str | Path, *, rankers: Sequence[str] = (), overwrite: bool = False
) -> int:
    """Write a feed into a file, all or nothing.

    Each line is an object: ``key``, ``document``, ``passage`` if documents are split, ``title``,
    ``text``, ``metadata``, and ``vectors`` by ranker. A dense vector is a list of numbers, and
    impacts are an object of weights by term.

    Args:
        bundle: an indexed bundle.
        target: the file.
        rankers: the rankers whose vectors are fed; by default all that retrieve by vectors or
            impacts.
        overwrite: whether a file that is there is replaced.

    Returns:
        The number of lines.

    Raises:
        InputError: a ranker is unknown or cannot be fed.
        ExportError: the target exists, or it cannot be written.
        BundleError: the bundle cannot be read, or has no collection.
    """
    path = feed_target(target, overwrite=overwrite)
    source = Source(bundle, rankers)
    try:
        with atomic_file(path) as file:
            for entry in progress(source.entries(), "feed", total=len(source)):
                file.write(f"{as_json(_line(entry))}\n".encode())
    except OSError as error:
        raise ExportError(f"{str(target)!r} cannot be written: {error}") from error
    return len(source)


def feed_target(target: str | Path, *, overwrite: bool) -> Path:
    """Return the path of a file to write.

    Raises:
        ExportError: it is a folder, or exists and is not replaced.
    """
    path = writable(target)
    if path.is_dir():
        raise ExportError(f"{str(target)!r} is a folder; give a file, such as feed.jsonl")
    if path.exists() and not overwrite:
        raise ExportError(f"{str(target)!r} exists; choose another name, or {REPLACE}")
    return path


def query_vectors(bundle: BundleLike, query: str, *, rankers: Sequence[str] = ()) -> dict[str, Any]:
    """Return the vectors of a query by ranker, in the form of a feed.

    The product of a query's vector and a document's is the score of the bundle.

    Args:
        bundle: the one that was fed, or another with the same rankers and vocabulary.
        query: the text of the query.
        rankers: the rankers; by default all that can be fed.

    Raises:
        InputError: a ranker is unknown or cannot be fed.
        BundleError: the bundle cannot be read, or has no collection.
    """
    return {name: plain_vector(each) for name, each in Source(bundle, rankers).query(query)}


def _line(entry: Entry) -> dict[str, Any]:
    found: dict[str, Any] = {"key": entry.key, "document": entry.document}
    if entry.passage is not None:
        found["passage"] = entry.passage
    found |= {"title": entry.title, "text": entry.text, "metadata": plain(entry.metadata)}
    found["vectors"] = {name: plain_vector(each) for name, each in entry.vectors.items()}
    return found
