"""Write a bundle's collection into Milvus, with the vectors of its rankers."""

import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklet.corpus.errors import REPLACE
from ranklet.corpus.progress import progress, warn
from ranklet.export.errors import ExportError
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.milvus.collection import address, as_stored, connect, remote_errors
from ranklet.runtime.milvus.names import (
    ABOUT,
    DOCUMENT,
    KEY,
    LONGEST_KEY,
    LONGEST_TEXT,
    METADATA,
    NO_TERM,
    NO_WEIGHT,
    PASSAGE,
    TEXT,
    TITLE,
    about,
    stored,
)
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.storage.address import BundleLike, located
from ranklet.workflows.feeds.entries import Entry
from ranklet.workflows.feeds.source import Source

if TYPE_CHECKING:
    from pymilvus import MilvusClient

SECONDS = 120.0  # for a call; a batch of long texts may take a while
# Entities of a call. Those with the longest texts and metadata have 200 kB, and Milvus reads 64 MB.
BATCH = 250
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")  # of a collection


def publish(
    bundle: BundleLike,
    uri: str,
    *,
    index: str = "",
    rankers: Sequence[str] = (),
    token: str = "",
    overwrite: bool = False,
) -> str:
    """Write a collection, then switch the alias to it.

    The name is an alias of Milvus. Whoever searches by the name finds the earlier collection until
    the new one is complete.

    Args:
        bundle: an indexed bundle.
        uri: ``milvus://HOST:PORT/NAME``, ``https://HOST:PORT/NAME``, or ``FILE.db#NAME`` for Milvus
            Lite.
        index: name of the collection, unless the address has it; the bundle's name by default.
        rankers: the rankers whose vectors are stored; by default all that retrieve by vectors or
            impacts.
        token: what Milvus asks for, such as ``user:password``.
        overwrite: whether an earlier collection of this name is replaced.

    Returns:
        The name.

    Raises:
        InputError: the address, the name or a ranker is not allowed.
        ExportError: the name is taken, or a document does not fit into Milvus.
        RemoteError: Milvus does not answer, or refuses.
        MissingPackageError: the extra [milvus] is not installed.
        BundleError: the bundle cannot be read, or has no collection.
    """
    place, named = address(uri)
    if index and named not in ("", index):
        raise InputError(
            f"the address names the collection {named!r}, and --name {index!r}; give one"
        )
    source = Source(bundle, rankers)
    _check_fields(source)
    name = _collection_name(bundle, index or named)
    names = _field_names(source.dimensions)
    with closing(connect(place, token, SECONDS)) as client, remote_errors(place):
        before = _target(client, name, overwrite)
        _warn_of_leftovers(client, name, before)
        new = f"{name}_{secrets.token_hex(4)}"
        try:
            _create(client, new, source, names, json.dumps(about(source.bundle, names)))
            entries = progress(source.entries(), "publish", total=len(source))
            for batch in _batches(_row(entry, names) for entry in entries):
                client.insert(new, batch)
            client.flush(new)
            if before:
                client.alter_alias(new, name)
            else:
                client.create_alias(new, name)
        except BaseException:
            with suppress(Exception):  # the fault may be that nobody answers
                client.drop_collection(new)
            raise
        if before:
            client.drop_collection(before)
    return name


def _check_fields(source: Source) -> None:
    """Raise InputError if a ranker searches columns, of which Milvus could not explain scores."""
    for name in source.dimensions:
        settings = source.bundle.settings(name)
        if isinstance(settings, BM25Settings) and settings.columns:
            raise InputError(
                f"{name!r} searches the columns {', '.join(settings.columns)} (--field), of which "
                "scores cannot be explained from Milvus; build without, or choose by --ranker"
            )


def _target(client: "MilvusClient", name: str, overwrite: bool) -> str:
    """Return the collection that a name means now, or "" if there is none.

    Raises:
        ExportError: the name is taken.
    """
    if not client.has_collection(name):
        return ""
    before: str = client.describe_collection(name)["collection_name"]
    if before == name:
        raise ExportError(
            f"Milvus has a collection {name!r} that is no alias, so ranklet did not write it; "
            "choose another name"
        )
    if not overwrite:
        raise ExportError(f"Milvus has {name!r}; choose another name, or {REPLACE}")
    return before


def _warn_of_leftovers(client: "MilvusClient", name: str, before: str) -> None:
    """Name the collections that a killed run has left; another one may be writing them, too."""
    left = [
        each
        for each in client.list_collections()
        if each != before and re.fullmatch(rf"{re.escape(name)}_[0-9a-f]{{8}}", each)
    ]
    if left:
        warn(
            f"Milvus has {', '.join(left)}, which `ranklet publish` was killed over, or is writing "
            "now; drop in Milvus what nobody is writing"
        )


def _collection_name(bundle: BundleLike, name: str) -> str:
    name = name or re.sub(r"\W+", "_", Path(located(bundle).name).stem.lower(), flags=re.ASCII)
    if not NAME.fullmatch(name):
        raise InputError(
            f"the collection's name is {name!r}; it must be a small letter, followed by up to 63 "
            "small letters, digits and underscores; give one with --name"
        )
    return name


def _field_names(dimensions: Mapping[str, int]) -> dict[str, str]:
    """Return the name of each ranker's field.

    Raises:
        InputError: two rankers would have the same one.
    """
    found: dict[str, str] = {}
    for ranker, dimension in dimensions.items():
        plain = re.sub(r"\W", "_", ranker, flags=re.ASCII)
        own = f"vector_{plain}" if dimension else f"impacts_{plain}"
        if other := next((name for name, field in found.items() if field == own), None):
            raise InputError(
                f"the rankers {other!r} and {ranker!r} would both be called {own!r} in Milvus; "
                "choose one of them with --ranker"
            )
        found[ranker] = own
    return found


def _create(
    client: "MilvusClient", name: str, source: Source, names: Mapping[str, str], description: str
) -> None:
    from pymilvus import DataType

    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field(KEY, DataType.VARCHAR, is_primary=True, max_length=LONGEST_KEY)
    schema.add_field(DOCUMENT, DataType.VARCHAR, max_length=LONGEST_KEY)
    schema.add_field(PASSAGE, DataType.INT64, nullable=True)
    for field in (TITLE, TEXT):
        schema.add_field(field, DataType.VARCHAR, max_length=LONGEST_TEXT)
    schema.add_field(METADATA, DataType.JSON, nullable=True)
    indexes = client.prepare_index_params()
    for ranker, dimension in source.dimensions.items():
        field = names[ranker]
        if dimension:
            schema.add_field(field, DataType.FLOAT_VECTOR, dim=dimension)
            indexes.add_index(field, index_type="FLAT", metric_type="IP")
        else:
            schema.add_field(field, DataType.SPARSE_FLOAT_VECTOR)
            indexes.add_index(field, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    client.create_collection(
        name, schema=schema, index_params=indexes, properties={ABOUT: description}
    )


def _row(entry: Entry, names: Mapping[str, str]) -> dict[str, Any]:
    """Return an entity.

    Raises:
        ExportError: Milvus cannot hold one of its texts.
    """
    for field, text, most in (
        ("id", entry.key, LONGEST_KEY),
        ("title", entry.title, LONGEST_TEXT),
        ("text", entry.text, LONGEST_TEXT),
    ):
        if len(text.encode("utf-8", "replace")) > most:
            raise ExportError(
                f"the {field} of the document {entry.key[:40]!r} has more than {most:,} bytes, "
                "which Milvus cannot hold; build the bundle from shorter ones, or split texts "
                "into passages"
            )
    return {
        KEY: entry.key,
        DOCUMENT: entry.document,
        PASSAGE: entry.passage,
        TITLE: entry.title,
        TEXT: entry.text,
        METADATA: stored(entry.metadata),
        **{
            names[ranker]: as_stored(each) or {NO_TERM: NO_WEIGHT}
            for ranker, each in entry.vectors.items()
        },
    }


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while batch := list(islice(rows, BATCH)):
        yield batch
