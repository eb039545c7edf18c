"""What `ranklet train` learns from: judged queries, or with --weak queries made of the texts."""

import argparse
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from filecmp import cmpfiles
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklet.commands.arguments import add_options, options_from
from ranklet.corpus.collections.collection import CORPUS
from ranklet.corpus.judgements.weak import HELD_OUT, LEARN, LEAST_QUERIES, WEAK, make_pairs
from ranklet.corpus.sources.options import WHOLE, SourceOptions
from ranklet.runtime.errors import CollectionError, InputError
from ranklet.runtime.options import options_of
from ranklet.runtime.writing.strangers import files_in, matching, remove_own, strangers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ranklet.corpus.collections.collection import Collection, Document

# What --weak writes.
_OWN = matching(
    CORPUS[0], *(f"{kind}.{name}.*" for kind in ("queries", "qrels") for name in (LEARN, HELD_OUT))
)
QUERIES = 20_000  # one pass of a small encoder takes some ten minutes on two cores


@dataclass(frozen=True)
class Material:
    """A collection, and which of its queries are for what.

    Attributes:
        collection: the documents.
        learn: the split to learn from.
        tune: the split to tune on.
        measured_on: what the tuning queries are.
        facts: what the checkpoint's report says of them, plain values by name.
        remove: removes what was written for this training.
    """

    collection: "Collection"
    learn: str
    tune: str
    measured_on: str = "the tuning queries"
    facts: Mapping[str, Any] = field(default_factory=dict)
    remove: Callable[[], None] = lambda: None


def add_arguments(group: "argparse._ActionsContainer", *, tuned: bool) -> None:
    """Declare the options; a kind that is only `tuned` has one split.

    Those that say how --weak reads texts are `ranklet build`'s and are not shown again.
    """
    learn, tune = _splits(tuned)
    group.add_argument(
        "--split", help=f"judged queries to learn from (default {learn.replace('%', '%%')})"
    )
    if not tuned:
        group.add_argument(
            "--tune", metavar="SPLIT",
            help=f"judged queries to tune on (default {tune.replace('%', '%%')})",
        )  # fmt: skip
    group.add_argument(
        "--weak", choices=WEAK, metavar="NAME",
        help="learn without judgements: titles find their texts, or sentences the rest of theirs; "
        "options of `ranklet build` such as --title-column say how texts are read",
    )  # fmt: skip
    group.add_argument(
        "--weak-queries", type=int, metavar="N",
        help=f"most queries to make with --weak, drawn at random (default {QUERIES})",
    )  # fmt: skip
    add_options(lambda _: group, WHOLE, shown=False)


def read(
    arguments: argparse.Namespace, options: Any, output: Path, state: Path, *, tuned: bool
) -> Material:
    """Return what the arguments name; queries of --weak are made and written next to the output.

    Args:
        arguments: the arguments of the command line.
        options: the kind's options, whose seed draws the queries.
        output: the checkpoint folder to write.
        state: the folder that an interrupted training has left, if it exists.
        tuned: whether the kind is only tuned.

    Raises:
        InputError: arguments contradict each other, the texts give too few queries, or an
            interrupted training is in the way that learned from something else.
        CollectionError: the source cannot be read.
    """
    from ranklet.corpus.collections.collection import Collection
    from ranklet.corpus.judgements.judgements import check_judgements

    given = vars(arguments)
    _check(given, getattr(options, "query_log", ""))
    target = output.with_name(f"{output.name}.weak")
    if arguments.weak is None:
        if state.exists() and target.exists():
            raise InputError(
                f"an interrupted training with --weak is in {str(state)!r}; pass --weak and "
                "--resume to continue it, or remove that folder"
            )
        learn, tune = _splits(tuned)
        splits = {"split": arguments.split or learn}
        if not tuned:
            splits["tune"] = arguments.tune or tune
        try:
            collection = Collection(arguments.source)
        except CollectionError as error:
            raise CollectionError(f"{error}; --weak learns from texts alone") from error
        check_judgements(
            collection, list(splits.values()), collection.lacking, str(collection.path)
        )
        facts = {"collection": collection.name, **splits}
        return Material(collection, splits["split"], splits.get("tune", tune), facts=facts)
    return _made(arguments, getattr(options, "seed", 0), target, state, tuned)


def _made(
    arguments: argparse.Namespace, seed: int, target: Path, state: Path, tuned: bool
) -> Material:
    from ranklet.corpus.progress import say

    _check_place(target)
    path, most = Path(arguments.source), arguments.weak_queries or QUERIES
    documents = _documents(path, options_from(WHOLE, vars(arguments)))
    pairs = make_pairs(documents, arguments.weak, most=most, seed=seed, name=path.absolute().name)
    say(str(pairs))
    if state.exists():
        with tempfile.TemporaryDirectory() as scratch:
            _check_same(target, pairs.write(Path(scratch) / "weak").path, state)
    collection = pairs.write(target)
    held_out = "" if tuned else "held-out "
    return Material(
        collection,
        LEARN,
        HELD_OUT,
        f"{held_out}{arguments.weak}, not judged queries",
        {"weak": arguments.weak, "weak_queries": len(pairs.learn) + len(pairs.held_out)},
        lambda: remove_own(target, _OWN),
    )


def _check_place(target: Path) -> None:
    """Raise InputError if the place of the queries holds anything else, before they are made."""
    if target.exists() and (others := strangers(files_in(target), _OWN)):
        raise InputError(
            f"{str(target)!r} is where the queries of --weak are written, and holds other files: "
            f"{others}; move them away, or choose another output"
        )


def _documents(path: Path, options: SourceOptions) -> "Iterable[Document]":
    """Return the documents of a collection or of another source; no query and no judgement."""
    from ranklet.corpus.collections.collection import Collection, is_collection
    from ranklet.corpus.progress import say
    from ranklet.corpus.sources.source import Source

    if options == WHOLE and is_collection(path):
        return Collection(path).documents()
    return Source(path, options, say).documents()


def _check(given: Mapping[str, Any], query_log: str) -> None:
    """Refuse arguments that would have no effect."""
    most = given["weak_queries"]
    if given["weak"] is not None:
        for name in ("split", "tune"):
            if given.get(name) is not None:
                raise InputError(
                    f"--{name} names judged queries, and --weak learns without them; leave out one "
                    "of the two"
                )
        if query_log:
            raise InputError("--query-log needs judgements; leave it out, or leave out --weak")
        if most is not None and most < LEAST_QUERIES:
            raise InputError(f"--weak-queries is {most}; it must be at least {LEAST_QUERIES}")
        return
    if most is not None:
        raise InputError("--weak-queries needs --weak titles or --weak sentences")
    for declared in options_of(WHOLE):
        if (name := ".".join(declared.path)) in given:
            flag = declared.flag
            raise InputError(f"{flag} needs --weak, because a collection has a known form")


def _check_same(target: Path, new: Path, state: Path) -> None:
    """Raise InputError unless a training's two collections have the same files."""
    names = sorted(path.name for path in new.iterdir())
    same, *_ = cmpfiles(target, new, names, shallow=False)
    if sorted(same) != names:
        raise InputError(
            f"{str(state)!r} holds an interrupted training that learned from other texts or with "
            "other options of --weak; pass the same ones, or remove that folder"
        )


def _splits(tuned: bool) -> tuple[str, str]:
    return ("train", "train") if tuned else ("train[:90%]", "train[90%:]")
