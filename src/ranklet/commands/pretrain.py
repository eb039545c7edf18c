"""Pretrain a backbone on a collection's texts with masked words; write a folder for --backbone."""

import argparse
import shutil
from dataclasses import replace
from pathlib import Path

from ranklet.commands.train_options import given_options, state_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("collection", help="collection folder in BEIR form to learn from")
    parser.add_argument(
        "-o", "--output", required=True, help="folder to write, in transformers' format"
    )
    parser.add_argument(
        "--backbone",
        help="encoder to start from, as in `ranklet train` (default: MiniLM-L6 from the wheel)",
    )
    parser.add_argument("--no-titles", action="store_true", help="do not learn from titles")
    parser.add_argument("--epochs", type=int, help="passes over the documents (default: 1)")
    parser.add_argument(
        "--minutes", type=float, help="stop after this many minutes and keep the best weights"
    )
    parser.add_argument("--batch", type=int, help="texts per batch (default: 16)")
    parser.add_argument(
        "--max-tokens",
        type=int,
        help="maximum tokens per text; longer documents are split (default: 128)",
    )
    parser.add_argument("--lr", type=float, help="learning rate (default: 5e-5)")
    parser.add_argument(
        "--evaluate-every",
        type=int,
        help="number of steps between evaluations (default: one epoch)",
    )
    parser.add_argument("--seed", type=int, help="random seed (default: 0)")
    parser.add_argument("--device", help="auto, cpu or cuda (default: auto)")
    parser.add_argument(
        "--resume", action="store_true", help="continue an interrupted training of this output"
    )


def run(options: argparse.Namespace) -> None:
    """Pretrain the backbone and save it."""
    from ranklet.runtime.errors import InputError
    from ranklet.runtime.text.ranked import ranked_text
    from ranklet.training.data.collection import Collection
    from ranklet.training.pretrained.backbone import load_backbone
    from ranklet.training.pretrained.pretraining import PLAN, MaskOptions, pretrain

    output = Path(options.output)
    if output.exists():  # checked before hours of training
        raise InputError(f"{options.output!r} exists; choose another folder or remove it")
    changes = given_options(options, ("epochs", "evaluate_every", "seed", "device"))
    renamed = {"max_minutes": options.minutes, "learning_rate": options.lr}
    changes |= {name: value for name, value in renamed.items() if value is not None}
    backbone = load_backbone(options.backbone)
    progress = pretrain(
        [
            ranked_text(each.title, each.text, not options.no_titles)
            for each in Collection(options.collection).documents()
        ],
        backbone,
        plan=replace(PLAN, **changes),
        data=replace(MaskOptions(), **given_options(options, ("batch", "max_tokens"))),
        folder=state_folder(options),
        resume=options.resume,
    )
    backbone.save(output)
    shutil.rmtree(state_folder(options), ignore_errors=True)
    course = [-value for _, value in progress.evaluations]  # the best weights are saved
    print(f"cross-entropy of held-out texts {course[0]:.4f} → {min(course):.4f} → {options.output}")
