"""Pack checkpoints into a bundle of rankers, and neural rankers as proven ONNX variants.

The command export-onnx does the same. If the scores of a variant differ too much from PyTorch's on
real pairs, the variant is not written and the exit status is 3.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ranklet.runtime.errors import InputError

if TYPE_CHECKING:
    from ranklet.training.checkpoint import Checkpoint
    from ranklet.training.data.probes import Probes

SETTINGS = ("impacts", "scorer", "search", "m", "ef_construction", "ef")
REFUSED = 3  # exit status if a variant was refused and others were written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "checkpoints",
        nargs="+",
        metavar="[NAME=]CHECKPOINT",
        help="checkpoint folder and the ranker's name in the bundle (default: the folder's name); "
        "the first ranker that can retrieve is the default retriever",
    )
    parser.add_argument("-o", "--output", required=True, help="bundle to write, a folder or .zip")
    parser.add_argument("--force", action="store_true", help="replace an existing bundle")
    parser.add_argument(
        "--variants",
        default="fp32,int8",
        help="comma-separated variants to write, of fp32, fp16 (for GPUs) and int8 (for CPUs)",
    )
    parser.add_argument(
        "--probes",
        help="collection to prove the variants on (default: the probes stored with a checkpoint)",
    )
    parser.add_argument("--split", help="split of the --probes collection (default: dev)")
    parser.add_argument(
        "--max-ndcg-loss",
        type=float,
        default=0.01,
        help="maximum relative loss of nDCG@10 against PyTorch",
    )
    parser.add_argument("--max-mb", type=float, help="maximum size of a variant's file in MB")
    parser.add_argument(
        "--prune",
        help="sparse vectors: number of values to keep per document, or auto for as few as lose "
        "next to nothing on the probes (default: 1000)",
    )
    group = parser.add_argument_group("settings of some kinds", "They replace the checkpoint's.")
    group.add_argument("--impacts", help="learned impacts: stored as float32, float16 or uint8")
    group.add_argument(
        "--scorer", help="onnx to run the network, or what a kind has instead, table or impacts"
    )
    group.add_argument(
        "--search",
        choices=("exact", "hnsw"),
        help="dense vectors: how to search them, whatever their number (default: exact for fewer "
        "than 50,000 documents, otherwise hnsw)",
    )
    group.add_argument("--m", type=int, help="HNSW: links per vector (default: 16)")
    group.add_argument(
        "--ef-construction", type=int, help="HNSW: candidates while it is built (default: 200)"
    )
    group.add_argument(
        "--ef", type=int, help="HNSW: candidates while it is searched (default: 128)"
    )


def run(options: argparse.Namespace) -> int:
    """Export, print the proofs and return the exit status."""
    from ranklet.export.bundles import export_bundle
    from ranklet.export.options import ExportOptions
    from ranklet.export.proof.report import read_reports, report_table
    from ranklet.export.rankers import exporter

    if options.split and not options.probes:
        raise InputError("--split needs --probes; give the collection, too")
    chosen = ExportOptions(
        variants=tuple(options.variants.split(",")),
        probes=_probes(options.probes, options.split or "dev") if options.probes else None,
        max_ndcg_loss=options.max_ndcg_loss,
        max_mb=options.max_mb,
        prune=_prune(options.prune) if options.prune else ExportOptions.prune,
        settings={key: value for key in SETTINGS if (value := getattr(options, key)) is not None},
    )
    checkpoints = read_checkpoints(options.checkpoints)
    if options.prune and not any(exporter(each.kind).prunes for each in checkpoints.values()):
        raise InputError("--prune needs a ranker of sparse vectors, and no checkpoint is one")
    export_bundle(checkpoints, options.output, chosen, overwrite=options.force)
    reports = read_reports(options.output)
    for name, proofs in reports.items():
        print(f"{name}\n{report_table(proofs)}")
    print(f"{', '.join(checkpoints)} → {options.output}")
    refused = any(proof.refused for proofs in reports.values() for proof in proofs)
    return REFUSED if refused else 0


def read_checkpoints(arguments: list[str]) -> "dict[str, Checkpoint]":
    """Read NAME=PATH or PATH arguments; return the checkpoints by name.

    Raises:
        InputError: two rankers have the same name, or a checkpoint cannot be read.
    """
    from ranklet.training.checkpoint import read_checkpoint

    checkpoints = {}
    for argument in arguments:
        name, _, path = argument.partition("=")
        if not path or Path(argument).exists():  # no name, or a path that contains "="
            name, path = Path(argument).resolve().name, argument
        if name in checkpoints:
            raise InputError(f"two rankers are named {name!r}; rename one by NAME=CHECKPOINT")
        checkpoints[name] = read_checkpoint(path)
    return checkpoints


def _prune(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdecimal():
        raise InputError(f"--prune {text!r} is neither a whole number nor auto")
    return int(text)


def _probes(path: str, split: str) -> "Probes":
    from ranklet.training.data.collection import Collection
    from ranklet.training.data.probes import draw_probes
    from ranklet.training.data.splits import read_split

    collection = Collection(path)
    return draw_probes(collection.documents(), read_split(collection, split))
