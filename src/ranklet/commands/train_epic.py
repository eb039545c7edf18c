"""`ranklet train epic`: its own options, and its training."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ranklet.commands.train_options import (
    batch_options,
    bm25_settings,
    changed_plan,
    read_queries,
    start_checkpoint,
    state_folder,
)

if TYPE_CHECKING:
    from ranklet.training.checkpoint import Checkpoint


def add_arguments(group: Any) -> None:
    """Declare the options."""
    group.add_argument(
        "--pairwise",
        action="store_true",
        help="learn from a relevant document and a negative, as in the paper, not from all of a "
        "batch",
    )


def train(options: argparse.Namespace) -> "Checkpoint":
    """Train one."""
    from ranklet.training.pretrained.backbone import load_backbone
    from ranklet.training.rankers.epic import training as epic

    plan = changed_plan(options, epic.PLAN)
    if options.head_rate is not None:
        plan = replace(plan, head_rate=options.head_rate)
    start = start_checkpoint(options)
    collection, queries, dev = read_queries(options)
    return epic.train(
        collection,
        queries,
        dev,
        backbone=load_backbone(options.start or options.backbone),
        start=start,
        plan=plan,
        data=replace(epic.BATCHES, **batch_options(options)),
        objective="pairwise" if options.pairwise else "in-batch",
        bm25=bm25_settings(options),
        titles=not options.no_titles,
        folder=state_folder(options),
        resume=options.resume,
    )
