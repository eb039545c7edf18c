"""Cut a collection into shards, each of which is indexed alone."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.headings import Heading
from ranklet.corpus.indexing.analysed import ANALYSING
from ranklet.corpus.indexing.metadata import MetadataCollector
from ranklet.corpus.indexing.packer import Packer
from ranklet.corpus.progress import progress
from ranklet.corpus.sources.passages import located
from ranklet.corpus.sources.source import Source
from ranklet.runtime.bundles.manifest import UNSPLIT, Splitting
from ranklet.runtime.ground.errors import CollectionError

MOST_DOCUMENTS = 2048  # of a shard
MOST_CHARACTERS = 4 << 20  # of its texts; a document is never cut
# Every so many shards they become twice as long, so that a large collection has not too many files.
DOUBLED_AFTER, DOUBLED = 128, 4


class Documents(Protocol):
    """What can be indexed: a `Collection`, or a `Source` of texts of any form."""

    @property
    def name(self) -> str:
        """What the bundle's provenance calls it."""
        ...

    def documents(self) -> Iterable[Document]:
        """Return the documents, which are read once."""
        ...

    @property
    def splitting(self) -> Splitting:
        """How they are split into passages."""
        ...

    @property
    def types(self) -> Mapping[str, str]:
        """The types that were declared for fields of the metadata."""
        ...


class Shard(NamedTuple):
    """Documents that are indexed together, and how long texts among them are split."""

    documents: list[Document]  # without metadata
    splitting: Splitting

    def passages(self) -> Iterator[Document]:
        """Yield the passages of the documents."""
        for each in self.documents:
            yield from located(each, self.splitting)

    def to_json(self) -> str:
        """Return the shard as JSON in ASCII, which keeps every character."""
        rows = [[each.id, each.title, each.text, each.headings] for each in self.documents]
        return json.dumps({"splitting": self.splitting, "documents": rows})

    @classmethod
    def from_json(cls, text: str | bytes) -> "Shard":
        """Return the shard that `to_json` wrote."""
        held = json.loads(text)
        documents = [
            Document(id_, title, text, headings=tuple(Heading(*each) for each in headings))
            for id_, title, text, headings in held["documents"]
        ]
        return cls(documents, Splitting(*held["splitting"]))


class Shards:
    """The shards of a collection, which is read once. They are kept in a temporary file.

    The passages of a document are in one shard, also if the collection yields them as successive
    documents of one id.

    Args:
        collection: documents; a `Source` is split where its shards are indexed.

    Attributes:
        metadata: the metadata of all documents.

    Raises:
        CollectionError: documents cannot be read, or there is none.
    """

    def __init__(self, collection: Documents) -> None:
        self.metadata = MetadataCollector()
        documents, splitting = collection.documents, UNSPLIT
        if isinstance(collection, Source):
            documents, splitting = collection.whole, collection.splitting
        packer = Packer()
        for shard in cut(self._collect(progress(documents(), ANALYSING)), splitting):
            packer.add(shard.to_json())
        self._texts = packer.strings()
        if not len(self):
            raise CollectionError("the collection has no document")

    def _collect(self, documents: Iterable[Document]) -> Iterator[Document]:
        last = None
        for document in documents:
            if document.id != last:
                self.metadata.add(document.metadata)
            last = document.id
            yield document

    def __len__(self) -> int:
        """Return the number of shards."""
        return len(self._texts)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the shards as JSON, in their order."""
        return (self._texts.raw(at) for at in range(len(self)))

    def listed(self) -> Iterator[Document]:
        """Yield the passages of all documents in their order, without metadata."""
        for text in self:
            yield from Shard.from_json(text).passages()


def cut(documents: Iterable[Document], splitting: Splitting = UNSPLIT) -> Iterator[Shard]:
    """Yield documents as shards of about the same length.

    Args:
        documents: successive ones with one id stay together.
        splitting: how long texts are split where the shards are indexed.
    """
    shard: list[Document] = []
    count = characters = 0
    for document in documents:
        longer = 1 << min(DOUBLED, count // DOUBLED_AFTER)
        full = len(shard) >= longer * MOST_DOCUMENTS or characters >= longer * MOST_CHARACTERS
        if full and document.id != shard[-1].id:
            yield Shard(shard, splitting)
            shard, characters, count = [], 0, count + 1
        shard.append(document)
        characters += len(document.title) + len(document.text)
    if shard:
        yield Shard(shard, splitting)
