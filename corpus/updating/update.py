"""Add, replace and delete documents of a bundle."""

import dataclasses
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeGuard

import numpy as np

from ranklet.corpus.building.packages import check_packages
from ranklet.corpus.building.writer import BundleWriter, check_source
from ranklet.corpus.collections.collection import Collection, Document, is_collection
from ranklet.corpus.distributed.cluster import Cluster, connected
from ranklet.corpus.distributed.indexing import index_shards
from ranklet.corpus.distributed.options import LOCAL, EngineOptions
from ranklet.corpus.distributed.shards import cut
from ranklet.corpus.indexing.origins import Origins
from ranklet.corpus.indexing.parts import Joined, join
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.paths import Files
from ranklet.corpus.sources.source import Source, Texts
from ranklet.corpus.sources.vectors import COLUMN, GivenVectors, Vectors
from ranklet.corpus.updating.changes import by_id, find_changes, find_given
from ranklet.corpus.updating.compact import write_joined
from ranklet.corpus.updating.joining import find_indexed, place_new, read_parts
from ranklet.corpus.updating.versions import VERSIONS, prune
from ranklet.runtime.bundle import Bundle, open_search
from ranklet.runtime.bundles.additions import read_additions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import PLURALS, Splitting, field_type
from ranklet.runtime.bundles.segments import Shifts
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.extras import hint_packages
from ranklet.runtime.ground.options import as_list
from ranklet.runtime.ground.short_tracebacks import short_tracebacks
from ranklet.runtime.ranking import load
from ranklet.runtime.storage.address import BundleLike

VOCABULARY = "vocabulary"  # key in a checkpoint's report: which tokens were kept

NO_CLUSTER = "vectors from outside are added on this machine; leave the engine out"

_log = logging.getLogger(__name__)


@short_tracebacks
def update(
    bundle: BundleLike,
    add: Texts | Source | Collection | None = None,
    *,
    delete: Iterable[str] = (),
    target: str | Path | None = None,
    options: SourceOptions | None = None,
    types: Mapping[str, str] | None = None,
    vectors: Vectors | None = None,
    missing_ok: bool = False,
    overwrite: bool = False,
    engine: EngineOptions = LOCAL,
    announce: Callable[[str], None] = _log.info,
) -> Bundle:
    """Write a bundle with other documents: some added, some replaced and some deleted.

    The result is the same as if the rankers were indexed with all documents, byte for byte, apart
    from the date and the provenance. Pipelines stay as they are, with their weights. Documents that
    do not change keep their order, and what models computed for them is used again. Replaced
    documents keep their place, and new ones come last.

    Args:
        bundle: a bundle with a collection, on disk. It is replaced in one step if there is no
            `target`. Updates at the same time follow each other.
        add: documents as `build` reads them. One with a known id replaces the old one. There may be
            none if there are ids to delete.
        delete: ids of documents.
        target: a folder or a path that ends in .zip; None for the bundle's own path.
        options: how the documents to add are read. Texts are split as those of the bundle were.
        types: types of columns that the bundle does not have yet; those that were declared when
            it was built hold for the documents to add, too.
        vectors: those of the documents to add, as in `build`, where the bundle's came from outside;
            None for the column of that name that it was built of, else ``vector``.
        missing_ok: whether ids to delete may be unknown.
        overwrite: whether another bundle at the target is replaced.
        engine: where new documents are analysed and encoded, on this machine or on several by Ray.
        announce: a function that is called with the columns that are read, because some may be
            guessed.

    Returns:
        The new bundle, which is open. Its ``manifest.provenance["update"]`` says how many documents
        were added, replaced, deleted, unchanged, and missing among those to delete.

    Raises:
        BundleError: the bundle cannot be read, has no collection, or the disk is full.
        CollectionError: documents to add cannot be read.
        InputError: an address is given, nothing is added or deleted, an id is given twice, no
            document remains, or it is not known how texts must be split.
        UnknownDocumentError: an id to delete is unknown.
        BuildError: the target exists.
        ClusterError: the cluster cannot be used.
    """
    wanted = as_list(delete, "delete", "put the one id in a list")
    if add is None and not wanted:
        raise InputError("there is nothing to change; give documents to add, or ids to delete")
    place = bundle if target is None else target
    in_place = check_source(bundle, place)
    with (
        hint_packages(),
        BundleWriter(place, overwrite=overwrite or in_place) as out,
        connected(engine) as cluster,
        engine.opened(bundle).damage_reported() as source,  # what the update before has written
    ):
        source.need_collection()
        if in_place:
            prune(out.target, VERSIONS)  # what killed writers have left
        if add is not None:
            check_packages(source.manifest)
            _warn_of_cut(source)
        if types is not None:
            options = dataclasses.replace(options or SourceOptions(), types=types)
        reader, types = read_added(
            source, add, options, announce, vectors=vectors, may_be_empty=bool(wanted)
        )
        added = list_documents(reader)
        before, search = read_additions(source), open_search(source)
        changes = find_changes(search, by_id(added), wanted, missing_ok=missing_ok)
        new, _ = place_new(search, changes.changing, before.next)
        joined = find_indexed(join([*read_parts(search, changes.gone), new]), search)
        if cluster is not None and joined.contents.vectors is not None:
            raise InputError(NO_CLUSTER)
        if cluster is not None:
            joined = _with_shards(cluster, joined, source, out.resume_folder)
        provenance, change = {"update": dataclasses.asdict(changes.counts)}, changes.counts.change()
        replaced = before if in_place else None
        write_joined(joined, source, out, replaced, change, provenance, types)
    return load(Path(place))


def _warn_of_cut(source: BundleFiles) -> None:
    """Log a warning for each ranker that has the tokens of the collection only."""
    for name, report in source.manifest.provenance.get("checkpoints", {}).items():
        if VOCABULARY in report:
            _log.warning(
                "%s has the tokens of the collection that it was built of (--vocabulary); other "
                "words of added documents are split into smaller tokens until the next build", name,
            )  # fmt: skip


def read_added(
    source: BundleFiles,
    add: Texts | Files | Source | Collection | None,
    options: SourceOptions | None = None,
    announce: Callable[[str], None] = _log.info,
    *,
    vectors: Vectors | None = None,
    may_be_empty: bool,
) -> tuple[Source | Collection | None, Mapping[str, str]]:
    """Return what reads the documents to add as the bundle's were, and all declared types."""
    if options is not None and (add is None or isinstance(add, Source | Collection)):
        raise InputError(
            "there are no documents to add; leave out what says how they are read"
            if add is None
            else f"a {type(add).__name__} says itself how it is read; leave options out"
        )
    known = source.manifest.declared
    if add is None:
        return None, known
    words, overlap = recorded = source.manifest.splitting
    given = _choose_vectors(source, vectors)
    if isinstance(add, Source) and add.vectors is None:
        add.vectors, add.titles = given, source.manifest.titles
    if isinstance(add, Source | Collection):
        _check_splitting(recorded, add.splitting)
        _check_types(source, add.types)
        if lacking := known.keys() - add.types.keys():
            name = min(lacking)
            raise InputError(
                f"the bundle's {name!r} was declared as {known[name]}, which a "
                f"{type(add).__name__} has to say, too; pass types, or a path"
            )
    else:
        chosen = options or SourceOptions()
        if chosen.splitting != SourceOptions().splitting:
            _check_splitting(recorded, chosen.splitting)
        _check_types(source, chosen.types or {})
        if options is None and not words and not known and _is_collection(add):
            add = Collection(add)
        else:
            chosen = dataclasses.replace(chosen, passage_words=words, overlap_words=overlap)
            add = Source(add, chosen, announce, known)
            add.may_be_empty = may_be_empty
            add.vectors, add.titles = given, source.manifest.titles
    return add, {**known, **add.types}


def _choose_vectors(source: BundleFiles, vectors: Vectors | None) -> GivenVectors | None:
    """Return what has the vectors of documents to add; None if the bundle's are its own.

    Raises:
        InputError: vectors are given, but the bundle has a model.
    """
    found = find_given(source.manifest)
    if found is None:
        if vectors is not None:
            raise InputError(
                "vectors has no effect, because those of the bundle are not from outside; leave "
                "them out"
            )
        return None
    name, settings = found
    if vectors is None:
        vectors = source.manifest.provenance["checkpoints"][name].get("column") or COLUMN
    return GivenVectors(vectors, settings.dimension)


def list_documents(reader: Source | Collection | None) -> Iterable[Document]:
    """Yield the documents to add, which must have ids.

    Raises:
        InputError: they are numbered, so that each would replace the one with its number.
    """
    for document in () if reader is None else reader.documents():
        if isinstance(reader, Source) and reader.columns is not None and not reader.columns.id:
            raise InputError(
                f"the documents of {reader.name} have no ids, so they would replace those that are "
                "numbered 1, 2, …; name the column of their ids by --id-column"
            )
        yield document


def _check_types(source: BundleFiles, given: Mapping[str, str]) -> None:
    """Raise InputError if a column's type would be another one than that of the bundle."""
    manifest = source.manifest
    for name, type_ in given.items():
        before = manifest.declared.get(name) or manifest.metadata.get(name) or type_
        if field_type(before) != field_type(type_):
            raise InputError(
                f"the bundle's {name!r:.80} holds {PLURALS[field_type(before)]}; build it again to "
                f"declare it as {type_}"
            )


def _is_collection(add: Texts | Files) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(add, str | os.PathLike) and is_collection(add)


def _check_splitting(recorded: Splitting, given: Splitting) -> None:
    """Raise InputError if documents would be split in another way than the bundle's documents."""
    if given != recorded:
        raise InputError(
            f"the bundle's texts are split as by {_flags(recorded)}, but those to add would be "
            f"split as by {_flags(given)}; leave these options out"
        )


def _flags(splitting: Splitting) -> str:
    return f"--passage-words {splitting.words} --overlap-words {splitting.overlap}"


def _with_shards(cluster: Cluster, joined: Joined, source: BundleFiles, folder: Path) -> Joined:
    """Return the same documents after shards have indexed the new documents, so that none is new.

    Args:
        cluster: where the shards are indexed.
        joined: the documents.
        source: the bundle.
        folder: keeps finished shards until the new bundle is written.
    """
    contents, origins = joined
    new = origins.new
    if not len(new):
        return joined
    documents = (
        Document(contents.ids[number], contents.titles[number], contents.texts[number])
        for number in new.tolist()
    )
    shards = [each.to_json().encode() for each in cut(documents)]
    bundles = index_shards(cluster, shards, source, folder, titles=source.manifest.titles)
    part, number = origins.part.copy(), origins.number.copy()
    shifts = Shifts([each.manifest.documents for each in bundles])
    part[new], number[new] = np.array(list(map(shifts.place, range(len(new))))).T
    part[new] += len(origins.bundles)
    return Joined(contents, Origins.of([*origins.bundles, *bundles], part, number))
