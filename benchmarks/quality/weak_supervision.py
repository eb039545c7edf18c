"""What a dense encoder learns without judgements, from titles or from sentences.

MiniLM-L6 is imported as it is, or trained first: on titles (`--weak titles`), on sentences
(`--weak sentences`), or on judged queries for comparison, each for the same number of steps with
the same settings. BM25 has its default k1 and b. Reciprocal ranks fuse it with the encoder, so no
weight is learned from judgements either.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.built.trained import DENSE, HELD_OUT, LEARN, train_resumably
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet import runtime
from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime.pipeline import Fuse, Pipeline, Retrieve
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data import weak
from ranklet.training.data.collection import Collection, write_collection
from ranklet.training.data.probes import unjudged_probes
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.data.weak import WeakPairs, make_pairs
from ranklet.training.evaluation.overlap import overlap
from ranklet.training.evaluation.systems import MEASURES, Evaluation, comparisons, evaluate, mark
from ranklet.training.imported.importing import read_model
from ranklet.training.pretrained.backbone import wheel_folder
from ranklet.training.rankers.dense import training as dense
from ranklet.training.rankers.dense.options import Options

PACKAGES = ("torch", "transformers", "onnxruntime")


@dataclass(frozen=True)
class Tried:
    """A collection, and what it is ranked with.

    Attributes:
        name: of the collection.
        split: its judged queries, which no choice has seen.
        titles: what its titles are.
        ranked: whether titles are part of the text that is ranked.
    """

    name: str
    split: str
    titles: str
    ranked: bool = True

    @property
    def label(self) -> str:
        """What the table calls it."""
        return f"{self.name} {self.split}{'' if self.ranked else ', titles not ranked'}"


FOCUS = "the disease or drug that the questions of a document are about"
TRIED = (
    Tried("medquad", "dev", FOCUS),
    Tried("medquad", "dev", FOCUS, ranked=False),
    Tried("qa-mix", "dev", "names of Wikipedia's articles, and those of medquad"),
    Tried("scifact", "test", "titles of papers, which state what was found"),
)
QUERIES = 400  # evaluated, at most
DOCUMENTS = 5_000  # at most: the relevant ones, and others at even distances
TUNING_QUERIES = 200
STEPS = 100
OPTIONS = Options(steps=STEPS, batch=16, max_document_tokens=64, evaluations=2, save_every=50)
BACKBONE: Path | None = None  # None for MiniLM-L6 of a wheel
DEPTH = 100
BM25, UNTRAINED, JUDGED = "bm25", "untrained", "judged"
TRAINED = (*weak.WEAK, JUDGED)
NAMES = {
    BM25: "BM25",
    UNTRAINED: "hybrid, MiniLM untrained",
    weak.TITLES: "hybrid, `--weak titles`",
    weak.SENTENCES: "hybrid, `--weak sentences`",
    JUDGED: "hybrid, judged training",
}
BASE = NAMES[UNTRAINED]
_WEAK_CODE = (*DENSE, "training/data/weak.py", "training/data/passages.py")


def run(place: Place) -> str:
    """Train or take what is kept, rank, and compare with the untrained hybrid."""
    rows, notes = [], []
    for tried in TRIED:
        collection, queries = part(place, tried), _queries(place, tried)
        bundle = runtime.load(_bundle(place, tried))
        found = evaluate(bundle, queries, _recipes(), depth=DEPTH)
        where = f"{tried.label} ({len(queries):,} of {len(bundle):,})"
        rows += _rows(where, found)
        if tried.ranked:
            notes.append(_note(place, tried, collection, queries))
    head = ["collection (queries of documents)", "system", *MEASURES]
    return f"""
No training but the judged one has seen a judgement. Each encoder learns for {STEPS} steps of \
{OPTIONS.batch} queries with in-batch negatives, learning rate {OPTIONS.learning_rate:g}, cosines \
and documents of {OPTIONS.max_document_tokens} tokens; nothing was tuned for these queries. The \
weights that rank held-out titles, sentences or judged queries of train best are kept. A \
collection is cut to at most {DOCUMENTS:,} documents, among them all relevant ones of at most \
{QUERIES} queries, so figures are higher than on the whole collection. Every encoder runs as \
`ranklet export` made it (int8).

{table(head, rows)}

Against *{BASE}*: † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction over the four \
others), whether better or worse.

{chr(10).join(notes)}
"""


def part(place: Place, tried: Tried) -> Collection:
    """Return the part of a collection that is ranked and learned from, with its judgements."""
    whole = place.collection(tried.name)

    def build(path: Path) -> None:
        wanted = {name for query in _queries(place, tried) for name in query.relevant}
        documents = list(whole.documents())
        others = [each.id for each in documents if each.id not in wanted]
        count = min(len(others), max(0, DOCUMENTS - len(wanted)))
        ids = wanted | {others[at * len(others) // count] for at in range(count)}
        kept = [document for document in documents if document.id in ids]
        grades = {
            query: {name: grade for name, grade in judged.items() if name in ids}
            for query, judged in whole.qrels("train").items()
        }
        write_collection(path, kept, {"train": (whole.queries("train"), grades)})

    name = f"{tried.name}.{tried.split}.{QUERIES}q.{DOCUMENTS}d"
    return Collection(place.keep(name, build, ("training/data/splits.py",)))


def _queries(place: Place, tried: Tried) -> list[JudgedQuery]:
    return read_split(place.collection(tried.name), tried.split, limit=QUERIES)


def _pairs(collection: Collection, how: str) -> WeakPairs:
    most = STEPS * OPTIONS.batch
    return make_pairs(collection.documents(), how, most=most, name=collection.name)


def encoder(place: Place, tried: Tried, how: str) -> Checkpoint:
    """Return an encoder that learned from titles, sentences or judged queries; see `TRAINED`."""
    collection = part(place, tried)
    name = f"{collection.name}.{how}.{STEPS}steps.dense"
    code = DENSE if how == JUDGED else _WEAK_CODE
    state = place.state(name, code)

    def build(path: Path) -> None:
        options = replace(OPTIONS, backbone=BACKBONE)
        if how == JUDGED:
            learn, held_out, source = LEARN, HELD_OUT, collection
        else:
            learn, held_out = weak.LEARN, weak.HELD_OUT
            source = _pairs(collection, how).write(path.with_name(f"{name}.collection"))
        train_resumably(
            dense.train, source, read_split(source, learn),
            read_split(source, held_out, limit=TUNING_QUERIES), options, path, state,
        )  # fmt: skip

    return read_checkpoint(place.keep(name, build, code))


def _bundle(place: Place, tried: Tried) -> Path:
    collection = part(place, tried)

    def build(path: Path) -> None:
        given = read_model(BACKBONE or wheel_folder())
        query, document = OPTIONS.limits
        settings = replace(given.settings, max_query_tokens=query, max_document_tokens=document)
        probes = unjudged_probes(collection.documents())
        checkpoints = {
            BM25: Checkpoint(BM25, BM25Settings()),
            UNTRAINED: replace(given, settings=settings, probes=probes),
            **{how: encoder(place, tried, how) for how in TRAINED},
        }
        rankers = path.with_name(f"{path.name}.rankers")
        export_bundle(checkpoints, rankers, ExportOptions(), overwrite=True)
        index_bundle(rankers, collection, path, titles=tried.ranked, overwrite=True)

    titles = "" if tried.ranked else ".untitled"
    return place.keep(f"{collection.name}{titles}.{STEPS}steps.weak.ranklet", build)


def _recipes() -> dict[str, Pipeline]:
    """Return BM25 alone, and BM25 with each encoder by reciprocal ranks."""
    lexical = Retrieve(BM25, DEPTH)
    return {NAMES[BM25]: Pipeline((lexical,))} | {
        NAMES[name]: Pipeline(
            (lexical, Retrieve(name, DEPTH), Fuse("rrf", (BM25, name), (1.0, 1.0)))
        )
        for name in (UNTRAINED, *TRAINED)
    }


def _rows(where: str, found: list[Evaluation]) -> list[list[str]]:
    against = {measure: comparisons(found, measure, BASE) for measure in MEASURES}

    def value(each: Evaluation, measure: str) -> str:
        sign = "" if each.pipeline == BASE else mark(against[measure][each.pipeline].p_holm)
        return f"{each.mean(measure):.4f}{sign}"

    return [
        [where, each.pipeline, *(value(each, measure) for measure in MEASURES)] for each in found
    ]


def _note(place: Place, tried: Tried, collection: Collection, queries: list[JudgedQuery]) -> str:
    """Return what the encoders of a collection learned from, and how their measure changed."""
    courses = [_course(encoder(place, tried, how).training) for how in TRAINED]
    made = [str(_pairs(collection, how)) for how in weak.WEAK]
    seen = overlap(collection, queries, [LEARN])
    return (
        f"- {tried.name}: titles are {tried.titles}. Made of it: {made[0]}; {made[1]}. MRR@10 of "
        "a pool on what was held out, before, amid and after training: "
        f"{'; '.join(f'{how} {course}' for how, course in zip(TRAINED, courses, strict=True))}. "
        f"{seen.queries:,} of the {seen.of_queries:,} queries have a document that is also "
        "relevant for a query of the judged training."
    )


def _course(training: Mapping[str, object]) -> str:
    values = training["evaluations"]
    if not isinstance(values, list):
        raise TypeError(f"evaluations are {values!r}")
    return ", ".join(f"{each['value']:.3f}" for each in values)
