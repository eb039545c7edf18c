"""What the options of `ranklet train` say, whatever the kind."""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from ranklet.runtime.rankers.bm25 import BM25Settings
    from ranklet.training.checkpoint import Checkpoint
    from ranklet.training.data.collection import Collection
    from ranklet.training.data.splits import JudgedQuery
    from ranklet.training.learning.plan import Plan


def read_queries(
    options: argparse.Namespace,
) -> "tuple[Collection, list[JudgedQuery], list[JudgedQuery]]":
    """Return the collection, what is learned from, and what is tuned on."""
    from ranklet.training.data.collection import Collection
    from ranklet.training.data.splits import read_split

    collection = Collection(options.collection)
    queries = read_split(collection, options.split or "train[:90%]")
    return collection, queries, read_split(collection, options.tune, limit=options.max_queries)


def bm25_settings(options: argparse.Namespace) -> "BM25Settings":
    """Return the settings of the BM25 that negatives and candidates come from."""
    from ranklet.runtime.errors import InputError
    from ranklet.runtime.rankers.bm25 import BM25Settings
    from ranklet.training.checkpoint import read_checkpoint

    settings = read_checkpoint(options.bm25).settings if options.bm25 else BM25Settings()
    if not isinstance(settings, BM25Settings):
        raise InputError(f"--bm25 {options.bm25!r} is not the checkpoint of a BM25 ranker")
    return settings


def changed_plan(options: argparse.Namespace, plan: "Plan") -> "Plan":
    """Return the kind's plan with what the options change of it."""
    given = {
        "epochs": options.epochs,
        "max_minutes": options.minutes,
        "accumulation": options.accumulation,
        "learning_rate": options.lr,
        "evaluate_every": options.evaluate_every,
        "patience": options.patience,
        "seed": options.seed,
        "device": options.device,
        "mixed_precision": False if options.float32 else None,
    }
    return replace(plan, **{name: value for name, value in given.items() if value is not None})


def batch_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the options say of batches."""
    names = ["batch", "negatives"]
    if options.kind != "cross_encoder":  # its lengths belong to its settings
        names += ["max_query_tokens", "max_document_tokens"]
    if options.kind not in ("repbert", "epic"):
        names.append("negatives_each")
    return given_options(options, names)


def given_options(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return those of some options that were given."""
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def start_checkpoint(options: argparse.Namespace) -> "Checkpoint | None":
    """Return the checkpoint that `--start` names, of the kind that is trained; None without."""
    from ranklet.runtime.errors import InputError
    from ranklet.training.checkpoint import read_checkpoint

    if not options.start:
        return None
    if options.backbone:
        raise InputError(
            "--start and --backbone both name what training begins with: give --start for a "
            f"{options.kind} with all that it has learned, --backbone for any encoder"
        )
    found = read_checkpoint(options.start)
    if found.kind != options.kind:
        raise InputError(f"--start {options.start!r} is a {found.kind}, not a {options.kind}")
    return found


def state_folder(options: argparse.Namespace) -> Path:
    """Return where the state of a training is kept until it is done."""
    output = Path(options.output)
    return output.with_name(f"{output.name}.run")


def tokenizer_for(options: argparse.Namespace, fields: list[str]) -> "Tokenizer | None":
    """Return the tokenizer that some fields need; None where they need none."""
    from ranklet.runtime.errors import InputError
    from ranklet.training.indexing.wordpieces import read_tokenizer

    if "wordpieces" not in fields:
        return None
    if not options.tokenizer:
        raise InputError("wordpieces need --tokenizer: a tokenizer.json, or BERT's vocab.txt")
    return read_tokenizer(options.tokenizer)
