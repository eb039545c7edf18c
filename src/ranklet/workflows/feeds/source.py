"""The documents of a bundle with the vectors of its rankers."""

from collections.abc import Iterator, Sequence

from ranklet.runtime.bundles.additions import refuse_additions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.protocol import Retriever
from ranklet.runtime.call.query import QueryContext, QueryVector
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.metadata.columns import Metadata
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.storage.address import BundleLike
from ranklet.workflows.feeds.entries import Entry


class Source:
    """A bundle whose documents are fed to another engine.

    Args:
        path: the bundle's path.
        rankers: the rankers whose vectors are fed; if there are none, all rankers that can be fed.

    Attributes:
        bundle: its files.
        dimensions: the dimension of each ranker's vectors; 0 if they are sparse.

    Raises:
        InputError: a ranker is unknown or has no vectors.
        BundleError: the bundle cannot be read, or it has no collection.
    """

    def __init__(self, path: BundleLike, rankers: Sequence[str] = ()) -> None:
        self.bundle = BundleFiles(path, device="cpu")
        self._documents = self.bundle.need_documents()
        refuse_additions(self.bundle)
        self._rankers = {name: self._retriever(name) for name in self._choose_rankers(rankers)}
        self.dimensions = {name: self._dimension(name) for name in self._rankers}

    def __len__(self) -> int:
        """Return how many entries there are."""
        return self.bundle.manifest.documents

    def entries(self) -> Iterator[Entry]:
        """Yield the entries in the order of the bundle; a passage's key is ``ID#PASSAGE``."""
        documents, metadata = self._documents, Metadata(self.bundle)
        vectors = {name: each.document_vectors() for name, each in self._rankers.items()}
        split = documents.first is not None
        for number, passage in enumerate(map(documents.place, range(len(self)))):
            id_, title, text = documents.record(number)
            yield Entry(
                f"{id_}#{passage or 1}" if split else id_,
                id_,
                passage,
                title,
                text,
                metadata.of(number),
                {name: next(each) for name, each in vectors.items()},
            )

    def query(self, text: str) -> Iterator[tuple[str, QueryVector]]:
        """Yield the vector of a query by each ranker."""
        context = QueryContext(text, self.bundle.analyzer.begin())
        for name, ranker in self._rankers.items():
            made = ranker.query_vector(context)
            if made is None:
                raise InputError(f"the ranker {name!r} has no vector of a query")
            yield name, made

    def _choose_rankers(self, names: Sequence[str]) -> list[str]:
        kinds = {name: KINDS[each.kind] for name, each in self.bundle.manifest.rankers.items()}
        able = [name for name, kind in kinds.items() if kind.finds]
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
        ranker = open_ranker(self.bundle, name)
        if not isinstance(ranker, Retriever):
            raise InputError(f"the ranker {name!r} does not retrieve, so it cannot be fed")
        return ranker

    def _dimension(self, name: str) -> int:
        kind = KINDS[self.bundle.manifest.rankers[name].kind]
        return 0 if kind.index == "impacts" else int(self.bundle.settings(name).dimension)
