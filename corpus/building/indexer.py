"""How a kind is indexed; the kind's module in corpus/rankers has one `INDEXER`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.kinds import Settings, ranker_module
from ranklet.runtime.onnx.encoder import TOKENIZER, VARIANTS, variant_files
from ranklet.runtime.onnx.query_table import QUERIES

SIDES = BOTH, QUERY = ("both", "query")  # the encoders that a bundle keeps


def serves_queries_alone(settings: Settings, sides: str | None) -> bool:
    """Return whether a bundle leaves out what encodes documents alone.

    Args:
        settings: of a ranker.
        sides: one of `SIDES`, or None for the queries' side of a router and both of others.
    """
    return settings.documents_apart and (settings.routed if sides is None else sides == QUERY)


@dataclass(frozen=True)
class IndexJob:
    """A ranker of a bundle that gets a collection.

    Attributes:
        source: the bundle without the collection.
        name: the ranker's name.
        analysed: the collection.
        writer: the writer of the bundle with the collection.
        base: the bundle to which the collection is an addition, whose statistics hold until both
            are joined; None for a whole collection.
        sides: what is copied of encoders, one of `SIDES`; None for queries' side of a router.
    """

    source: BundleFiles
    name: str
    analysed: AnalysedCollection
    writer: BundleWriter
    base: BundleFiles | None = None
    sides: str | None = BOTH

    @property
    def folder(self) -> str:
        """The ranker's folder in both bundles."""
        return f"rankers/{self.name}/"

    @property
    def entry(self) -> RankerEntry:
        """What the manifest says of the ranker."""
        return self.source.manifest.rankers[self.name]

    @property
    def settings(self) -> Any:
        """The ranker's settings."""
        return self.source.settings(self.name)

    def copy(self, leave_out: tuple[str, ...] = ()) -> None:
        """Copy the ranker's files, except for some, which are written anew.

        What encodes documents alone is left out where `sides` says so.
        """
        if serves_queries_alone(self.settings, self.sides):
            files = [each for file in VARIANTS.values() for each in variant_files(file)]
            if self.source.has(self.folder + QUERIES + TOKENIZER):
                files.append(TOKENIZER)
            leave_out = (*leave_out, *files)
        self.writer.copy(self.source, self.folder, leave_out=leave_out)


@dataclass(frozen=True)
class Indexer:
    """How a kind is indexed; the module of a kind has one, `INDEXER`.

    Attributes:
        index: writes what depends on the collection, and copies the rest of a bundle's ranker.
        known_words: returns words that the vocabulary of a collection must have for a ranker.
        indexed: the files that `index` writes, in the ranker's folder; a folder ends with a slash.
        learned: returns a digest of what was exported and is in one of these files, too.
        parts: the settings under which part of a collection is indexed only so that a ranker's rows
            of documents can be used again when bundles are joined; None for kinds that do not use
            theirs again.
    """

    index: Callable[[IndexJob], RankerEntry]
    known_words: Callable[[BundleFiles, str], tuple[str, ...]] = lambda *_: ()
    indexed: tuple[str, ...] = ()
    learned: Callable[[BundleFiles, str], str] = lambda *_: ""
    parts: Mapping[str, Any] | None = None


def indexer(kind: str) -> Indexer:
    """Return the indexer of a kind, imported when it is first needed.

    Raises:
        UnknownRankerError: there is no such kind.
    """
    ranker_module(kind)  # refuses what is no kind
    own: Indexer = import_module(f"ranklet.corpus.rankers.{kind}").INDEXER
    return own
