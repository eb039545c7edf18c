"""Check every byte and every number of a bundle against the format.

With --canary, answers are compared with those that an earlier --canary kept beside the bundle, and
the exit status is 3 if the first hits of a query are others.

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
    parser.add_argument(
        "--canary",
        action="store_true",
        help="keep the bundle's answers to queries of its own texts in BUNDLE.canary.json, or "
        "compare with what is kept there, to notice another processor, model or tokenizer",
    )
    group = parser.add_argument_group("graphs in onnx/")
    group.add_argument(
        "--original", metavar="MODEL",
        help="model that they were made of, if its weights are not in the folder itself",
    )  # fmt: skip
    group.add_argument(
        "--texts", metavar="SOURCE",
        help="texts to compare them on (default: the documentation inside Python)",
    )  # fmt: skip


def needs(options: argparse.Namespace) -> str:
    """Return the smallest extra that suffices."""
    return "export" if _has_graphs(options.bundle) else ""


def run(options: argparse.Namespace) -> int:
    """Check the bundle and print every part that is correct."""
    from ranklet.runtime.verification import verify

    if _has_graphs(options.bundle):
        if options.canary:
            raise InputError("--canary is for a bundle, and this is a folder of graphs")
        return _compare(options)
    if options.original or options.texts:
        raise InputError("--original and --texts are for a folder with graphs in onnx/")
    if options.canary and is_address(options.bundle):
        raise InputError(
            f"{shown(options.bundle)!r} is an address, beside which nothing can be kept; download "
            "the bundle for --canary"
        )
    for checked in verify(options.bundle):
        say(f"ok  {checked}")
    say(f"{shown(options.bundle)} is valid")
    return _canary(options.bundle) if options.canary else 0


def _canary(path: str) -> int:
    """Keep or compare the bundle's answers, and return the exit status."""
    from ranklet.runtime import Bundle
    from ranklet.runtime.canary import canary_path, compare, record

    bundle = Bundle(path)
    if not canary_path(bundle).exists():
        say(f"answers to compare with later → {record(bundle)}")
        return 0
    found = compare(bundle)
    for fact in found.facts:
        say(f"changed  {fact}")
    for query in found.queries:
        say(f"other hits  {query[:80]}")
    say(
        f"{found.asked - len(found.queries)} of {found.asked} queries have the same first hits; a "
        f"score differs by at most {found.score:.2%} of its query's best"
    )
    return REFUSED if found.queries else 0


def _has_graphs(path: str) -> bool:
    return not is_address(path) and any(Path(path).glob("onnx/*.onnx"))


def _compare(options: argparse.Namespace) -> int:
    """Compare the graphs of a folder with the original, and return the exit status."""
    from dataclasses import replace

    from ranklet.commands.export import unjudged
    from ranklet.export.hub.verifying import has_weights, verify_hub
    from ranklet.export.proof.report import report_table
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
