"""The entries of a feed, read from a bundle."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ranklet.export.feeds.plan import Entry, Field, Plan
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.call.query import QueryContext, QueryVector
from ranklet.runtime.errors import InputError
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.lexical.impact_index import ImpactIndex
from ranklet.runtime.metadata.columns import Metadata
from ranklet.runtime.rankers.opening import ranker_of
from ranklet.runtime.storage.address import BundleLike, located

INDEX_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")  # what all engines allow
FED = ("impacts", "vectors")  # ways to retrieve whose scores are products of two vectors


class Source:
    """A bundle whose documents are fed to an engine.

    Args:
        path: the bundle's path.
        rankers: the rankers whose vectors are fed; if there are none, all rankers that can be fed.
        index: name of the index or collection in the engine.

    Attributes:
        bundle: its files.
        plan: what the engine gets.
        names: the name of each ranker's field.

    Raises:
        InputError: a ranker is unknown or has no vectors, or the name is not allowed.
        BundleError: the bundle cannot be read, or it has no collection.
    """

    def __init__(self, path: BundleLike, rankers: Sequence[str] = (), index: str = "") -> None:
        self.bundle = BundleFiles(path, device="cpu")
        self._documents = self.bundle.need_documents()
        index = index or re.sub(r"\W+", "_", Path(located(path).name).stem.lower(), flags=re.ASCII)
        if not INDEX_NAME.fullmatch(index):
            raise InputError(
                f"the index name is {index!r}; it must be a small letter, followed by up to 63 "
                "small letters, digits and underscores; give one with --name"
            )
        self._rankers = {name: self._retriever(name) for name in self._chosen(rankers)}
        fields = tuple(self._field(name, each) for name, each in self._rankers.items())
        self.names = {each.ranker: each.name for each in fields}
        for each in fields:
            other = next(name for name, field in self.names.items() if field == each.name)
            if other != each.ranker:
                raise InputError(
                    f"the rankers {other!r} and {each.ranker!r} would both be called "
                    f"{each.name!r} in the engine; choose one of them with --ranker"
                )
        manifest = self.bundle.manifest
        passages = self._documents.first is not None
        self.plan = Plan(index, fields, manifest.metadata, passages)

    def __len__(self) -> int:
        """Return how many entries there are."""
        return self.bundle.manifest.documents

    def entries(self) -> Iterator[Entry]:
        """Return the entries in the order of the bundle."""
        documents, metadata = self._documents, Metadata(self.bundle)
        vectors = {
            field.name: self._rankers[field.ranker].document_vectors() for field in self.plan.fields
        }
        for number in range(len(self)):
            id_, title, text = documents.record(number)
            passage = documents.passage(number)
            yield Entry(
                f"{id_}#{passage or 1}" if self.plan.passages else id_,
                id_,
                passage,
                title,
                text,
                metadata.of(number),
                {name: next(each) for name, each in vectors.items()},
            )

    def query(self, text: str, ranker: str = "") -> tuple[Field, QueryVector]:
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
        context = QueryContext(text, self.bundle.analyzer.begin())
        made = self._rankers[name].query_vector(context)
        if made is None:
            raise InputError(f"the ranker {name!r} has no vector of a query")
        return fields[name], made

    @property
    def sample(self) -> str:
        """A query for trying out."""
        return " ".join(self._documents.samples(1)[0].split()[:8])

    def _chosen(self, names: Sequence[str]) -> list[str]:
        kinds = {name: KINDS[each.kind] for name, each in self.bundle.manifest.rankers.items()}
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

    def _retriever(self, name: str) -> Retriever:
        ranker = ranker_of(self.bundle, name)
        if not isinstance(ranker, Retriever):
            raise InputError(f"the ranker {name!r} does not retrieve, so it cannot be fed")
        return ranker

    def _field(self, name: str, ranker: Retriever) -> Field:
        field = re.sub(r"\W", "_", name, flags=re.ASCII)
        index = getattr(ranker, "index", None)
        if isinstance(index, ImpactIndex):
            largest = float(np.max(index.largest, initial=0.0))
            return Field(name, f"impacts_{field}", largest=largest)
        dimension: int = self.bundle.settings(name).dimension
        return Field(name, f"vector_{field}", dimension)
