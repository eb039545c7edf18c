"""`ranklet train cross_encoder`: its own options, and its training."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ranklet.commands.train_options import (
    batch_options,
    bm25_settings,
    changed_plan,
    given_options,
    read_queries,
    start_checkpoint,
    state_folder,
)
from ranklet.runtime.errors import InputError

if TYPE_CHECKING:
    from ranklet.training.checkpoint import Checkpoint

# Options that are settings under the same name; their defaults stand in the runtime.
SETTINGS = (
    "head", "max_query_tokens", "max_tokens", "chunks", "chunking", "window", "stride", "combine",
    "marking", "mark_level", "expansion",
)  # fmt: skip


def add_arguments(group: Any) -> None:
    """Declare the options."""
    group.add_argument(
        "--head",
        help="vanilla, model1, cedr_knrm, cedr_drmm, cedr_pacrr, marker_avg, marker_max or "
        "marker_first (vanilla)",
    )
    group.add_argument(
        "--loss", choices=("margin", "cross_entropy"), default="margin",
        help="between a relevant and another document, or of each for itself (margin)",
    )  # fmt: skip
    group.add_argument(
        "--layers", type=int, default=0, help="that a CEDR head reads, from the last one (all)"
    )
    group.add_argument("--max-tokens", type=int, help="of query and chunk together (128)")
    group.add_argument("--chunks", type=int, help="of a document at most (1: its beginning)")
    group.add_argument(
        "--chunking", help="pieces, one after another, or words, windows that overlap (pieces)"
    )
    group.add_argument("--window", type=int, help="words of a window (150)")
    group.add_argument("--stride", type=int, help="words from one window to the next (75)")
    group.add_argument(
        "--combine",
        help="how chunks become one score: head, which sees all as one; first, max or mean (head)",
    )
    group.add_argument(
        "--marking", help="of exact matches: none, sim_doc, sim_pair, pre_doc or pre_pair (none)"
    )
    group.add_argument(
        "--mark-level", help="mark a query term that the document has, or the chunk (document)"
    )
    group.add_argument(
        "--expansion", help="append 8 tokens to the query: none, mask or hash (none)"
    )


def train(options: argparse.Namespace) -> "Checkpoint":
    """Train one."""
    from ranklet.training.indexing.analysed import analyse
    from ranklet.training.pretrained.backbone import load_backbone
    from ranklet.training.rankers.cross_encoder import training as cross_encoder

    if options.max_document_tokens is not None:
        raise InputError(
            "a cross-encoder has no --max-document-tokens: a chunk has what --max-tokens leaves "
            "beside the query, and --chunks says how many are read"
        )
    settings = replace(cross_encoder.SETTINGS, **given_options(options, SETTINGS))
    plan = changed_plan(options, cross_encoder.PLAN)
    if options.head_rate is not None:
        plan = replace(plan, head_rate=options.head_rate)
    start = start_checkpoint(options)
    backbone = load_backbone(options.start or options.backbone)
    collection, queries, dev = read_queries(options)
    bm25 = bm25_settings(options)
    analysed = analyse(
        collection.documents(),
        ["wordpieces", bm25.field],
        tokenizer=backbone.tokenizer,
        titles=not options.no_titles,
    )
    return cross_encoder.train(
        analysed,
        queries,
        dev,
        backbone=backbone,
        start=start,
        settings=settings,
        plan=plan,
        data=replace(cross_encoder.DATA, **batch_options(options)),
        loss=options.loss,
        layers=options.layers,
        bm25=bm25,
        folder=state_folder(options),
        resume=options.resume,
    )
