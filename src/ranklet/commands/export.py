"""Pack checkpoints into a bundle of rankers; neural ones as ONNX variants that are proven first.

The same as the command export-onnx. A variant whose scores stray too far from PyTorch's on real
pairs is not written, and the exit status is then 3.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ranklet.runtime.errors import InputError

if TYPE_CHECKING:
    from ranklet.training.checkpoint import Checkpoint
    from ranklet.training.data.probes import Probes

REFUSED = 3  # exit status where a variant was refused and others were written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "checkpoints",
        nargs="+",
        metavar="[NAME=]CHECKPOINT",
        help="checkpoint folder, and the ranker's name in the bundle (the folder's, unless given); "
        "the first retriever named is the default one",
    )
    parser.add_argument("-o", "--output", required=True, help="bundle to write: a folder or .zip")
    parser.add_argument("--force", action="store_true", help="replace a bundle that is there")
    parser.add_argument(
        "--variants",
        default="fp32,int8",
        help="comma-separated, of fp32, fp16 (GPU) and int8 (processor) (default: %(default)s)",
    )
    parser.add_argument(
        "--probes", help="collection to prove the variants on (default: what training set aside)"
    )
    parser.add_argument("--split", help="of --probes (default: dev)")
    parser.add_argument(
        "--max-ndcg-loss",
        type=float,
        default=0.01,
        help="largest relative loss of nDCG@10 against PyTorch (default: %(default)s)",
    )
    parser.add_argument("--max-mb", type=float, help="largest size of a variant's file")
    parser.add_argument(
        "--prune",
        help="epic: values kept of a document's vector, or auto: as few as lose next to nothing on "
        "the probes (default: 1000)",
    )
    parser.add_argument(
        "--impacts",
        help="epic: what its impact index stores values as: float32, float16 or uint8 (default: "
        "float16)",
    )


def run(options: argparse.Namespace) -> int:
    """Export; returns the exit status."""
    from ranklet.export.bundles import export_bundle
    from ranklet.export.options import ExportOptions
    from ranklet.export.proof.report import read_reports, report_table

    if options.split and not options.probes:
        raise InputError("--split is of --probes: give the collection, too")
    chosen = ExportOptions(
        variants=tuple(options.variants.split(",")),
        probes=_probes(options.probes, options.split or "dev") if options.probes else None,
        max_ndcg_loss=options.max_ndcg_loss,
        max_mb=options.max_mb,
        prune=_prune(options.prune) if options.prune else ExportOptions.prune,
        impacts=options.impacts or ExportOptions.impacts,
    )
    checkpoints = read_checkpoints(options.checkpoints)
    kinds = {each.kind for each in checkpoints.values()}
    if "epic" not in kinds and (options.prune or options.impacts):
        raise InputError("--prune and --impacts are for an epic, and no checkpoint is one")
    export_bundle(checkpoints, options.output, chosen, overwrite=options.force)
    reports = read_reports(options.output)
    for name, proofs in reports.items():
        print(f"{name}\n{report_table(proofs)}")
    print(f"{', '.join(checkpoints)} → {options.output}")
    refused = any(proof.refused for proofs in reports.values() for proof in proofs)
    return REFUSED if refused else 0


def read_checkpoints(given: list[str]) -> "dict[str, Checkpoint]":
    """Read NAME=PATH or PATH arguments.

    Raises:
        InputError: a name comes twice, or a checkpoint cannot be read.
    """
    from ranklet.training.checkpoint import read_checkpoint

    found = {}
    for each in given:
        name, _, path = each.partition("=")
        if not path or Path(each).exists():  # no name, or a path that holds a "="
            name, path = Path(each).resolve().name, each
        if name in found:
            raise InputError(f"two rankers are named {name!r}; name them: NAME=CHECKPOINT")
        found[name] = read_checkpoint(path)
    return found


def _prune(given: str) -> int | None:
    if given == "auto":
        return None
    if not given.isdecimal():
        raise InputError(f"--prune {given!r} is neither a whole number nor auto")
    return int(given)


def _probes(path: str, split: str) -> "Probes":
    from ranklet.training.data.collection import Collection
    from ranklet.training.data.probes import draw_probes
    from ranklet.training.data.splits import read_split

    collection = Collection(path)
    return draw_probes(collection.documents(), read_split(collection, split))
