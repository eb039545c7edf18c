"""Bring a bundle to the state of a table: its rows are added or replaced, others are deleted."""

from pathlib import Path

from ranklet.corpus.sources.databases import SCHEME
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.paths import list_source_files
from ranklet.corpus.updating.changes import Counts, first_ids
from ranklet.corpus.updating.update import list_documents, read_added
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime.ground.errors import InputError

_FEW = 10  # documents that may go, or half of a smaller bundle, if nobody has said how many
_SHARE = "20%"


def holds_rows(given: str | Path, options: SourceOptions | None) -> bool:
    """Return whether a path or an address has rows with ids, and no texts that are files."""
    if str(given).startswith(SCHEME):
        return True
    return not list_source_files(Path(given), options or SourceOptions()).are_texts


def sync_table(
    bundle: WritableBundle,
    table: str | Path,
    options: SourceOptions | None = None,
    max_deleted: str | None = None,
) -> Counts:
    """Add the rows of a table, replace what they change, and delete documents that it lacks.

    With `skip_bad`, nothing is deleted if a row cannot be read, because nobody knows its id.

    Raises:
        CollectionError: a row cannot be used; nothing is written then.
        InputError: more documents than `max_deleted` would be deleted; nothing is written.
    """
    bundle._reload()
    reader, _ = read_added(bundle.files, str(table), options, may_be_empty=False)
    given = {each.id for each in list_documents(reader)}
    faults = str(getattr(reader, "problems", ""))
    gone = [] if faults else [each for each in bundle.ids() if each not in given]
    check_deleted(gone, len(bundle), max_deleted)
    skip_bad = options is not None and options.skip_bad
    return bundle.change(reader, gone, missing_ok=True, skip_bad=skip_bad).counts


def check_deleted(gone: list[str], total: int, most: str | None) -> None:
    """Raise InputError if more documents would be deleted than a count or a share of all.

    >>> check_deleted(["a"], 100, "1%"), check_deleted(["a"], 2, None)
    (None, None)
    """
    share = most or _SHARE
    try:
        number = float(share.removesuffix("%"))
        limit = int(total * number / 100 if share.endswith("%") else number)
    except (ValueError, OverflowError):
        limit = -1
    if limit < 0:
        raise InputError(f"--max-deleted is {most!r:.40}; give a share such as 20%, or a count")
    if not most:
        limit = max(limit, min(_FEW, total // 2))
    if len(gone) > limit:
        raise InputError(
            f"nothing was changed, because {len(gone):,} of {total:,} documents would be deleted "
            f"({first_ids(gone)}), more than {share}; if they are gone, pass "
            f"--max-deleted {len(gone)}"
        )
