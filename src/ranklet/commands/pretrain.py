"""Pretrain a backbone on a collection's texts with masked words; write a folder for --backbone."""

import argparse
from dataclasses import replace
from pathlib import Path

from ranklet.commands.arguments import add_options, options_from
from ranklet.commands.output import say
from ranklet.commands.train import FELL_SHORT
from ranklet.training.pretrained.options import PretrainingOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("collection", help="collection folder in BEIR form to learn from")
    parser.add_argument(
        "-o", "--output", required=True, help="folder to write, in transformers' format"
    )
    groups = {title: parser.add_argument_group(title) for title in ("data", "training")}
    add_options(groups.__getitem__, PretrainingOptions())


def needs(arguments: argparse.Namespace) -> str:  # noqa: ARG001
    """Return the smallest extra that suffices."""
    return "train"


def run(arguments: argparse.Namespace) -> int:
    """Pretrain the backbone and save it; return the exit status as `ranklet train` does."""
    from ranklet.corpus.collections.collection import Collection
    from ranklet.corpus.progress import warn
    from ranklet.training.kept_state import digest_of, has_state, remove_state, state_folder
    from ranklet.training.outcome import shortcoming
    from ranklet.training.pretrained.backbone import check_free
    from ranklet.training.pretrained.pretraining import pretrain

    output = Path(arguments.output)
    check_free(output)  # before hours of training
    state = state_folder(output)
    options = options_from(PretrainingOptions(), vars(arguments))
    resume, collection = options.resume and has_state(state), Collection(arguments.collection)
    options = replace(options, folder=state, resume=resume, data=digest_of(collection))
    backbone, progress = pretrain(collection.documents(), options)
    backbone.save(output)
    remove_state(state)
    course = [-value for _, value in progress.evaluations]  # the best weights are saved
    say(f"cross-entropy of held-out texts {course[0]:.4f} → {min(course):.4f} → {output}")
    if warning := shortcoming(-course[0], -min(course), progress.steps):
        warn(warning)
        return FELL_SHORT
    return 0
