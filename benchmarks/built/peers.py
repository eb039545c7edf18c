"""The peers' indexes of google-wiki, over the very tokens that our own index holds."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.bundles import google_wiki
from benchmarks.harness.place import Place
from ranklet.corpus.collections.splits import read_split
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.opening import open_ranker

FIELD = "lemmas"


def opened(path: Path) -> BundleFiles:
    """Open a bundle, for its parts."""
    return BundleFiles(path)


def retriever_of(bundle: BundleFiles, name: str) -> Retriever:
    """Return a ranker of a bundle that has an index of its own."""
    ranker = open_ranker(bundle, name)
    if not isinstance(ranker, Retriever):
        raise TypeError(f"{name} is {ranker!r}")
    return ranker


def bm25s_folder(place: Place) -> Path:
    """Return a saved bm25s index with our k1 and b; its vocabulary is the lemmas that occur."""
    bundle = opened(google_wiki(place))

    def build(path: Path) -> None:
        documents, vocabulary = _documents(bundle)
        bm25s_index(documents, vocabulary).save(path, show_progress=False)

    return place.keep("google-wiki.bm25s", build)


def bm25s_index(documents: list[NDArray[np.int32]], vocabulary: dict[str, int]) -> Any:
    """Return a bm25s index over token ids, Lucene's form and our parameters."""
    import bm25s

    settings = BM25Settings(FIELD)
    index = bm25s.BM25(k1=settings.k1, b=settings.b, method="lucene")
    index.index(([each.tolist() for each in documents], vocabulary), show_progress=False)
    return index


def tantivy_folder(place: Place) -> Path:
    """Return a tantivy index of one segment: tokens and frequencies, and a number for each."""
    bundle = opened(google_wiki(place))

    def build(path: Path) -> None:
        import tantivy

        path.mkdir()
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
        schema.add_integer_field("number", fast=True)
        index = tantivy.Index(schema.build(), path=str(path))
        writer = index.writer(heap_size=1_000_000_000, num_threads=1)
        documents, vocabulary = _documents(bundle)
        spelling = list(vocabulary)
        for number, tokens in enumerate(documents):
            body = " ".join(map(spelling.__getitem__, tokens.tolist()))
            writer.add_document(tantivy.Document(body=body, number=number))
        writer.commit()
        writer.wait_merging_threads()

    return place.keep("google-wiki.tantivy", build)


def asked(place: Place, bundle: BundleFiles) -> list[tuple[str, list[str]]]:
    """Return text and lemmas of each dev query that has a lemma which some document has."""
    found = []
    offsets = open_ranker(bundle, "bm25").index.offsets  # type: ignore[attr-defined]
    for query in read_split(place.collection("google-wiki"), "dev"):
        tokens = QueryContext(query.text, bundle.analyzer.begin()).tokens(FIELD)
        known = [t for t in tokens.tolist() if t < len(offsets) - 1 and offsets[t] < offsets[t + 1]]
        if known:
            forms = bundle.analyzer.vocabulary.forms
            found.append((query.text, [forms[token] for token in known]))
    return found


def _documents(bundle: BundleFiles) -> tuple[list[NDArray[np.int32]], dict[str, int]]:
    """Return the tokens of each document, renumbered to those that occur, and their spellings."""
    if bundle.documents is None:
        raise ValueError(f"{bundle.path} has no collection")
    everything = np.arange(len(bundle.documents), dtype=np.uint32)
    gathered = bundle.documents.tokens(FIELD, everything)
    used, renumbered = np.unique(gathered.tokens, return_inverse=True)
    forms = bundle.analyzer.vocabulary.forms
    vocabulary = {forms[token]: number for number, token in enumerate(used.tolist())}
    ends = np.cumsum(gathered.lengths)[:-1]
    return np.split(renumbered.astype(np.int32), ends), vocabulary
