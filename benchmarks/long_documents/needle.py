"""Long documents: what cross-encoders gain from reading all of them, and not only the beginning.

A document of the needle collection has four chunks, and the one that answers is at a uniformly
random place. In the control it is always first. Abstracts, and answers that are long, come next.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.built.trained import tuned_bm25
from benchmarks.cross_encoders import baselines, served
from benchmarks.cross_encoders.candidates import Lists, found_by_bm25, tuned
from benchmarks.cross_encoders.comparing import SIGNS, Row, Values, alone, shown_rows
from benchmarks.cross_encoders.equal_starts import network
from benchmarks.cross_encoders.scope import EXPORT_MINUTES, STEP, Scope, Sizes, announce
from benchmarks.cross_encoders.systems import MODEL1, VANILLA, System
from benchmarks.cross_encoders.trainings import Source, chosen_rate, learned, qa_mix
from benchmarks.harness.evenly import evenly
from benchmarks.harness.place import Place
from benchmarks.long_documents import needle_documents
from benchmarks.long_documents.needle_documents import CHUNKS, DEV, HELD, TRAIN
from ranklet.export.options import ExportOptions
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.indexing.wordpieces import read_tokenizer
from ranklet.training.pretrained.backbone import wheel_folder

PACKAGES = ("torch", "transformers", "onnxruntime")
# One more than the chunks that documents are made of, because a long query leaves less room.
MOST = CHUNKS + 1
READ = 2.5  # chunks of a document of scifact or medquad that are read, on average


class Reading(NamedTuple):
    """How a document is read.

    Attributes:
        label: of the rows.
        settings: that differ from those of one chunk.
        trained: whether the network learned to read so; otherwise it is the start.
    """

    label: str
    settings: Mapping[str, Any]
    trained: bool = True

    @property
    def long(self) -> bool:
        """Whether more than the beginning is read."""
        return bool(self.settings)


FIRST = Reading("first chunk", {})
READINGS = (
    FIRST,
    Reading("all chunks", {"chunks": MOST}),
    Reading("best chunk", {"chunks": MOST, "combine": "max"}),
    Reading("best chunk, not trained for it", {"chunks": MOST, "combine": "max"}, trained=False),
)
HEADS = (VANILLA, MODEL1)


class Trained(NamedTuple):
    """A network.

    Attributes:
        head: of the network.
        reading: how it reads.
        path: of its checkpoint.
    """

    head: System
    reading: Reading
    path: Path


class Measured(NamedTuple):
    """A collection that is reported.

    Attributes:
        title: of its table.
        lists: the queries and BM25's candidates.
        collection: the documents.
        tuning: queries that BM25 of beginnings is tuned on.
        titles: whether titles are part of the text.
    """

    title: str
    lists: Lists
    collection: Collection
    tuning: list[JudgedQuery]
    titles: bool


def run(place: Place) -> str:
    """Make the collections, train what is not kept, score by the exported networks, compare."""
    scope = Scope(place)
    announce("needle", estimated(scope.sizes))
    return section(scope)


def estimated(sizes: Sizes) -> dict[str, float]:
    """Return the minutes of each part, without the starts, which `equal_starts` trains."""
    steps, pool = sizes.needle_steps, sizes.needle_pool
    trained = [each for each in READINGS if each.trained]
    once = sum(sizes.training_minutes(steps, pool, CHUNKS if each.long else 1) for each in trained)
    chunks = sum(2 * CHUNKS + 2 * READ if each.long else 4 for each in READINGS)
    pairs = len(HEADS) * sizes.others * sizes.needle_depth
    return {
        "trainings": len(HEADS) * once,
        "exports": len(HEADS) * len(READINGS) * EXPORT_MINUTES,
        "scores": sizes.scoring_minutes(pairs, chunks),
    }


def section(scope: Scope, options: ExportOptions = served.EXPORT) -> str:
    """Return the tables of a run."""
    trained, rate = networks(scope)
    parts = [_intro(scope, rate)]
    for each in measured(scope):
        found = rows(scope, each, trained, options)
        parts.append(
            f"### {each.title}: {len(each.lists.queries):,} queries, BM25's first "
            f"{scope.sizes.needle_depth} reranked\n\n"
            + shown_rows(found, "first chunk's, same head", fused=False)
        )
    return "\n\n".join(parts)


def networks(scope: Scope) -> tuple[list[Trained], float]:
    """Return every head with every reading, and the learning rate.

    Each goes on from the body of its own head. One chunk is read by a network that learned on the
    control, where the first chunk is the real one, so what it learned is always right.
    """
    source = qa_mix(scope.place)
    rate = chosen_rate(scope, source).rate
    sizes, found = scope.sizes, []
    for head in HEADS:
        start = network(scope, source, head, rate)
        for reading in READINGS:
            path = start
            if reading.trained:
                settings = {**head.settings, **reading.settings}
                system = System(f"{head.label}, {reading.label}", settings)
                path = learned(
                    scope, _source(scope, first=not reading.long), system,
                    steps=sizes.needle_steps, rate=rate, pool=sizes.needle_pool, start=start,
                )  # fmt: skip
            found.append(Trained(head, reading, path))
    return found, rate


def measured(scope: Scope) -> Iterator[Measured]:
    """Yield what is reported, one after the other."""
    place, sizes = scope.place, scope.sizes
    titles = {False: "needle, anywhere", True: "needle, always first (control)"}
    for first, title in titles.items():
        source = _source(scope, first=first)
        queries = read_split(source.collection, DEV, limit=sizes.others)
        tuning = read_split(source.collection, TRAIN, limit=sizes.tuning)
        lists = found_by_bm25(place, source.collection, source.bm25, queries, sizes.needle_depth)
        yield Measured(title, lists, source.collection, tuning, False)
    abstracts = place.collection("scifact")
    queries = read_split(abstracts, "test", limit=sizes.others)
    yield _whole(scope, "scifact, titles and abstracts", abstracts, queries, titles=True)
    answers = place.collection("medquad")
    texts = {
        each.id: ranked_text(each.title, each.text, titles=False) for each in answers.documents()
    }
    tokenizer = read_tokenizer(scope.backbone or wheel_folder())

    def pieces(name: str) -> int:
        return len(tokenizer.encode(texts[name], add_special_tokens=False).ids)

    long = [
        query
        for query in read_split(answers, "dev")
        if min(pieces(name) for name in query.relevant) > sizes.relevant
    ]
    title = f"medquad without titles, relevant texts of more than {sizes.relevant} word pieces"
    some = [long[at] for at in evenly(len(long), sizes.others)]
    yield _whole(scope, title, answers, some, titles=False)


def rows(
    scope: Scope, reported: Measured, trained: Sequence[Trained], options: ExportOptions
) -> list[Row]:
    """Return the baselines and the networks on a collection."""
    lists, place = reported.lists, scope.place
    beginning = baselines.of_beginnings(
        scope, reported.collection, lists.queries, reported.tuning, titles=reported.titles
    )
    found = [Row(baselines.BM25, alone(lists, lists.scores)), Row(baselines.BEGINNING, beginning)]
    short: dict[str, Values] = {}
    for head, reading, path in trained:
        bundle = served.exported(place, path, reading.settings, options)
        values = alone(lists, served.scores(place, bundle, path, reading.settings, lists))
        short.setdefault(head.label, values)  # the first reading of a head is the first chunk
        base = short[head.label] if reading.long else None
        found.append(Row(f"{head.label}, {reading.label}", values, base=base))
    return found


def _source(scope: Scope, *, first: bool) -> Source:
    collection = needle_documents.collection(scope, first=first)
    tuning = read_split(collection, TRAIN, limit=scope.sizes.tuning)
    bm25 = tuned(scope.place, collection, tuning)
    return Source(collection.name, collection, TRAIN, HELD, bm25, titles=False)


def _whole(
    scope: Scope, title: str, collection: Collection, queries: list[JudgedQuery], *, titles: bool
) -> Measured:
    bm25 = tuned_bm25(scope.place, collection.name, titles=titles)
    lists = found_by_bm25(
        scope.place, collection, bm25, queries, scope.sizes.needle_depth, titles=titles
    )
    tuning = read_split(collection, "train", limit=scope.sizes.tuning)
    return Measured(title, lists, collection, tuning, titles)


def _intro(scope: Scope, rate: float) -> str:
    sizes = scope.sizes
    return f"""\
A document of the needle collection has {CHUNKS} chunks of {sizes.least} to {sizes.chunk} word \
pieces, which are beginnings of documents of qa-mix (squadshifts, boolq, medquad, and Natural \
Questions only to fill up). One belongs to the document whose queries and judgements it has. The \
others belong to documents that no judged query asks for. The real chunk is at a uniformly random \
place. In the control it is first, before the same others.

Each network goes on from that of `equal_starts` with its own head (margin loss, seed 0), for \
{sizes.needle_steps} steps of {STEP} queries at the learning rate {rate:g}. *All chunks*: the mean \
of [CLS] (vanilla), or all tokens of the document (BERT-Model1). *Best chunk*: the highest score. \
These learn where the real chunk may be anywhere. *First chunk* learns where it is first, so its \
examples are right. Documents of scifact and medquad are read by the same networks, which learned \
from neither, although medquad with titles is a part of qa-mix. At most {MOST} chunks are read. \
All scores are those of exported bundles. BM25 over the first {baselines.PIECES} word pieces \
retrieves by itself.

{SIGNS}

Sized down against Boytsov & Kolter: MiniLM-L6 in place of BERT base, chunks of {sizes.tokens} \
tokens in place of 512, {sizes.needle_steps * STEP:,} queries for the second phase, and one seed."""
