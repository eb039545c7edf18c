"""Measure a bundle's latency per stage, in fresh processes and in a warm one."""

import argparse
import json
from statistics import median

from ranklet.commands.judge import read_queries
from ranklet.commands.output import say, show_json

COLD = """
import json, sys
from time import perf_counter as now
begin = now()
import numpy
numpy_at = now()
from ranklet import runtime
imported = now()
bundle = runtime.load(sys.argv[1])
loaded = now()
ranking = bundle.rank(sys.argv[2], pipeline=sys.argv[3] or None)
answered = now()
stages = {"import numpy": numpy_at - begin, "import ranklet.runtime": imported - numpy_at,
          "load": loaded - imported}
stages = {name: value * 1e3 for name, value in stages.items()}
stages |= {f"first: {timing.stage}": timing.ms for timing in ranking.timings}
stages["first answer in all"] = (answered - loaded) * 1e3
stages["process in all, but Python's own start"] = (answered - begin) * 1e3
print(json.dumps(stages))
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder, .zip or address")
    parser.add_argument(
        "--queries", help="file with the queries, or - (default: titles of the bundle's documents)"
    )
    parser.add_argument("--pipeline", help="pipeline to measure (default: the bundle's default)")
    parser.add_argument("-n", type=int, default=200, help="number of warm queries")
    parser.add_argument("--cold", type=int, default=5, help="number of fresh processes")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")


def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    from ranklet.corpus.processes import in_fresh_process
    from ranklet.runtime import load
    from ranklet.runtime.errors import InputError

    for name, count, least in (("-n", options.n, 1), ("--cold", options.cold, 0)):
        if count < least:
            raise InputError(f"{name} is {count}; it must be a whole number from {least}")
    bundle = load(options.bundle)
    given = read_queries(options.queries) if options.queries else bundle.sample_texts(options.n)
    queries = [query for each in given if (query := each.strip())][: options.n]
    if not queries:
        raise InputError("there is no query to measure with; give --queries FILE")
    bundle.rank(queries[0], pipeline=options.pipeline)  # opens the rankers and reports mistakes
    runs = [
        in_fresh_process(COLD, options.bundle, queries[i % len(queries)], options.pipeline or "")
        for i in range(options.cold)
    ]
    cold = {name: median(run[name] for run in runs) for name in (runs[0] if runs else {})}
    warm: dict[str, list[float]] = {}
    for query in queries:
        timings = bundle.rank(query, pipeline=options.pipeline).timings
        for timing in timings:
            warm.setdefault(timing.stage, []).append(timing.ms)
        warm.setdefault("in all", []).append(sum(timing.ms for timing in timings))
    figures = {
        name: {"p50": _quantile(ms, 0.5), "p90": _quantile(ms, 0.9), "p99": _quantile(ms, 0.99)}
        for name, ms in warm.items()
    }
    if options.json:
        show_json(json.dumps({"cold_ms": cold, "warm_ms": figures, "queries": len(queries)}))
        return
    if cold:
        say(f"cold, median of {options.cold} fresh processes")
    for name, ms in cold.items():
        say(f"  {ms:9.1f} ms  {name}")
    say(f"warm, {len(queries)} queries{'p50':>8}{'p90':>9}{'p99':>9}  ms")
    for name, quantiles in figures.items():
        say(f"  {quantiles['p50']:22.2f}{quantiles['p90']:9.2f}{quantiles['p99']:9.2f}  {name}")


def _quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
