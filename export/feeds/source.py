"""The entries of a feed, read from a bundle."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ranklet.export.feeds.plan import Entry, Field, Plan, Vector
from ranklet.runtime.errors import InputError
from ranklet.runtime.hits import plain
from ranklet.runtime.lexical.impact_index import ImpactIndex
from ranklet.runtime.lexical.sparse_store import SparseQuery
from ranklet.runtime.metadata.columns import Metadata
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.rankers import KINDS
from ranklet.runtime.rankers.dense import Dense
from ranklet.runtime.rankers.learned_sparse import LearnedSparse
from ranklet.runtime.rankers.protocol import Ranker
from ranklet.runtime.storage.bundle_files import BundleFiles

INDEX_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")  # what all engines allow
FED = ("impacts", "dense")  # ways to retrieve whose scores are products of two vectors


class Source:
    """A bundle whose documents are fed to an engine.

    Args:
        path: of the bundle.
        rankers: those whose vectors are fed; all that can be if there are none.
        index: name of the index or collection in the engine.

    Raises:
        InputError: a ranker is unknown or has no vectors, or the name is not allowed.
        BundleError: the bundle cannot be read, or it has no collection.
    """

    def __init__(self, path: str | Path, rankers: Sequence[str] = (), index: str = "") -> None:
        self._bundle = BundleFiles(path, device="cpu")
        self._bundle.need_collection()
        index = index or re.sub(r"\W+", "_", Path(path).stem.lower(), flags=re.ASCII)
        if not INDEX_NAME.fullmatch(index):
            raise InputError(
                f"the index name is {index!r}; it must be a small letter, followed by up to 63 "
                "small letters, digits and underscores; give one with --name"
            )
        self._rankers = {name: self._bundle.ranker(name) for name in self._chosen(rankers)}
        fields = tuple(self._field(name, each) for name, each in self._rankers.items())
        manifest = self._bundle.manifest
        passages = self._bundle.documents.first is not None
        self.plan = Plan(index, fields, manifest.metadata, passages)

    def __len__(self) -> int:
        """Return how many entries there are."""
        return self._bundle.manifest.documents

    def entries(self) -> Iterator[Entry]:
        """Return the entries in the order of the bundle."""
        documents, metadata = self._bundle.documents, Metadata(self._bundle)
        vectors = {
            field.name: vectors_of(self._rankers[field.ranker], len(self))
            for field in self.plan.fields
        }
        for number in range(len(self)):
            id_, title, text = documents.record(number)
            passage = documents.passage(number)
            yield Entry(
                id_ if passage is None else f"{id_}#{passage}",
                id_,
                passage,
                title,
                text,
                plain(metadata.of(number)),
                {name: next(each) for name, each in vectors.items()},
            )

    def query(self, text: str, ranker: str = "") -> tuple[Field, Vector]:
        """Return the field that a query is searched in, and the query's vector.

        Args:
            text: the query.
            ranker: the ranker; the first of the feed if empty.

        Raises:
            InputError: the feed does not have the ranker.
        """
        fields = {field.ranker: field for field in self.plan.fields}
        name = ranker or next(iter(fields))
        if name not in fields:
            raise InputError(f"the feed has no ranker {name!r}; it has {', '.join(fields)}")
        made = vector_of(self._rankers[name], QueryContext(text, self._bundle.analyzer.begin()))
        return fields[name], made

    @property
    def sample(self) -> str:
        """A query for trying out."""
        return " ".join(self._bundle.documents.samples(1)[0].split()[:8])

    def _chosen(self, names: Sequence[str]) -> list[str]:
        kinds = {name: KINDS[each.kind] for name, each in self._bundle.manifest.rankers.items()}
        able = [name for name, kind in kinds.items() if kind.index in FED]
        if not able:
            raise InputError(
                "no ranker of the bundle retrieves by vectors or impacts, so there is nothing to "
                f"feed; it has {', '.join(kinds) or 'no rankers'}"
            )
        for name in names:
            if name not in able:
                raise InputError(f"the ranker {name!r} cannot be fed; choose of {', '.join(able)}")
        return list(dict.fromkeys(names)) or able

    def _field(self, name: str, ranker: Ranker) -> Field:
        field = re.sub(r"\W", "_", name, flags=re.ASCII)
        if isinstance(ranker, Dense):
            return Field(name, f"vector_{field}", ranker.settings.dimension)
        largest = float(np.max(_index(ranker).largest, initial=0.0))
        return Field(name, f"impacts_{field}", largest=largest)


def vector_of(ranker: Ranker, query: QueryContext) -> Vector:
    """Return the vector of a query.

    Raises:
        InputError: a retriever of this kind has none.
    """
    made = getattr(ranker, "query_vector", lambda _: None)(query)
    if made is None:
        raise InputError(f"{type(ranker).__name__} has no vector of a query")
    vector: Vector = made
    return vector


def vectors_of(ranker: Ranker, count: int) -> Iterator[Vector]:
    """Return the vectors of a ranker's documents, in their order.

    Args:
        ranker: a dense one, or one with impacts.
        count: how many documents there are.
    """
    if isinstance(ranker, Dense):
        yield from ranker.vectors
        return
    if isinstance(ranker, LearnedSparse):
        for number in range(count):
            yield SparseQuery(*ranker.store.vector(number))
        return
    offsets, rows, values = by_document(_index(ranker), count)
    for begin, end in pairwise(offsets.tolist()):
        yield SparseQuery(rows[begin:end], values[begin:end])


def by_document(
    index: ImpactIndex, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return the postings of an index by document: offsets, terms and impacts.

    It takes some 24 bytes of memory per posting.
    """
    order = np.argsort(index.documents, kind="stable")
    lengths = np.bincount(index.documents, minlength=count)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    terms = np.repeat(np.arange(len(index.offsets) - 1, dtype=np.int32), np.diff(index.offsets))
    impacts = index.impacts[order].astype(np.float32) * np.float32(index.scale)
    return offsets, terms[order], impacts


def _index(ranker: Ranker) -> ImpactIndex:
    index = getattr(ranker, "index", None)
    if not isinstance(index, ImpactIndex):
        raise InputError(f"{type(ranker).__name__} has no impacts")
    return index
