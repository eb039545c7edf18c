"""Join bundles that have the same rankers into one with all of their documents.

The rankers are compared as exported, whatever was indexed for them.
"""

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from ranklet.corpus.building.indexer import indexer
from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.evaluation.proof_report import REPORT
from ranklet.corpus.indexing.parts import Joined, Part, join
from ranklet.corpus.indexing.reuse import first_passages
from ranklet.corpus.updating.changes import first_ids
from ranklet.corpus.updating.compact import write_joined
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.additions import refuse_additions
from ranklet.runtime.bundles.files import TOKENIZER, BundleFiles
from ranklet.runtime.bundles.manifest import REMARKS
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.extras import hint_packages
from ranklet.runtime.ground.options import as_list, check_one_of
from ranklet.runtime.ground.short_tracebacks import short_tracebacks
from ranklet.runtime.onnx.parity import PARITY
from ranklet.runtime.ranking import load
from ranklet.runtime.storage.address import BundleLike, on_disk

Prefer = Literal["none", "first", "last"]
PREFER = get_args(Prefer)


@short_tracebacks
def merge(
    bundles: Sequence[BundleLike],
    target: str | Path,
    *,
    prefer: Prefer = "none",
    overwrite: bool = False,
) -> Bundle:
    """Write a bundle with the documents of several ones, which have the same rankers.

    The result is the same as if the rankers were indexed with all documents at once, byte for byte,
    apart from the date and the provenance. The documents of the first bundle come first. Pipelines
    are those of the first bundle.

    Args:
        bundles: two or more, each with a collection.
        target: a folder or a path that ends in .zip.
        prefer: which bundle a document is taken from that several have: the first or the last of
            them, or "none" to refuse that. The document stands where the first of them has it.
        overwrite: whether an existing bundle is replaced.

    Returns:
        The bundle, which is open.

    Raises:
        BundleError: a bundle cannot be read, or has no collection.
        InputError: there are fewer than two bundles, their rankers or the ways in which their texts
            were split differ, or two have a document of the same id.
        BuildError: the target exists.
    """
    bundles = as_list(bundles, "bundles", "merge needs two bundles or more")
    if len(bundles) < 2:
        raise InputError("merge needs a list of two bundles or more")
    for path in bundles:
        on_disk(path)
    check_one_of("prefer", prefer, PREFER)
    with hint_packages(), BundleWriter(target, overwrite=overwrite) as writer:
        sources = [BundleFiles(each, check="full") for each in bundles]
        for source in sources:
            source.need_collection()
            refuse_additions(source)
        for other in sources[1:]:
            check_same(sources[0], other)
        manifests = [each.manifest for each in sources]
        provenance = {
            "merged": [str(path) for path in bundles],
            REMARKS: _unite(each.remarks for each in manifests),
        }
        types = _unite(each.declared for each in manifests)
        joined = _join(sources, prefer)
        write_joined(joined, sources[0], writer, provenance=provenance, types=types)
    return load(Path(target))


def _unite(parts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return all entries of some mappings; the first that has a key decides."""
    return dict(ChainMap(*map(dict, parts)))


def _join(sources: Sequence[BundleFiles], prefer: Prefer) -> Joined:
    """Return the documents of all bundles, each once.

    Raises:
        InputError: two bundles have a document of the same id, and none is preferred.
    """
    collections = [source.need_documents() for source in sources]
    owners: dict[bytes, list[tuple[int, int]]] = {}  # id → bundle and first passage, in order
    for at, documents in enumerate(collections):
        for first_number in np.unique(first_passages(documents)).tolist():
            own_id = documents.ids.raw(first_number)
            owners.setdefault(own_id, []).append((at, first_number))
    twice = [id_.decode("utf-8", "replace") for id_, found in owners.items() if len(found) > 1]
    if twice and prefer == "none":
        raise InputError(
            f"several bundles have the document{'s' * (len(twice) > 1)} {first_ids(twice)}; pass "
            "--prefer first or last to take each from the first or the last of them"
        )
    places = [np.full(len(each), -1) for each in collections]
    for place, found in enumerate(owners.values()):
        at, number = found[-1 if prefer == "last" else 0]
        places[at][number] = place
    # Passages stand with the first one of their document.
    own = [each[first_passages(stored)] for each, stored in zip(places, collections, strict=True)]
    return join(list(map(Part, own, sources)))


def check_same(one: BundleFiles, other: BundleFiles) -> None:
    """Raise InputError if documents of two bundles cannot be in one.

    Their rankers must be equal, and their texts must be ranked with or without titles and split
    alike.
    """
    where = f"{str(one.path)!r} and {str(other.path)!r}"
    ours, theirs = one.manifest, other.manifest
    if set(ours.rankers) != set(theirs.rankers):
        raise InputError(
            f"{where} have different rankers: {', '.join(ours.rankers)}, and "
            f"{', '.join(theirs.rankers)}; index the same rankers for both with `ranklet index`"
        )
    if ours.titles != theirs.titles:
        raise InputError(f"only one of {where} ranks titles; index both alike")
    for name in ours.rankers:
        if what := _difference(one, other, name):
            raise InputError(
                f"the ranker {name!r} is not the same in {where}: its {what} differ; index the "
                "same rankers for both with `ranklet index`"
            )
    if _tokenizer(one) != _tokenizer(other):
        raise InputError(f"{where} have different tokenizers; index the same rankers for both")
    if ours.normaliser != theirs.normaliser or ours.languages != theirs.languages:
        raise InputError(
            f"{where} differ in their languages or in what forms of a word have in common: "
            f"{', '.join(ours.languages)} by {ours.normaliser}, and {', '.join(theirs.languages)} "
            f"by {theirs.normaliser}; index both alike"
        )
    for name in ours.declared.keys() & theirs.declared.keys():
        if (one_type := ours.declared[name]) != (other_type := theirs.declared[name]):
            raise InputError(
                f"{where} declare {name!r:.80} as {one_type} and as {other_type}; build both alike"
            )
    if ours.splitting != theirs.splitting:
        raise InputError(
            f"{where} split texts differently, into passages of {ours.splitting.words} words with "
            f"{ours.splitting.overlap} shared, and of {theirs.splitting.words} with "
            f"{theirs.splitting.overlap}; index both alike"
        )


def _difference(one: BundleFiles, other: BundleFiles, name: str) -> str:
    """Return which part of a ranker differs, "" if nothing does."""
    ours, theirs = (each.manifest.rankers[name] for each in (one, other))
    if ours.kind != theirs.kind:
        return "kinds"
    if {**ours.settings, **ours.replaced} != {**theirs.settings, **theirs.replaced}:
        return "settings"
    own = indexer(ours.kind)
    if _model(one, name) != _model(other, name):
        return "models"
    return "" if own.learned(one, name) == own.learned(other, name) else "tables"


def _model(bundle: BundleFiles, name: str) -> dict[str, str]:
    """Return the sha256 of every file of a ranker that does not depend on the collection."""
    own = indexer(bundle.manifest.rankers[name].kind)
    written = (*own.indexed, REPORT, PARITY)  # a proof is no part of a model
    folder = f"rankers/{name}/"
    return {
        path: entry.sha256
        for path, entry in bundle.manifest.files.items()
        if path.startswith(folder) and not path.removeprefix(folder).startswith(written)
    }


def _tokenizer(bundle: BundleFiles) -> str:
    entry = bundle.manifest.files.get(TOKENIZER)
    return entry.sha256 if entry else ""
