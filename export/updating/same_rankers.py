"""Compare the rankers of bundles as exported, whatever was indexed for them."""

from ranklet.export.exporter import exporter
from ranklet.runtime.bundles.files import TOKENIZER, BundleFiles
from ranklet.runtime.errors import InputError

_REPORT = "report.json"  # proofs, no part of a model


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
    own = exporter(ours.kind)
    if _model(one, name) != _model(other, name):
        return "models"
    return "" if own.learned(one, name) == own.learned(other, name) else "tables"


def _model(bundle: BundleFiles, name: str) -> dict[str, str]:
    """Return the sha256 of every file of a ranker that does not depend on the collection."""
    written = (*exporter(bundle.manifest.rankers[name].kind).indexed, _REPORT)
    folder = f"rankers/{name}/"
    return {
        path: entry.sha256
        for path, entry in bundle.manifest.files.items()
        if path.startswith(folder) and not path.removeprefix(folder).startswith(written)
    }


def _tokenizer(bundle: BundleFiles) -> str:
    entry = bundle.manifest.files.get(TOKENIZER)
    return entry.sha256 if entry else ""
