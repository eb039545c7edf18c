"""Bring a bundle to the state of a folder or a table; what is gone is deleted.

FOLDER has texts and other documents, one per file, or it is a table, or has tables. A bundle that
does not exist is built of words; build it by `ranklet build FOLDER --model …` to have another one.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ranklet.commands.arguments import add_group, options_from
from ranklet.commands.output import say
from ranklet.corpus.sources.options import SourceOptions

if TYPE_CHECKING:
    from ranklet.corpus.updating.changes import Counts
    from ranklet.corpus.updating.writable import WritableBundle

PAUSE = 1.0  # seconds between two looks at the folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("folder", metavar="FOLDER", help="folder of texts, or a table")
    parser.add_argument("bundle", help="bundle of these texts, a folder or .zip")
    parser.add_argument(
        "--watch", action="store_true", help="look again every second, until Ctrl-C"
    )
    parser.add_argument(
        "--max-deleted", metavar="N",
        help="change nothing if more documents would be deleted (default 20%%, or 10 if that is at "
        "most half)",
    )  # fmt: skip
    add_group(parser, SourceOptions(), "How FOLDER is read.")


def run(options: argparse.Namespace) -> None:
    """Sync once, or until Ctrl-C."""
    from time import sleep

    from ranklet.corpus.progress import say as print_line
    from ranklet.corpus.sources.source import Source
    from ranklet.corpus.updating.sync import list_text_files, remember, sync
    from ranklet.corpus.updating.synced_files import see_files
    from ranklet.corpus.updating.synced_table import holds_rows
    from ranklet.corpus.updating.writable import WritableBundle
    from ranklet.runtime.ground.errors import InputError, RankletError
    from ranklet.runtime.storage.address import writable
    from ranklet.workflows.build import build

    given = vars(options)
    said = any(name in given for name in vars(SourceOptions()))
    read = options_from(SourceOptions(), given) if said else None
    target = writable(options.bundle)
    table = holds_rows(options.folder, read)
    if table and options.watch:
        raise InputError("--watch looks at a folder of texts; sync a table each time it is written")
    if table and not target.exists():
        built = build(Source(options.folder, read, print_line, fresh=True), target)
        say(f"{len(built):,} added: {built.size} in {target}")
        return
    if not target.exists():
        files = list_text_files(Path(options.folder), read)
        seen, _ = see_files(files, {})  # before they are read, because they may change
        source = Source(files, read)
        build(source, target)
        remember(WritableBundle(target), files, seen, whole=not source.problems.counts)
    bundle = WritableBundle(target)
    counts = sync(bundle, options.folder, read, max_deleted=options.max_deleted)
    _tell(counts, bundle)
    told = bundle.skipped
    while options.watch:
        sleep(PAUSE)
        try:
            counts = sync(bundle, options.folder, read, max_deleted=options.max_deleted)
        except RankletError as error:  # a file may be half written, or gone for a moment
            now = tuple(str(error).splitlines())
            if now != told:
                say(*now)
        else:
            now = bundle.skipped
            if now != told or counts.added or counts.replaced or counts.deleted:
                _tell(counts, bundle)
        told = now


def _tell(counts: "Counts", bundle: "WritableBundle") -> None:
    say(f"{counts}: {bundle.size} in {bundle.path}")
    if bundle.skipped:
        say("what the bundle holds of these stays:", *bundle.skipped)
