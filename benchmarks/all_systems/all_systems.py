"""All systems from their served bundles, on every collection.

Each ranker alone, as a reranker of BM25's first 100 and as a retriever, and the best pipelines of
three classes. All scores are the runtime's, and networks have 8 bits. What was trained, exported,
indexed, chosen and scored is kept, so that an interrupted run continues.
"""

from collections.abc import Mapping

from benchmarks.all_systems.bundles import Scope
from benchmarks.all_systems.comparing import RANKED_BY, Studied, goals
from benchmarks.all_systems.measuring import all_studies, answers_seen
from benchmarks.all_systems.pipelines import BEST, CROSS, HYBRID
from benchmarks.all_systems.rankers import RANKERS
from benchmarks.all_systems.studies import QA_MIX, Reads, Study
from benchmarks.all_systems.tables import chosen, expenses, gains, last_against, remembered, summary
from benchmarks.all_systems.timing import costs
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.corpus.building.default_pipelines import RERANKED
from ranklet.workflows.learn.weighing import DEPTH

PACKAGES = ("torch", "transformers", "onnxruntime", "tokenizers", "simplemma")


def run(place: Place) -> str:
    """Train, export, index, choose and measure what is not kept."""
    return section(Scope(place))


def section(scope: Scope) -> str:
    """Return the tables of a run. Times are those of the first study."""
    found = all_studies(scope)
    timed = next(iter(scope.studies))
    measured = costs(scope, timed, found[timed].systems)
    sizes = [
        [study, scope.studies[study].split, f"{each.passages:,}", each.queries, each.held_out]
        for study, each in found.items()
    ]
    return f"""
{summary(found, measured)}

MRR@10, and of {timed} the times and the size. Against BM25: † p < .05, ‡ p < .01; of chosen \
pipelines against *{HYBRID}*: * p < .05, ** p < .01; − says that it is below (two-sided paired \
t-tests, Holm's correction in each family).

{chr(10).join(goals(found))}

The interval of a factor is a paired bootstrap's, that of a difference the t-test's, both 95 %.

{chosen(found)}

What a ranker learned may be remembered answers, so queries count apart whose relevant documents \
no query that was learned from shares:

{remembered(found, {study: answers_seen(scope, study) for study in found})}

{_of_last(found)}{_of_own(found)}{_of_pairs(scope)}Members and weights are chosen for MRR@10 on \
queries of train that are not reported, as `ranklet learn` does it. Each list of a \
pipeline has {DEPTH} documents. SPLADE is not here, because no trained one is at hand.

### What they cost, {timed}

{expenses(measured)}

One thread of one processor, in turns, the first 10 hits with their texts; p99 over {scope.timed} \
queries. *MB*: the files that a system needs of the bundle, documents included. *Memory*: the peak \
resident memory of a fresh process with one answer. *First answer*: from the start of that \
process. *Training minutes*: of all that a system has learned from, with the tuning of BM25; \
members of a pipeline are added up.

{table(["collection", "split", "passages", "queries", "held out"], sizes)}

{_cut(scope)}*{RANKERS["own"].label}* learned from queries of the collection's train; on \
{QA_MIX} this is *{RANKERS["dense"].label}*. All other encoders learned from {QA_MIX} only. \
"""


def _of_pairs(scope: Scope) -> str:
    """Return how systems are measured whose networks read pairs; empty if there are none."""
    if CROSS not in scope.rankers:
        return ""
    few = ", ".join(f"{study} {each.read}" for study, each in scope.studies.items())
    held_out = ", ".join(f"{study} {each.pairs}" for study, each in scope.studies.items())
    return f"""Systems whose networks read pairs have fewer queries, evenly spread ({few}; \
{scope.timed_pairs} are timed), because of their time. Next to their means, BM25's mean on these \
queries is in brackets, and all their tests are on these queries. A cross-encoder reads the first \
{RERANKED}, and what it follows is chosen on fewer held-out queries ({held_out}).

"""


def _of_last(found: Mapping[str, Studied]) -> str:
    """Return what a cross-encoder adds to the pipelines that it may follow; empty without one."""
    names = (BEST[Reads.NOTHING], BEST[Reads.QUERY], BEST[Reads.PAIRS])
    rows = last_against(found, names)
    if not rows:
        return ""
    short = ("without a network", "one encoder", "cross-encoder last")
    head = ["collection", *short, f"last − {short[0]}", f"last − {short[1]}"]
    return f"""What a cross-encoder last adds, {RANKED_BY} on the queries that it has read:

{table(head, rows)}

"""


def _of_own(found: Mapping[str, Studied]) -> str:
    """Return what an encoder learns from a collection's own queries; empty without one."""
    names = [f"{RANKERS[name].label} retrieves" for name in ("minilm", "dense", "own")]
    if not any(names[-1] in each.values for each in found.values()):
        return ""
    return f"""What an encoder learns from a collection's own queries:

{gains(found, names)}

Marks of these two tables: † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction in \
each column).

"""


def _cut(scope: Scope) -> str:
    """Return which collections are cut; empty if all are whole."""
    cut = [study for study, each in scope.studies.items() if each.passages]
    if not cut:
        return ""
    return (
        f"Collections that are cut to about {Study.passages:,} passages: {', '.join(cut)}. They "
        "keep what is relevant to a query that is reported or held out, and others at random, so "
        "their figures are higher than those of whole collections. "
    )
