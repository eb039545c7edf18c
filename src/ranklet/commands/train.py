"""Train a ranker and write a checkpoint folder.

The exit status is 3 if the checkpoint was written, but the training made too few steps or its gain
is not sure.
"""

import argparse
import ctypes
import os
import platform
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ranklet.commands.arguments import add_options, options_from
from ranklet.commands.output import complain, show
from ranklet.commands.parser import OptionParser
from ranklet.corpus.languages.options import TextOptions
from ranklet.runtime.kinds import KINDS

FELL_SHORT = 3  # exit status
STATUS = f"Exit status {FELL_SHORT}: written, but the steps are too few or the gain is not sure."
PIECES = "{} reads word pieces, which are the same in every language; leave {} out"

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # parameters of mallopt(3)
LARGEST = 2**31 - 1  # bytes; mallopt takes an int
# Who sets one of these has decided about the allocator.
DECIDED = ("MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare a subcommand for each kind, with the options of its dataclass."""
    of_papers = [name for name, kind in KINDS.items() if kind.of_papers]
    kinds = parser.add_subparsers(
        dest="kind", metavar="KIND", title="kinds", required=True, parser_class=OptionParser,
        description="`ranklet train KIND --help` shows the options of one. Kinds to use come "
        f"first; {', '.join(of_papers[:-1])} and {of_papers[-1]} reproduce papers.",
    )  # fmt: skip
    for kind in KINDS:
        module = import_module(f"ranklet.training.rankers.{kind}.options")
        about = (module.__doc__ or kind).splitlines()[0]
        _add_kind(
            kinds.add_parser(
                kind, help=about, description=about, add_help=False,
                usage="%(prog)s COLLECTION -o PATH [options]", epilog=STATUS,
            ),
            kind,
            module.Options(),
        )  # fmt: skip


def _add_kind(parser: OptionParser, kind: str, options: Any) -> None:
    titles = ["data", kind, "training"]
    if hasattr(options, "words"):
        titles.append(TextOptions.GROUP)
    else:
        flags = ("--language", "--normaliser", "--forms")
        parser.reasons = {flag: PIECES.format(kind, flag) for flag in flags}
    groups = {title: parser.add_argument_group(title) for title in titles}
    data = groups["data"]
    data.add_argument(
        "collection", metavar="COLLECTION", help="folder of a collection in BEIR form"
    )
    data.add_argument(
        "-o", "--output", metavar="PATH", required=True, help="checkpoint folder to write"
    )
    data.add_argument("--force", action="store_true", help="replace a checkpoint that is there")
    _add_splits(data, *_splits(kind))
    data.add_argument(
        "--max-queries", type=int, metavar="N", default=1000,
        help="most queries to tune on, drawn at random (default 1000, from 1)",
    )  # fmt: skip
    add_options(groups.__getitem__, options)
    data.add_argument("-h", "--help", action="help", help="show this help")


def _add_splits(group: "argparse._ActionsContainer", learn: str, tune: str = "") -> None:
    group.add_argument(
        "--split", default=learn,
        help=f"judged queries to learn from (default {learn.replace('%', '%%')})",
    )  # fmt: skip
    if tune:
        group.add_argument(
            "--tune", metavar="SPLIT", default=tune,
            help=f"judged queries to tune on (default {tune.replace('%', '%%')})",
        )  # fmt: skip


def _splits(kind: str) -> tuple[str, ...]:
    """Return the splits that a kind learns from and, unless it is only tuned, is tuned on."""
    return ("train",) if KINDS[kind].only_tuned else ("train[:90%]", "train[90%:]")


def needs(arguments: argparse.Namespace) -> str:
    """Return the smallest extra that suffices."""
    return "" if KINDS[arguments.kind].lexical else "train"


def run(arguments: argparse.Namespace) -> int:
    """Train and save; return the exit status."""
    from ranklet.corpus.collections.collection import Collection
    from ranklet.corpus.collections.splits import read_split
    from ranklet.corpus.evaluation.overlap import count_shared
    from ranklet.corpus.judgements.judgements import check_judgements
    from ranklet.corpus.progress import say, warn
    from ranklet.training.checkpoint import check_place
    from ranklet.training.kept_state import compute_digest, has_state, remove_state, state_folder
    from ranklet.training.learning.options import TrainingOptions
    from ranklet.training.outcome import SHARED, summary
    from ranklet.training.train import load_options, train

    # What is wrong is reported before hours of training, not after them.
    output = Path(arguments.output)
    check_place(output, replace=arguments.force)
    options = options_from(load_options(arguments.kind)(), vars(arguments))
    state = state_folder(output)
    if isinstance(options, TrainingOptions):
        keep_freed_memory()
        resume = options.resume and has_state(state)
        options = replace(options, folder=state, resume=resume)
    tuned, limit = KINDS[arguments.kind].only_tuned, arguments.max_queries
    collection = Collection(arguments.collection)
    splits = {name: getattr(arguments, name) for name in ("split", "tune")[: 1 if tuned else 2]}
    check_judgements(collection, list(splits.values()), collection.lacking, str(collection.path))
    try:
        queries = read_split(collection, arguments.split, limit=limit if tuned else None)
        dev = [] if tuned else read_split(collection, arguments.tune, limit=limit)
        known = count_shared(queries, dev)
        if known:
            say(
                f"{known:,} of {len(dev):,} tuning queries have a relevant document that a query "
                "to learn from has, too; what is measured on them is too high for new documents"
            )
        if isinstance(options, TrainingOptions):
            options = replace(options, data=compute_digest(collection, queries, dev))
        checkpoint = train(arguments.kind, collection, queries, dev, options)
    except KeyboardInterrupt:
        if state.exists():
            complain(f"\n--resume goes on from {state}")
        raise
    facts = {"collection": collection.name, **splits, **({} if tuned else {SHARED: known})}
    checkpoint = replace(checkpoint, training={**checkpoint.training, **facts})
    checkpoint.save(output)
    remove_state(state)
    if not isinstance(options, TrainingOptions):
        show(str(checkpoint.settings))
    show(summary(checkpoint.training))
    measured = "comparison" in checkpoint.training
    show(f"measured on the tuning queries → {output}" if measured else f"→ {output}")
    if warning := checkpoint.training.get("warning"):
        warn(warning)
        return FELL_SHORT
    return 0


def keep_freed_memory() -> bool:
    """Let glibc neither return freed memory to the system nor map large blocks one by one.

    Otherwise each step of a training on a processor maps its tensors anew, and the system clears
    their pages. That took up to 40 % of a training's time. The process keeps its largest size.

    Returns:
        Whether the setting was made. It is not made with other C libraries, or if the environment
        sets the allocator.
    """
    if platform.libc_ver()[0] != "glibc" or any(name.startswith(DECIDED) for name in os.environ):
        return False
    mallopt = ctypes.CDLL(None).mallopt
    kept, mapped = mallopt(TRIM_THRESHOLD, LARGEST), mallopt(MMAP_MAX, 0)
    return bool(kept and mapped)
