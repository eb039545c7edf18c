"""Check every byte and every number of a bundle against the format.

A folder with graphs in onnx/, which other libraries read, is compared with its original model, by
PyTorch's scores of real texts. The exit status is 3 if a graph differs too much.
"""

import argparse
from pathlib import Path

from ranklet.commands.output import say, show
from ranklet.runtime.errors import InputError
from ranklet.runtime.storage.address import is_address, shown

REFUSED = 3  # exit status if a graph differs too much


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "bundle", help="bundle, a folder, .zip or address; or a folder with graphs in onnx/"
    )
    group = parser.add_argument_group("graphs in onnx/")
    group.add_argument(
        "--original", metavar="MODEL",
        help="model that they were made of, if its weights are not in the folder itself",
    )  # fmt: skip
    group.add_argument(
        "--texts", metavar="SOURCE",
        help="texts to compare them on (default: ranklet's own)",
    )  # fmt: skip


def needs(options: argparse.Namespace) -> str:
    """Return the smallest extra that suffices."""
    return "export" if _has_graphs(options.bundle) else ""


def run(options: argparse.Namespace) -> int:
    """Check the bundle and print every part that is correct."""
    from ranklet.runtime.verification import verify

    if _has_graphs(options.bundle):
        return _compare(options)
    if options.original or options.texts:
        raise InputError("--original and --texts are for a folder with graphs in onnx/")
    for checked in verify(options.bundle):
        say(f"ok  {checked}")
    say(f"{shown(options.bundle)} is valid")
    return 0


def _has_graphs(path: str) -> bool:
    return not is_address(path) and any(Path(path).glob("onnx/*.onnx"))


def _compare(options: argparse.Namespace) -> int:
    """Compare the graphs of a folder with the original, and return the exit status."""
    from dataclasses import replace

    from ranklet.commands.export import unjudged
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
    probes = checkpoint.probes or unjudged(options.texts, None)
    reports = verify_hub(options.bundle, replace(checkpoint, probes=probes))
    show(report_table(reports))
    return REFUSED if any(report.refused for report in reports) else 0
