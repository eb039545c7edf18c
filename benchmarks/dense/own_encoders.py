"""What a dense encoder gains from a collection's own queries, where those of others do not help.

MiniLM-L6 that learned from qa-mix is worse than untrained on scifact and google-wiki. Here it
learns from their own queries of train. The members of a fusion are chosen among all encoders.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.all_systems.bundles import Scope
from benchmarks.all_systems.comparing import Studied, goals
from benchmarks.all_systems.measuring import all_studies, answers_seen
from benchmarks.all_systems.pipelines import HYBRID
from benchmarks.all_systems.rankers import LENGTHS, RANKERS
from benchmarks.all_systems.studies import BM25, STUDIES
from benchmarks.all_systems.tables import chosen, gains, quality, remembered
from benchmarks.dense.dense_training import NAME as PARTS
from benchmarks.dense.dense_training import PASSAGES, QUERIES, START, TRAINED
from benchmarks.harness.place import Place

PACKAGES = ("torch", "transformers", "onnxruntime", "tokenizers")
COLLECTIONS = ("scifact", "google-wiki")  # where qa-mix does not help
USED = {name: RANKERS[name] for name in (BM25, "model1", "minilm", "dense", "own")}
LEARNED = f"{USED['own'].label} retrieves"


def run(place: Place) -> str:
    """Train, export, index, choose and measure what is not kept."""
    whole = scope(place)
    known = {name: answers_seen(whole, name) for name in whole.studies}
    return section(all_studies(whole), known)


def scope(place: Place) -> Scope:
    """Return what is measured; encoders and passages that `dense_training` has are shared."""
    studies = {
        name: replace(STUDIES[name], passages=PASSAGES, queries=QUERIES) for name in COLLECTIONS
    }
    return Scope(place, studies, USED, name="own-encoders", parts=PARTS)


def section(found: Mapping[str, Studied], known: Mapping[str, NDArray[np.bool_]]) -> str:
    """Return the tables and the goals.

    Args:
        found: by collection.
        known: of each collection, which reported queries share a relevant document with those that
            were learned from.
    """
    lengths = "; ".join(
        f"{name} {steps} steps, {tokens} tokens of a document"
        for name, (steps, tokens) in ((name, LENGTHS[name]) for name in COLLECTIONS)
    )
    parts = [
        f"### {study}: {each.passages:,} passages, {each.queries} queries\n\n{quality(each)}"
        for study, each in found.items()
    ]
    return f"""
*{USED["own"].label}* begins with all-MiniLM-L6-v2 and learns from queries of the collection's \
train, 32 in a step, with negatives that it finds itself ({lengths}). *MiniLM trained* learned \
from qa-mix. All networks have 8 bits as they are served. google-wiki is cut to about \
{PASSAGES:,} passages, so its figures are higher than on all of it.

{gains(found, (START, TRAINED, LEARNED))}

† p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction in each column).

{chr(10).join(goals(found))}

{chosen(found)}

What a ranker learned may be remembered answers, so queries count apart whose relevant documents \
no query that was learned from shares:

{remembered(found, known)}

In the tables below, against BM25: † p < .05, ‡ p < .01; a chosen pipeline against *{HYBRID}*: \
* p < .05, ** p < .01; − says that it is below (two-sided paired t-tests, Holm's correction in \
each family). Intervals are 95 %.

{(chr(10) * 2).join(parts)}
"""
