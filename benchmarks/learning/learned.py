"""What `ranklet learn` claims to gain, and what it gains on queries that were kept from it.

Each bundle is built from documents and an encoder as they come. Then it learns from queries of
train, once. It reports on some of these itself. The kept queries are of dev or test.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.corpus.collections.collection import Document, Query, write_collection
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.evaluation.significance import Interval, interval
from ranklet.corpus.evaluation.systems import evaluate
from ranklet.corpus.sources.options import SourceOptions
from ranklet.runtime import load
from ranklet.runtime.ground.sets import evenly
from ranklet.training.pretrained.backbone import wheel_folder
from ranklet.workflows.build import build
from ranklet.workflows.learn.learn import learn
from ranklet.workflows.learn.options import LearnOptions
from ranklet.workflows.learn.result import Learned

PACKAGES = ("torch", "transformers", "onnxruntime")
MINUTES = "RANKLET_LEARNED_MINUTES"  # a variable: minutes of each learning, 6 by default
DOCUMENTS, KEPT = 2_000, 500  # at most
MEASURE = "MRR@10"
CODE = (
    *("src/ranklet/workflows/learn", "corpus/tuning", "corpus/building/default_fusion.py"),
    *(f"training/{name}" for name in ("rankers", "learning", "train.py")),
)
INPUT = ("corpus/building/default_fusion.py",)  # code of the bundles that learn


class Study(NamedTuple):
    """A collection, and how its search is built and learned.

    Attributes:
        name: of the collection.
        part: how the ids of its documents and queries begin.
        given: judged queries to learn from, at most.
        split: of the kept queries.
        language: of the texts.
        titles: whether titles are ranked.
        network: whether MiniLM encodes the texts and reads the queries.
    """

    name: str
    part: str = ""
    given: int = 800
    split: str = "dev"
    language: str = "en"
    titles: bool = True
    network: bool = True

    @property
    def label(self) -> str:
        """What the table calls it."""
        facts = [self.part.strip("-")] if self.part else []
        facts += [] if self.titles else ["without titles"]
        facts += [] if self.network else ["no network"]
        return ", ".join([self.name, *facts])

    @property
    def file(self) -> str:
        """What files of it are called by."""
        return "-".join(self.label.replace(",", "").split())


STUDIES = (
    Study("qa-mix", "sq-"),
    Study("qa-mix", "ss-amazon"),
    Study("qa-mix", "bq-"),
    Study("scifact", split="test"),
    Study("google-wiki"),
    Study("debian-fr", language="fr"),  # which MiniLM hardly reads
    Study("medquad", given=2_500, titles=False),
    Study("debian-de", language="de", network=False),
)


def run(place: Place) -> str:
    """Build and learn what is not kept."""
    minutes = float(os.environ.get(MINUTES, "6"))
    rows = [_row(study, learned(place, study, minutes)) for study in STUDIES]
    head = ["collection", "queries", "before", "after", "claimed gain (95 %)"]
    head += ["gain on kept queries (95 %)", "members", "minutes"]
    return f"""
{table(head, rows)}

{MEASURE} within {minutes:g} minutes of one processor, on at most {DOCUMENTS:,} documents. \
*Before*: the bundle of `ranklet build`, with its default fusion. *Queries*: to learn from, to \
choose on and to report on; then {KEPT} at most that were kept from it, on which *before* and \
*after* are measured, even where nothing was written.
"""


def learned(place: Place, study: Study, minutes: float) -> dict[str, Any]:
    """Return what was learned in a study, plain values by name; it is kept."""

    def make(path: Path) -> None:
        bundle, judged, kept = prepared(place, study)
        options = LearnOptions(minutes=minutes, measure=MEASURE, network=study.network)
        target = path.with_suffix(".ranklet")
        found = learn(bundle, judged, target, options, overwrite=True)
        path.write_text(json.dumps(_plain(found, bundle, kept)))

    path = place.keep(f"learned.{study.file}.{minutes:g}.json", make, CODE)
    kept: dict[str, Any] = json.loads(path.read_text())
    return kept


def prepared(place: Place, study: Study) -> tuple[Path, Path, list[JudgedQuery]]:
    """Return a bundle, a folder of judged queries of its documents, and the kept ones."""
    collection = place.collection(study.name)

    def judgements(split: str, most: int) -> list[JudgedQuery]:
        whole = [each for each in read_split(collection, split) if each.id.startswith(study.part)]
        return [whole[at] for at in evenly(len(whole), most)]

    kept, given = judgements(study.split, KEPT), judgements("train", study.given)
    whole = [each for each in collection.documents() if each.id.startswith(study.part)]
    documents = list(_documents(whole, kept, given))
    known = {each.id for each in documents}
    given = [each for each in given if known.issuperset(each.relevant)]

    def make(path: Path) -> None:
        build(
            (each._asdict() for each in documents), path,
            models=[wheel_folder()] if study.network else [],
            source=SourceOptions(skip_bad=True), language=study.language, titles=study.titles,
            overwrite=True,
        )  # fmt: skip

    bundle = place.keep(f"{study.file}.input.ranklet", make, INPUT)

    def judge(path: Path) -> None:
        split = [Query(q.id, q.text) for q in given], {q.id: q.relevant for q in given}
        write_collection(path, [], {"train": split})

    return bundle, place.keep(f"{study.file}.judged", judge, INPUT), kept


def _documents(
    documents: list[Document], kept: list[JudgedQuery], given: list[JudgedQuery]
) -> Iterator[Document]:
    """Yield the documents of kept queries, of as many given ones as fit, and some more."""
    wanted = {name for query in kept for name in query.relevant}
    for query in given:
        if len(wanted) + len(query.relevant) <= DOCUMENTS:
            wanted |= set(query.relevant)
    others = [each.id for each in documents if each.id not in wanted]
    more = max(0, DOCUMENTS - len(wanted))
    wanted |= {others[at] for at in evenly(len(others), more)} if more else set()
    yield from (each for each in documents if each.id in wanted)


def _plain(found: Learned, bundle: Path, kept: list[JudgedQuery]) -> dict[str, Any]:
    chosen = found.kept or found.rows[0]
    before, after = (
        evaluate(load(path), kept, {"default": None}, measures=[MEASURE], depth=100)[0].values
        for path in (bundle, found.target or bundle)
    )
    return {
        "parts": found.parts,
        "before": float(np.mean(before[MEASURE])),
        "after": float(np.mean(after[MEASURE])),
        "claimed": [len(chosen.values), *chosen.gain] if found.kept else [],
        "gain": list(interval(after[MEASURE], before[MEASURE])),
        "members": chosen.name if found.target else f"nothing was written: {found.why}",
        "minutes": found.minutes,
        "skipped": {**found.untrained, **found.skipped},
    }


def _row(study: Study, found: dict[str, Any]) -> list[str]:
    learn_, tune, choose, report = found["parts"]
    wrote = not found["members"].startswith("nothing")
    return [
        study.label,
        f"{learn_ + tune:,} + {choose:,} + {report:,}",
        f"{found['before']:.3f}",
        f"{found['after']:.3f}",
        f"{found['claimed'][0]:,}: {Interval(*found['claimed'][1:])}" if found["claimed"] else "",
        str(Interval(*found["gain"])) if wrote else "",
        found["members"],
        f"{found['minutes']:.1f}",
    ]
