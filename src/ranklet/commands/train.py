"""Train a ranker on a collection and write a checkpoint folder."""

import argparse
from typing import Any

from ranklet.runtime.rankers import KINDS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("kind", choices=KINDS, help="what to train")
    parser.add_argument("collection", help="folder in BEIR form")
    parser.add_argument("-o", "--output", required=True, help="checkpoint folder to write")
    parser.add_argument("--field", help="lemmas, words or wordpieces (bm25: lemmas, model1: words)")
    parser.add_argument(
        "--split",
        help="judged queries to learn from; NAME or a part such as 'train[:90%%]' "
        "(bm25: train, model1: train[:90%%])",
    )
    parser.add_argument(
        "--tune", default="train[90%:]", help="model1: queries that p_self and λ are chosen on"
    )
    parser.add_argument("--bm25", help="model1: checkpoint of the BM25 that it will be fused with")
    parser.add_argument("--measure", default="MRR@10", help="what to tune for: MRR@k, nDCG@k, R@k")
    parser.add_argument(
        "--max-queries", type=int, default=1000, help="tuning uses at most so many queries"
    )
    parser.add_argument("--tokenizer", help="tokenizer.json or vocab.txt, for wordpieces")
    parser.add_argument("--iterations", type=int, default=5, help="model1: rounds of EM")
    parser.add_argument(
        "--threshold", type=float, default=1e-3, help="model1: drop less probable translations"
    )
    parser.add_argument(
        "--no-titles", action="store_true", help="leave titles out of the text that is ranked"
    )


def run(options: argparse.Namespace) -> None:
    """Train and save."""
    checkpoint = (_model1 if options.kind == "model1" else _bm25)(options)
    checkpoint.save(options.output)
    best, measure = checkpoint.training["best"], checkpoint.training["measure"]
    print(f"{checkpoint.settings}\n{measure} {best:.4f} on the tuning queries → {options.output}")


def _bm25(options: argparse.Namespace) -> Any:
    from ranklet.training.collection import Collection
    from ranklet.training.indexing import analyse
    from ranklet.training.rankers import bm25
    from ranklet.training.splits import read_split

    collection = Collection(options.collection)
    queries = read_split(collection, options.split or "train", limit=options.max_queries)
    field = options.field or "lemmas"
    analysed = analyse(
        collection.documents(),
        [field],
        tokenizer=_tokenizer(options, [field]),
        titles=not options.no_titles,
    )
    return bm25.train(analysed, queries, field=field, measure=options.measure)


def _model1(options: argparse.Namespace) -> Any:
    from ranklet.runtime.errors import InputError
    from ranklet.runtime.rankers.bm25 import Settings
    from ranklet.runtime.text.words import words
    from ranklet.training.checkpoint import read_checkpoint
    from ranklet.training.collection import Collection
    from ranklet.training.indexing import analyse
    from ranklet.training.rankers import model1
    from ranklet.training.splits import read_split

    collection = Collection(options.collection)
    queries = read_split(collection, options.split or "train[:90%]")
    tune = read_split(collection, options.tune, limit=options.max_queries)
    bm25 = read_checkpoint(options.bm25).settings if options.bm25 else Settings()
    if not isinstance(bm25, Settings):
        raise InputError(f"--bm25 {options.bm25!r} is not the checkpoint of a BM25 ranker")
    field = options.field or "words"
    analysed = analyse(
        collection.documents(),
        [field, bm25.field],
        tokenizer=_tokenizer(options, [field, bm25.field]),
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


def _tokenizer(options: argparse.Namespace, fields: list[str]) -> Any:
    from ranklet.runtime.errors import InputError
    from ranklet.training.wordpieces import read_tokenizer

    if "wordpieces" not in fields:
        return None
    if not options.tokenizer:
        raise InputError("wordpieces need --tokenizer: a tokenizer.json, or BERT's vocab.txt")
    return read_tokenizer(options.tokenizer)
