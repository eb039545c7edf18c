"""Collections on which relevance is measured: whole ones, parts of one, and other forms of them."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.fusion.collections import BM25, MINILM, Compared, model_of, rankers_of
from benchmarks.harness.place import Place
from ranklet import runtime
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.index import index_bundle
from ranklet.corpus.languages.options import TextOptions
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Source
from ranklet.runtime.ground.sets import evenly
from ranklet.workflows.build import build

# Of train and of the reported split, and documents besides the answers to these, at most. Those
# with vectors are fewer, because an encoder takes ten times as long as all the rest.
QUERIES = {False: 500, True: 250}
DOCUMENTS = {False: 4_000, True: 1_000}
FAMILY = 8  # packages that begin with the same word, at least, so that they look alike
FIRST = 30  # words of a description's first sentence, at most
# What a bundle of it depends on, without what learns from judgements.
CODE_HERE = (
    "corpus/building", "corpus/indexing", "corpus/languages", "corpus/sources",
    "src/ranklet/workflows/build.py",
    "export/bundles.py", "runtime/text", "runtime/lexical", "runtime/rankers",
    "benchmarks/quality/relevance_collections.py",
)  # fmt: skip

Queries = dict[str, list[JudgedQuery]]  # by split


class Measured(NamedTuple):
    """A collection, or a part or another form of one.

    Attributes:
        name: of this one.
        domain: those of one domain are left out together.
        source: the collection that it is made of; empty for `name`.
        prefix: of the ids of its documents and queries.
        shape: what its texts are; empty for what they are in the collection.
        split: of the queries that are reported.
        language: of the texts.
        encoded: whether it is measured with vectors, too.
    """

    name: str
    domain: str
    source: str = ""
    prefix: str = ""
    shape: str = ""
    split: str = "dev"
    language: str = "en"
    encoded: bool = False


MEASURED = (
    Measured("scifact", "science", split="test", encoded=True),
    Measured("scifact, titles", "science", "scifact", shape="titles", split="test"),
    Measured("sentences of Wikipedia", "squad", "qa-mix", "sq-", encoded=True),
    Measured("paragraphs of Wikipedia", "squad", "qa-mix", "ss-wiki-"),
    Measured("reviews", "amazon", "qa-mix", "ss-amazon-", encoded=True),
    Measured("posts", "reddit", "qa-mix", "ss-reddit-", encoded=True),
    Measured("google-wiki", "web", encoded=True),
    Measured("medquad", "medicine", encoded=True),
    Measured("medquad, no titles", "medicine", "medquad", shape="untitled"),
    Measured("packages", "debian", "debian-packages", encoded=True),
    Measured("packages alike", "debian", "debian-packages", shape="alike"),
    Measured("lines of packages", "debian", "debian-packages", shape="lines"),
    Measured("debian-de", "debian", language="de"),
    Measured("debian-ja", "debian", language="ja"),
)

# Queries of other subjects, all of them questions, per collection that has some; and subjects that
# answer some of each other's.
OFF_TOPIC = {False: 40, True: 20}
ASKED = ("sentences of Wikipedia", "reviews", "posts", "google-wiki", "medquad")
CLOSE = ({"squad", "web"}, {"medicine", "science"})


def bundle_of(place: Place, each: Measured, *, vectors: bool) -> tuple[runtime.Bundle, Queries]:
    """Return a collection's bundle as a build makes it, and its queries.

    Raises:
        MissingDataError: the collection, or the encoder, is not on this machine.
    """
    documents, queries = read(place, each, vectors=vectors)

    def index(path: Path) -> None:
        records = [document._asdict() for document in documents]
        source = Source(records, SourceOptions(skip_bad=True))
        if not vectors:
            build(source, path, language=each.language, overwrite=True)
            return
        compared = Compared(each.source or each.name, MINILM)
        rankers = rankers_of(place, compared, model_of(compared), MINILM)
        words = TextOptions(language=each.language)
        index_bundle(rankers, source, path, words=words, overwrite=True)

    name = f"relevance.{each.name}.{MINILM if vectors else BM25}.ranklet".replace(" ", "-")
    return runtime.load(place.keep(name, index, CODE_HERE)), queries


@lru_cache(maxsize=1)
def read(place: Place, each: Measured, *, vectors: bool) -> tuple[list[Document], Queries]:
    """Return the documents of a collection and its queries of both splits, evenly spread."""
    collection = place.collection(each.source or each.name)
    documents = [one for one in collection.documents() if one.id.startswith(each.prefix)]
    if each.shape == "alike":
        families = Counter(map(_family, documents))
        documents = [one for one in documents if families[_family(one)] >= FAMILY]
    known, queries, lines = {one.id for one in documents}, Queries(), dict[str, str]()
    for split in ("train", each.split):
        of = [query for query in read_split(collection, split) if query.relevant.keys() <= known]
        queries[split] = [of[at] for at in evenly(len(of), QUERIES[vectors])]
        lines |= {name: query.text for query in of for name in query.relevant}
    wanted = {name for split in queries.values() for query in split for name in query.relevant}
    kept = set(evenly(len(documents), DOCUMENTS[vectors]))
    documents = [one for at, one in enumerate(documents) if one.id in wanted or at in kept]
    if each.shape == "lines":
        return _reversed(documents, queries, lines)
    shape = {"titles": _title, "untitled": _untitled}.get(each.shape, lambda one: one)
    return list(map(shape, documents)), queries


def off_topic(
    place: Place, each: Measured, split: int, *, vectors: bool
) -> Iterator[tuple[str, str]]:
    """Yield questions of other subjects, of train or of the reported split, with their domains."""
    for other in MEASURED:
        pair = {each.domain, other.domain}
        if other.name not in ASKED or len(pair) == 1 or pair in CLOSE:
            continue
        collection = place.collection(other.source or other.name)
        asked = read_split(collection, ("train", other.split)[split])
        asked = [query for query in asked if query.id.startswith(other.prefix)]
        for at in evenly(len(asked), OFF_TOPIC[vectors]):
            yield other.domain, asked[at].text


def _family(document: Document) -> str:
    return document.id.partition("-")[0]


def _title(document: Document) -> Document:
    return Document(document.id, "", document.title or document.text)


def _untitled(document: Document) -> Document:
    return document._replace(title="")


def _reversed(
    documents: list[Document], queries: Queries, lines: Mapping[str, str]
) -> tuple[list[Document], Queries]:
    """Return the queries as documents, and the first sentences of their answers as queries."""
    first = {
        one.id: " ".join(re.split(r"(?<=[.!?])\s", one.text, maxsplit=1)[0].split()[:FIRST])
        for one in documents
    }
    asked = {
        split: [query._replace(text=first[next(iter(query.relevant))]) for query in of]
        for split, of in queries.items()
    }
    return [Document(one.id, "", lines[one.id]) for one in documents if one.id in lines], asked
