"""Check every byte and every number of a bundle against the format.

The bytes of a folder with graphs in onnx/, which other libraries read, are compared with its stored
proof. With --full its graphs are compared with their original model again, by PyTorch's scores of
real texts. The exit status is 3 if a graph differs too much.
"""

import argparse
from pathlib import Path

from ranklet.commands.output import say, show
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.storage.address import is_address, shown

REFUSED = 3  # exit status if a graph differs too much


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "bundle", help="bundle, a folder, .zip or address; or a folder with graphs in onnx/"
    )
    group = parser.add_argument_group("graphs in onnx/")
    group.add_argument("--full", action="store_true", help="prove the graphs again")
    group.add_argument(
        "--original", metavar="MODEL",
        help="model that they were made of, for --full, if the folder itself has no weights",
    )  # fmt: skip
    group.add_argument(
        "--texts", metavar="SOURCE",
        help="texts for --full (default: ranklet's own)",
    )  # fmt: skip


def needs(options: argparse.Namespace) -> str:
    """Return the smallest extra that suffices."""
    return "export" if _has_graphs(options.bundle) and _proves(options) else ""


def run(options: argparse.Namespace) -> int:
    """Check the bundle and print every part that is correct."""
    from ranklet.runtime.rankers.verification import verify

    if _has_graphs(options.bundle):
        return _compare(options) if _proves(options) else _check(options.bundle)
    if _proves(options):
        raise InputError("--full, --original and --texts are for a folder with graphs in onnx/")
    for checked in verify(options.bundle):
        say(f"ok  {checked}")
    say(f"{shown(options.bundle)} is valid")
    return 0


def _has_graphs(path: str) -> bool:
    return not is_address(path) and any(Path(path).glob("onnx/*.onnx"))


def _proves(options: argparse.Namespace) -> bool:
    """Return whether graphs are proven again, which only makes sense of the others' options."""
    return bool(options.full or options.original or options.texts)


def _check(folder: str) -> int:
    """Check the bytes of a folder and print its stored proof."""
    from ranklet.corpus.evaluation.proof_report import report_table
    from ranklet.export.hub.verifying import check_files, compare_outputs

    reports = check_files(folder)
    show(report_table(reports))
    for compared in compare_outputs(folder):
        say(f"ok  {compared}")
    say(f"{folder} has the bytes that were proven; --full proves them again")
    return 0


def _compare(options: argparse.Namespace) -> int:
    """Compare the graphs of a folder with the original, and return the exit status."""
    from dataclasses import replace

    from ranklet.commands.export import read_unjudged
    from ranklet.corpus.evaluation.proof_report import report_table
    from ranklet.export.hub.verifying import has_weights, verify_hub
    from ranklet.training.imported.hub import model_folder
    from ranklet.training.imported.importing import read_model

    if options.original is None and not has_weights(options.bundle):
        raise InputError(
            f"{options.bundle!r} has no weights to compare its graphs with; give the model that "
            "they were made of by --original FOLDER"
        )
    checkpoint = read_model(model_folder(options.original or options.bundle))
    probes = (not options.texts and checkpoint.probes) or read_unjudged(options.texts, None)
    reports = verify_hub(options.bundle, replace(checkpoint, probes=probes))
    show(report_table(reports))
    return REFUSED if any(report.refused for report in reports) else 0
