"""`ranklet train conformer_kernel` and `ranklet train tk`: their own options and training."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ranklet.commands.train_options import (
    bm25_settings,
    changed_plan,
    given_options,
    read_queries,
    state_folder,
)
from ranklet.runtime.errors import InputError

if TYPE_CHECKING:
    from ranklet.training.checkpoint import Checkpoint

# Options that are sizes of the network, by the names that it has for them; their defaults are the
# paper's.
SIZES = {
    "hidden": "hidden", "blocks": "layers", "heads": "heads", "attention": "attention",
    "kernels": "kernels", "dropout": "dropout",
}  # fmt: skip
CONFORMER_SIZES = {
    **SIZES, "width": "width", "groups": "groups", "pool_window": "window", "pool_stride": "stride",
}  # fmt: skip


def add_arguments(group: Any) -> None:
    """Declare the options."""
    group.add_argument(
        "--architecture", help="ndrm1, latent matching; ndrm2, explicit; or ndrm3, both (ndrm3)"
    )
    group.add_argument(
        "--vectors", choices=("word2vec", "random"), default="random",
        help="what the embeddings begin with; word2vec needs the extra [word2vec] (random)",
    )  # fmt: skip
    group.add_argument("--hidden", type=int, help="size of every layer (256)")
    group.add_argument("--blocks", type=int, help="of the document's encoder (2)")
    group.add_argument("--heads", type=int, help="of its attention (32)")
    group.add_argument("--attention", help="separable or full (separable; tk: full)")
    group.add_argument("--width", type=int, help="terms that a convolution sees, odd (31)")
    group.add_argument("--groups", type=int, help="of the convolutions (32)")
    group.add_argument("--kernels", type=int, help="of the pooling (10)")
    group.add_argument("--pool-window", type=int, help="terms pooled together (300)")
    group.add_argument("--pool-stride", type=int, help="terms from one window to the next (100)")
    group.add_argument("--dropout", type=float, help="rate (0.2)")
    group.add_argument("--least", type=int, default=2, help="occurrences of a term to know it (2)")
    group.add_argument("--impacts", help="stored as uint8, float16 or float32 (uint8)")
    group.add_argument(
        "--scorer", help="of stored documents: impacts, or onnx, which reranks by the network"
    )
    group.add_argument("--terms", type=int, help="impacts kept a document (300)")
    group.add_argument("--candidates", type=int, help="terms a document that are tried (600)")
    group.add_argument(
        "--floor", type=float, help="quantile that a term's impacts are counted from (0.25)"
    )
    group.add_argument(
        "--query-log", metavar="SPLIT",
        help="a log: its queries are added to the documents that they led to; not one learned from",
    )  # fmt: skip


def train(options: argparse.Namespace) -> "Checkpoint":
    """Train one."""
    from ranklet.training.rankers.conformer_kernel import training as conformer_kernel

    names = ("architecture", "scorer", "impacts", "terms", "candidates", "floor")
    settings = replace(conformer_kernel.SETTINGS, **given_options(options, names))
    return _train(options, conformer_kernel, settings, CONFORMER_SIZES)


def train_tk(options: argparse.Namespace) -> "Checkpoint":
    """Train a TK."""
    from ranklet.training.rankers.tk import training as tk

    return _train(options, tk, tk.SETTINGS, SIZES)


def _train(
    options: argparse.Namespace, kind: Any, settings: Any, sizes: dict[str, str]
) -> "Checkpoint":
    """Train by a kind's module, which has `train` and the defaults."""
    from ranklet.runtime.text.words import words
    from ranklet.training.data.query_log import with_query_log
    from ranklet.training.indexing.analysed import analyse

    if options.negatives:
        raise InputError(
            f"--negatives is not for a {options.kind}: it learns from BM25's and from random ones"
        )
    collection, queries, dev = read_queries(options)
    bm25 = bm25_settings(options)
    limits = {
        "field": options.field,
        "max_query_terms": options.max_query_tokens,
        "max_document_terms": options.max_document_tokens,
    }
    settings = replace(
        settings, **{name: value for name, value in limits.items() if value is not None}
    )
    network = {sizes[name]: value for name, value in given_options(options, sizes).items()}
    if options.query_log:
        documents = with_query_log(collection, options.query_log, [*queries, *dev])
    else:
        documents = collection.documents()
    analysed = analyse(
        documents,
        [settings.field, bm25.field],
        titles=not options.no_titles,
        known_words={word for query in queries for word in words(query.text)},
    )
    trained: Checkpoint = kind.train(
        analysed,
        queries,
        dev,
        settings=settings,
        network=network,
        plan=changed_plan(options, kind.PLAN),
        data=replace(kind.DATA, **given_options(options, ("batch",))),
        vectors=options.vectors,
        least=options.least,
        bm25=bm25,
        folder=state_folder(options),
        resume=options.resume,
    )
    return trained
