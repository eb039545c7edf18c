"""Add, replace and delete documents of a bundle.

The result is the same as if all documents were indexed again, byte for byte. What models computed
for documents that do not change is used again, so only new ones are encoded.
"""

import argparse

from ranklet.commands.arguments import add_engine, add_group, engine_from, options_from
from ranklet.commands.output import say
from ranklet.corpus.sources.options import SourceOptions
from ranklet.runtime.ground.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="an indexed bundle, which is replaced unless -o is given")
    parser.add_argument(
        "--add",
        metavar="SOURCE",
        help="file or folder with documents; one with a known id replaces the old one",
    )
    parser.add_argument("--delete", nargs="+", default=[], metavar="ID", help="ids to delete")
    parser.add_argument(
        "--delete-file", metavar="FILE", help="file with ids to delete, one per line; - is stdin"
    )
    parser.add_argument(
        "--vectors", metavar="COLUMN|FILE", help="vectors of SOURCE, where the bundle's came from "
        "outside (docs/own-vectors.md)",
    )  # fmt: skip
    parser.add_argument("--missing-ok", action="store_true", help="ids to delete may be unknown")
    parser.add_argument("-o", "--output", help="bundle to write, a folder or .zip")
    parser.add_argument(
        "--live",
        action="store_true",
        help="write only an addition beside the bundle, within milliseconds; see `ranklet compact`",
    )
    parser.add_argument("--force", action="store_true", help="replace another bundle at --output")
    add_group(
        parser, SourceOptions(),
        "How SOURCE is read. Texts are split as those of the bundle were, which these options can "
        "only say if the bundle does not.",
    )  # fmt: skip
    add_engine(parser)


def run(options: argparse.Namespace) -> None:
    """Update the bundle."""
    from ranklet.corpus.building.document_encoding import ENCODING
    from ranklet.corpus.building.folder import INDEXING
    from ranklet.corpus.progress import one_bar
    from ranklet.corpus.progress import say as announce
    from ranklet.corpus.updating.changes import Counts
    from ranklet.corpus.updating.update import update

    if options.add == options.delete_file == "-":
        raise InputError("--add and --delete-file are both standard input; give a file for one")
    given = vars(options)
    read = any(name in given for name in vars(SourceOptions()))
    if options.live:
        _add_live(options, options_from(SourceOptions(), given) if read else None)
        return
    with one_bar((INDEXING, 0.5), (ENCODING, 1.0)):
        bundle = update(
            options.bundle,
            options.add,
            delete=[*options.delete, *_ids(options.delete_file)],
            target=options.output,
            options=options_from(SourceOptions(), given) if read else None,
            vectors=options.vectors,
            missing_ok=options.missing_ok,
            overwrite=options.force,
            engine=engine_from(options),
            announce=announce,
        )
    done = Counts(**bundle.manifest.provenance["update"])
    say(f"{done}: {bundle.size} → {options.output or options.bundle}")


def _add_live(options: argparse.Namespace, read: SourceOptions | None) -> None:
    """Add and delete documents beside the bundle."""
    from ranklet.corpus.updating.writable import WritableBundle

    if options.output:
        raise InputError("--live adds to the bundle itself, so leave -o out")
    ids = [*options.delete, *_ids(options.delete_file)]
    bundle = WritableBundle(options.bundle)
    bundle.change(options.add, ids, missing_ok=options.missing_ok, options=read,
                  vectors=options.vectors)  # fmt: skip
    say(f"{bundle.counts}: {bundle.size} in {options.bundle}")


def _ids(path: str | None) -> list[str]:
    """Return the ids in a file, one per line with all of its white space, without empty lines."""
    from ranklet.corpus.collections.trec import read_lines
    from ranklet.corpus.sources.paths import STANDARD_INPUT

    if path is None:
        return []
    lines = read_lines(STANDARD_INPUT if path == "-" else path)
    ids = (line.removesuffix("\n").removesuffix("\r") for _, line in lines)
    return [each for each in ids if each]
