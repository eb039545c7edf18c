"""What a run is about, as data: rankers, and collections that are reduced to some passages."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

from benchmarks.harness.evenly import drawn
from benchmarks.harness.place import Place
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.runtime.bundles.manifest import Splitting
from ranklet.runtime.kinds import KINDS
from ranklet.training.checkpoint import Checkpoint

BM25 = "bm25"
OWN, LEXICAL, ENCODER, NOTHING = "its own", "lexical", "encoder", "nothing"


@dataclass(frozen=True)
class Study:
    """What is measured on a collection.

    Attributes:
        collection: its name.
        titles: whether titles are part of the text.
        split: of the queries that are reported.
        learn: the part of train that Model 1 learns from.
        held_out: the part of train that fusions are learned and chosen on.
        lexical: the study whose neural Model 1 and Conformer-Kernel it has.
        encoder: the study whose queries its own encoder learns from; empty if it has none.
        passages: at most so many, relevant ones and others at random; 0 for all.
        queries: reported, at most.
        choosing: queries of the held-out part, at most.
        read: reported queries of systems whose networks read pairs, at most.
        pairs: held-out queries on which what follows a cross-encoder is chosen, at most.
    """

    collection: str
    titles: bool = True
    split: str = "dev"
    learn: str = "train[:90%]"
    held_out: str = "train[90%:]"
    lexical: str = "qa-mix"
    encoder: str = ""
    passages: int = 4_000
    queries: int = 500
    choosing: int = 300
    read: int = 150
    pairs: int = 80


QA_MIX, HARD = "qa-mix", "medquad without titles"
STUDIES = {
    QA_MIX: Study("qa-mix", passages=0, queries=1_000, read=300, pairs=300),
    # All of dev.
    "medquad": Study("medquad", lexical=HARD, encoder=HARD, passages=0, queries=1_458),
    HARD: Study("medquad", titles=False, lexical=HARD, encoder=HARD, passages=0, queries=1_458),
    # 809 queries of train: half of them, so that there are enough to choose on.
    "scifact": Study(
        "scifact",
        split="test",
        learn="train[:50%]",
        held_out="train[50%:]",
        encoder="scifact",
        passages=0,
    ),
    "google-wiki": Study("google-wiki", encoder="google-wiki"),
}


class Reads(IntEnum):
    """What a network reads when a query arrives."""

    NOTHING = 0
    QUERY = 1
    PAIRS = 2


@dataclass(frozen=True)
class Ranker:
    """How a ranker of the bundles is made.

    Attributes:
        kind: its kind.
        label: what tables call it.
        learn: returns its checkpoint, learned for a study.
        source: the study that it learns from: `OWN`, `LEXICAL` or `ENCODER` (see `Study`),
            `NOTHING`, or a name.
        reads: what a network reads for a query.
        needs: the rankers that it learned from, whose trainings count as its own.
        settings: that its export changes.
    """

    kind: str
    label: str
    learn: Callable[[Place, Study], Checkpoint]
    source: str
    reads: Reads
    needs: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def encodes(self) -> bool:
        """Whether its index depends on no vocabulary, so that it is made on its own."""
        return bool(KINDS[self.kind].index) and not KINDS[self.kind].needs_collection

    def source_of(self, name: str, study: Study) -> str:
        """Return the name of the study that it learns from, `NOTHING`, or "" if there is none."""
        own = {OWN: name, LEXICAL: study.lexical, ENCODER: study.encoder}
        return own.get(self.source, self.source)


class Searched(NamedTuple):
    """The documents that are searched, and the queries of both kinds.

    `name`, `documents` and `splitting` are what an index needs of a collection.
    """

    name: str
    passages: list[Document]
    queries: list[JudgedQuery]
    held_out: list[JudgedQuery]

    @property
    def types(self) -> dict[str, str]:
        """The types that were declared for fields, none."""
        return {}

    def documents(self) -> Iterable[Document]:
        """Return the passages."""
        return self.passages

    @property
    def splitting(self) -> Splitting:
        """How the passages are split: no further."""
        return Splitting(0, 0)


def searched(place: Place, name: str, study: Study) -> Searched:
    """Read a study's queries, and draw its passages.

    What is relevant to a query of either kind is always there, so more passages than the study has
    are possible.
    """
    collection = place.collection(study.collection)
    queries = read_split(collection, study.split, limit=study.queries)
    held_out = read_split(collection, study.held_out, limit=study.choosing)
    needed = {id_ for query in (*queries, *held_out) for id_ in query.relevant}
    passages = drawn(list(collection.documents()), needed, study.passages)
    return Searched(name, passages, queries, held_out)
