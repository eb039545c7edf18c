"""The bundles that several benchmarks share, built through the library as a user would."""

from collections.abc import Callable, Mapping
from collections.abc import Collection as Sized
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.built import trained
from benchmarks.built.trained import QA_MIX, short, tune_bm25_again
from benchmarks.harness.evenly import drawn
from benchmarks.harness.place import Place
from ranklet.corpus.building.writer import write_zip
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.index import index_bundle
from ranklet.export.bundles import export_bundle
from ranklet.runtime.bundles.manifest import Splitting
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint, read_checkpoint

GOOGLE_WIKI = "google-wiki"
ENCODED_TOKENS = 16  # of a document, where only the speed of a query counts


def kept_bundle(
    place: Place,
    name: str,
    collection: str,
    checkpoints: Callable[[], Mapping[str, Checkpoint]],
    *,
    titles: bool = True,
) -> Path:
    """Return an indexed bundle; it is exported and indexed where it is not kept.

    Args:
        place: of the run.
        name: of the bundle.
        collection: that is indexed.
        checkpoints: makes the rankers, by name.
        titles: whether titles are part of the text.
    """

    def build(path: Path) -> None:
        rankers = path.with_name(f"{path.name}.rankers")
        export_bundle(checkpoints(), rankers, None, overwrite=True)
        index_bundle(rankers, place.collection(collection), path, titles=titles, overwrite=True)

    return place.keep(f"{name}.ranklet", build)


def google_wiki(place: Place) -> Path:
    """Return a bundle of google-wiki with BM25 over lemmas alone, untuned."""
    untuned = Checkpoint("bm25", BM25Settings("lemmas"))
    return kept_bundle(place, GOOGLE_WIKI, GOOGLE_WIKI, lambda: {"bm25": untuned})


def google_wiki_zip(place: Place) -> Path:
    """Return the same bundle as one file."""
    folder = google_wiki(place)
    return place.keep("google-wiki.zip", lambda path: write_zip(folder, path))


def google_wiki_hybrid(place: Place) -> Path:
    """Return a bundle of google-wiki with BM25, MiniLM over HNSW, and neural Model 1.

    For speed, not for quality: neural Model 1 learned for a minute, and only the first
    `ENCODED_TOKENS` of a document are encoded, which changes nothing for a query.
    """
    return kept_bundle(
        place, "google-wiki-hybrid", GOOGLE_WIKI, lambda: _hybrid(place, GOOGLE_WIKI, "hnsw")
    )


def qa_mix_hybrid(place: Place) -> Path:
    """Return a bundle of qa-mix with BM25, MiniLM and neural Model 1, for speed, as above."""
    return kept_bundle(place, "qa-mix-hybrid", QA_MIX, lambda: _hybrid(place, QA_MIX, "exact"))


def qa_mix_lexical(place: Place) -> Path:
    """Return a bundle of qa-mix with BM25 alone."""
    return kept_bundle(place, "qa-mix-lexical", QA_MIX, lambda: _tuned(place))


def qa_mix_colbert(place: Place) -> Path:
    """Return a bundle of qa-mix with BM25 and ColBERT, encoded and stored in int8.

    Encoding takes some 10 minutes of one core.
    """

    def checkpoints() -> Mapping[str, Checkpoint]:
        return {**_tuned(place), "colbert": read_checkpoint(trained.colbert(place))}

    return kept_bundle(place, "qa-mix-colbert", QA_MIX, checkpoints)


class Cut(NamedTuple):
    """A part of a collection, with what an index needs of one."""

    name: str
    passages: list[Document]

    def documents(self) -> list[Document]:
        """Return the passages."""
        return self.passages

    @property
    def types(self) -> dict[str, str]:
        """The types that were declared for fields, none."""
        return {}

    @property
    def splitting(self) -> Splitting:
        """How the passages are split: no further."""
        return Splitting(0, 0)


def cut_qa_mix_colbert(place: Place, needed: Sized[str], passages: int) -> Path:
    """Return the bundle of ColBERT over a part of qa-mix.

    Args:
        place: of the run.
        needed: ids of documents that must be there.
        passages: how many documents, those that are needed and others at random.
    """

    def build(path: Path) -> None:
        documents = drawn(list(place.collection(QA_MIX).documents()), set(needed), passages)
        index_bundle(qa_mix_colbert(place), Cut(QA_MIX, documents), path, overwrite=True)

    return place.keep(f"qa-mix-colbert.{passages}.ranklet", build)


def _tuned(place: Place) -> dict[str, Checkpoint]:
    return {"bm25": Checkpoint("bm25", tune_bm25_again(place, QA_MIX))}


def _hybrid(place: Place, collection: str, search: str) -> dict[str, Checkpoint]:
    return {
        "bm25": Checkpoint("bm25", BM25Settings("lemmas")),
        "dense": _fast_dense(place, collection, search),
        "neural_model1": read_checkpoint(short(place, "neural_model1")),
    }


def _fast_dense(place: Place, collection: str, search: str) -> Checkpoint:
    whole = trained.untrained_dense(place, collection)
    settings = replace(whole.settings, max_document_tokens=ENCODED_TOKENS, search=search)
    return replace(whole, settings=settings)
