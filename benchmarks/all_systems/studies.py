"""The collections, each reduced to some thousand passages, with the queries that are reported."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.harness.place import Place
from ranklet.training.data.collection import Document
from ranklet.training.data.splits import JudgedQuery, read_split


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
        passages: at most so many, relevant ones and others at random; 0 for all.
        queries: reported, at most.
        choosing: queries of the held-out part, at most.
    """

    collection: str
    titles: bool = True
    split: str = "dev"
    learn: str = "train[:90%]"
    held_out: str = "train[90%:]"
    lexical: str = "qa-mix"
    passages: int = 10_000
    queries: int = 500
    choosing: int = 300


QA_MIX, HARD = "qa-mix", "medquad without titles"
STUDIES = {
    QA_MIX: Study("qa-mix"),
    "medquad": Study("medquad", lexical=HARD),
    HARD: Study("medquad", titles=False, lexical=HARD),
    # 809 queries of train: half of them, so that there are enough to choose on.
    "scifact": Study(
        "scifact", split="test", learn="train[:50%]", held_out="train[50%:]", passages=0
    ),
    "google-wiki": Study("google-wiki"),
}


class Searched(NamedTuple):
    """The documents that are searched, and the queries of both kinds.

    `name` and `documents` are what an index needs of a collection.
    """

    name: str
    passages: list[Document]
    queries: list[JudgedQuery]
    held_out: list[JudgedQuery]

    def documents(self) -> Iterable[Document]:
        """Return the passages."""
        return self.passages


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


def drawn(documents: list[Document], needed: set[str], most: int) -> list[Document]:
    """Return the documents that are needed, and others at random up to `most`, in their order.

    >>> documents = [Document(str(at), "", "") for at in range(9)]
    >>> [each.id for each in drawn(documents, {"3", "7"}, 2)]
    ['3', '7']
    >>> len(drawn(documents, {"3", "7"}, 5)), len(drawn(documents, {"3"}, 0))
    (5, 9)
    """
    if not most:
        return documents
    others = [at for at, each in enumerate(documents) if each.id not in needed]
    room = max(0, most - (len(documents) - len(others)))
    order = np.random.default_rng(0).permutation(len(others))[:room]
    kept = {others[at] for at in order.tolist()}
    return [each for at, each in enumerate(documents) if each.id in needed or at in kept]
