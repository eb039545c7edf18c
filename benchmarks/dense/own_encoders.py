"""What a dense encoder gains from a collection's own queries, where those of others do not help.

MiniLM-L6 that learned from qa-mix is worse than untrained on scifact and google-wiki. Here it
learns from their own queries of train. The members of a fusion are chosen among all encoders.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.all_systems.bundles import Scope, searched_in
from benchmarks.all_systems.comparing import RANKED_BY, Studied, goals
from benchmarks.all_systems.measuring import all_studies
from benchmarks.all_systems.pipelines import HYBRID
from benchmarks.all_systems.rankers import RANKERS
from benchmarks.all_systems.studies import BM25, OWN, STUDIES, Ranker, Reads, Study
from benchmarks.all_systems.tables import chosen, quality
from benchmarks.built import dense
from benchmarks.built.trained import DENSE, learn_and_save
from benchmarks.dense.dense_training import NAME as PARTS
from benchmarks.dense.dense_training import PASSAGES, QUERIES, START, TRAINED, last_against
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.judging import sharing
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.splits import read_split
from ranklet.training.evaluation.significance import paired_t_test
from ranklet.training.rankers.dense import training as dense_training
from ranklet.training.rankers.dense.options import Options

PACKAGES = ("torch", "transformers", "onnxruntime", "tokenizers")
MINED = next(iter(dense.WAYS))  # negatives that the encoder finds itself


class Length(NamedTuple):
    """How long an encoder learns from a collection.

    Attributes:
        steps: of 32 queries.
        tokens: of a document, at most.
    """

    steps: int
    tokens: int


# Twice the queries of google-wiki, and five times the few of scifact, whose abstracts are long.
LENGTHS = {"scifact": Length(60, 256), "google-wiki": Length(150, 128)}


def own(place: Place, study: Study, *, seed: int) -> Checkpoint:
    """Return MiniLM, trained on a collection's own queries; one that was interrupted goes on."""
    steps, tokens = LENGTHS[study.collection]
    kept = f"{study.collection}.own.dense.{steps}.{seed}"

    def build(path: Path) -> None:
        options = Options(
            steps=steps, seed=seed, evaluations=3, max_document_tokens=tokens, **dense.WAYS[MINED]
        )
        queries = read_split(place.collection(study.collection), study.learn)
        state = place.state(kept, DENSE)
        learn_and_save(place, study.collection, dense_training.train, options, path, state, queries)

    return read_checkpoint(place.keep(kept, build, DENSE))


def ranker(seed: int) -> Ranker:
    """Return the encoder that learned from the collection's own queries with a seed."""
    learn = partial(own, seed=seed)
    label = "MiniLM of its own queries"
    return Ranker("dense", label, learn, OWN, Reads.QUERY, DENSE, encodes=True)


USED = {name: RANKERS[name] for name in (BM25, "model1", "minilm", "dense")} | {"own": ranker(0)}
LEARNED = f"{USED['own'].label} retrieves"


def run(place: Place) -> str:
    """Train, export, index, choose and measure what is not kept."""
    whole = scope(place)
    known = {name: asked_before(whole, name) for name in whole.studies}
    return section(all_studies(whole), known)


def scope(place: Place) -> Scope:
    """Return what is measured; encoders and passages that `dense_training` has are shared."""
    studies = {name: replace(STUDIES[name], passages=PASSAGES, queries=QUERIES) for name in LENGTHS}
    return Scope(place, studies, USED, name="own-encoders", parts=PARTS)


def asked_before(whole: Scope, study: str) -> NDArray[np.bool_]:
    """Return which reported queries share a relevant document with those that were learned from."""
    here = whole.studies[study]
    learned = read_split(whole.place.collection(here.collection), here.learn)
    return sharing(searched_in(whole, study).queries, learned)


def section(found: Mapping[str, Studied], known: Mapping[str, NDArray[np.bool_]]) -> str:
    """Return the tables and the goals.

    Args:
        found: by collection.
        known: of each collection, which reported queries share a relevant document with those that
            were learned from.
    """
    lengths = "; ".join(
        f"{name} {steps} steps, {tokens} tokens of a document"
        for name, (steps, tokens) in LENGTHS.items()
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

{gains(found)}

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


def gains(found: Mapping[str, Studied]) -> str:
    """Return a row per collection: untrained, of qa-mix and of its own queries, all retrieving."""
    head = [f"{RANKED_BY}, retrieving", "untrained", "of qa-mix", "of its own", "− untrained"]
    return table([*head, "− of qa-mix"], last_against(found, (START, TRAINED, LEARNED)))


def remembered(found: Mapping[str, Studied], known: Mapping[str, NDArray[np.bool_]]) -> str:
    """Return what chosen pipelines gain where no relevant document was learned from."""
    rows = []
    for study, each in found.items():
        base, old = each.values[HYBRID][RANKED_BY], known[study]
        counts = f"{old.sum()}, {(~old).sum()}"
        for system in each.systems:
            if not system.chosen:
                continue
            own = each.values[system.name][RANKED_BY]
            new = own[~old], base[~old]
            shared = f"{own[old].mean():.4f}" if old.any() else ""
            gain = f"{shown(difference(*new))}, p = {paired_t_test(*new):.2g}"
            rows.append([study, system.name, counts, shared, f"{new[0].mean():.4f}", gain])
    head = ["collection", "system", "queries: shared, new", f"{RANKED_BY}, shared", "new"]
    return table([*head, f"new − *{HYBRID}*"], rows)
