"""Write a dataset of ir_datasets as a folder in BEIR form, which every command reads.

ir_datasets fetches what it does not have. Its texts have licences of their own.
"""

import argparse
from collections.abc import Sequence

from ranklet.commands.output import say
from ranklet.runtime.ground.errors import InputError

EXAMPLE = "example: ranklet irds beir/scifact/train beir/scifact/test -o scifact"
USUAL = ("train", "dev", "test")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "datasets", nargs="+", metavar="[SPLIT=]NAME",
        help="judged datasets of the same documents; without SPLIT, the split is the last part of "
        "the name if that is train, dev or test, and else test",
    )  # fmt: skip
    parser.add_argument("-o", "--output", required=True, help="folder to write")
    parser.add_argument("--force", action="store_true", help="replace a collection that is there")


def needs(_: argparse.Namespace) -> str:
    """Return the smallest extra that suffices."""
    return "pyterrier"


def run(options: argparse.Namespace) -> None:
    """Write the collection."""
    from ranklet.corpus.collections.irds import write_dataset

    splits = list_splits(options.datasets)
    write_dataset(options.output, splits, overwrite=options.force)
    say(f"{', '.join(f'{name} as {split}' for split, name in splits.items())} → {options.output}")


def list_splits(datasets: Sequence[str]) -> dict[str, str]:
    """Return the names of datasets by split.

    >>> list_splits(["beir/scifact/train", "vaswani", "dev=trec-robust04/fold1"])
    {'train': 'beir/scifact/train', 'test': 'vaswani', 'dev': 'trec-robust04/fold1'}

    Raises:
        InputError: two become one split.
    """
    found = dict[str, str]()
    for each in datasets:
        split, _, name = each.rpartition("=")
        last = name.rpartition("/")[2]
        split = split or (last if last in USUAL else USUAL[-1])
        if split in found:
            raise InputError(
                f"{found[split]!r} and {name!r} would both be the split {split}; give "
                f"SPLIT=NAME, such as dev={name}"
            )
        found[split] = name
    return found
