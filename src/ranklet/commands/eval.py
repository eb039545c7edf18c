"""Evaluate a bundle's pipelines on the judged queries of a collection."""

import argparse
import json
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ranklet.commands.output import say, show, show_json
from ranklet.runtime.errors import InputError

if TYPE_CHECKING:
    from ranklet.runtime import Bundle
    from ranklet.training.data.collection import Collection
    from ranklet.training.data.splits import JudgedQuery
    from ranklet.training.evaluation.overlap import Overlap
    from ranklet.training.evaluation.systems import Evaluation, Watcher


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="an indexed bundle, or its address")
    parser.add_argument("collection", help="collection folder in BEIR form")
    parser.add_argument("--split", default="test", help="split with the judged queries")
    parser.add_argument(
        "--max-queries", type=int, help="maximum number of queries, drawn at random (default: all)"
    )
    parser.add_argument(
        "--pipelines",
        help="comma-separated pipelines, of which the first is the baseline (default: all)",
    )
    parser.add_argument(
        "--measures",
        default="MRR@10,nDCG@10,R@100",
        help="comma-separated names of measures: nDCG, MRR, AP, R, P, Success, each @k",
    )
    parser.add_argument("--depth", type=int, default=1000, help="documents to rank per query")
    parser.add_argument(
        "--consistency",
        metavar="N",
        type=int,
        help="also print the share of each system's top N that is in the baseline's top 1,000",
    )
    parser.add_argument(
        "--trained-on",
        metavar="SPLIT",
        help="split whose relevant documents a ranker may have memorised, to count them (default: "
        "what the bundle records, else train)",
    )
    parser.add_argument("--runs", help="folder for TREC runs, one file PIPELINE.run each")
    parser.add_argument("--json", action="store_true", help="print means and p-values as JSON")


def run(options: argparse.Namespace) -> None:
    """Evaluate and print the results."""
    from ranklet.runtime import load
    from ranklet.runtime.storage.address import shown
    from ranklet.training.data.collection import Collection
    from ranklet.training.data.judgements import check_judgements
    from ranklet.training.data.splits import read_split
    from ranklet.training.evaluation import systems as evaluation
    from ranklet.training.evaluation.run_files import run_files
    from ranklet.training.evaluation.systems import Consistency

    if options.consistency is not None and options.consistency < 1:
        raise InputError(f"--consistency is {options.consistency}; it must be a number from 1")
    if options.runs:  # before hours of ranking, not after them
        _make_folder(Path(options.runs))
    bundle = load(options.bundle)
    collection = Collection(options.collection)
    queries = read_split(collection, options.split, limit=options.max_queries)
    documents = bundle.files.need_documents()
    judgements = check_judgements(
        collection, [options.split], documents.lacking, f"the bundle {shown(options.bundle)}"
    )
    seen = _seen(collection, queries, bundle, options.trained_on)
    names = options.pipelines.split(",") if options.pipelines else list(bundle.manifest.pipelines)
    if not names:
        raise InputError("the bundle has no pipeline; export a ranker that can retrieve, too")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"pipeline {twice[0]!r} is given twice; name each once")
    agreement = Consistency(options.consistency) if options.consistency else None
    with ExitStack() as stack:
        watchers: list[Watcher] = [agreement.add] if agreement else []
        if options.runs:
            watchers.append(stack.enter_context(run_files(Path(options.runs))))
        evaluations = evaluation.evaluate(
            bundle,
            queries,
            {name: name for name in names},
            measures=options.measures.split(","),
            depth=options.depth,
            watchers=watchers,
        )
    shares = agreement.means() if agreement else {}
    if options.json:
        more: dict[str, object] = {"judgements": judgements.counts()}
        if seen:
            more["seen_in_training"] = asdict(seen)
        if shares:
            more[f"consistency@{options.consistency}"] = shares
        show_json(json.dumps({**_plain(evaluations, names[0]), **more}))
        return
    show(evaluation.table(evaluations, names[0]))
    if judgements.missing:
        missed = judgements.missing_relevant
        say(f"relevant documents that cannot be found, and so are missed: {missed:,}")
    if seen:
        say(str(seen))
    for name, share in shares.items():
        say(f"{share:.1%} of the top {options.consistency} of {name} are also in {names[0]}")


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"--runs {str(path)!r} cannot be a folder ({error.strerror}); give another name"
        ) from error


def _seen(
    collection: "Collection", queries: "list[JudgedQuery]", bundle: "Bundle", split: str | None
) -> "Overlap | None":
    """Return what the queries share with the training; None if nobody knows its split."""
    from ranklet.training.evaluation.overlap import DEFAULT_SPLIT, overlap, recorded_splits

    recorded = recorded_splits(bundle.manifest.provenance, collection)
    if split is None and recorded:
        return overlap(collection, queries, recorded, recorded=True)
    if split is None and DEFAULT_SPLIT not in collection.splits():
        return None
    return overlap(collection, queries, [split or DEFAULT_SPLIT])


def _plain(evaluations: "list[Evaluation]", baseline: str) -> dict[str, object]:
    """Return means and p-values as plain dictionaries."""
    from ranklet.training.evaluation.systems import comparisons

    return {
        "queries": evaluations[0].queries,
        "baseline": baseline,
        "systems": {
            each.pipeline: {measure: each.mean(measure) for measure in each.values}
            for each in evaluations
        },
        "p": {
            measure: {
                name: compared.p_holm
                for name, compared in comparisons(evaluations, measure, baseline).items()
            }
            for measure in evaluations[0].values
        },
    }
