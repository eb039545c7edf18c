"""Evaluate a bundle's pipelines on the judged queries of a collection."""

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="an indexed bundle")
    parser.add_argument("collection", help="folder in BEIR form")
    parser.add_argument("--split", default="test", help="judged queries (default: %(default)s)")
    parser.add_argument("--max-queries", type=int, help="at most so many, drawn at random")
    parser.add_argument(
        "--pipelines", help="comma-separated; the first is the baseline (default: all)"
    )
    parser.add_argument(
        "--measures",
        default="MRR@10,nDCG@10,R@100",
        help="comma-separated, as ir-measures names them (default: %(default)s)",
    )
    parser.add_argument("--depth", type=int, default=1000, help="documents ranked a query")
    parser.add_argument(
        "--consistency",
        metavar="N",
        type=int,
        help="also the share of each system's top N that is in the baseline's top 1,000",
    )
    parser.add_argument("--runs", help="folder to write TREC runs to, PIPELINE.run each")
    parser.add_argument("--json", action="store_true", help="means and p-values as JSON")


def run(options: argparse.Namespace) -> None:
    """Evaluate and print."""
    from ranklet.runtime import load
    from ranklet.runtime.errors import InputError
    from ranklet.training.data.collection import Collection
    from ranklet.training.data.splits import read_split
    from ranklet.training.data.trec import write_run
    from ranklet.training.evaluation import systems as evaluation
    from ranklet.training.evaluation.systems import consistency

    if options.consistency is not None and options.consistency < 1:
        raise InputError(f"--consistency is {options.consistency}; it must be a number from 1")
    bundle = load(options.bundle)
    queries = read_split(Collection(options.collection), options.split, limit=options.max_queries)
    names = options.pipelines.split(",") if options.pipelines else list(bundle.manifest.pipelines)
    if not names:
        raise InputError("the bundle has no pipeline; it needs a ranker that retrieves")
    found = evaluation.evaluate(
        bundle,
        queries,
        {name: name for name in names},
        measures=options.measures.split(","),
        depth=options.depth,
    )
    if options.runs:
        folder = Path(options.runs)
        folder.mkdir(parents=True, exist_ok=True)
        for each in found:
            run = {query: evaluation.untied(hits) for query, hits in each.run.items()}
            write_run(folder / f"{each.pipeline}.run", run, f"ranklet-{each.pipeline}")
    shares = {
        each.pipeline: consistency(each.run, found[0].run, options.consistency)
        for each in (found[1:] if options.consistency else ())
    }
    if options.json:
        more = {f"consistency@{options.consistency}": shares} if shares else {}
        print(json.dumps({**_plain(found, names[0]), **more}))
        return
    print(evaluation.table(found, names[0]))
    for name, share in shares.items():
        print(f"of the top {options.consistency} of {name}, {names[0]} has {share:.1%}")


def _plain(found: "list[evaluation.Evaluation]", baseline: str) -> dict[str, object]:  # type: ignore[name-defined]  # noqa: F821
    from ranklet.training.evaluation import systems as evaluation

    return {
        "queries": len(found[0].run),
        "baseline": baseline,
        "systems": {
            each.pipeline: {measure: each.mean(measure) for measure in each.values}
            for each in found
        },
        "p": {
            measure: {
                name: compared.p_holm
                for name, compared in evaluation.comparisons(found, measure, baseline).items()
            }
            for measure in found[0].values
        },
    }
