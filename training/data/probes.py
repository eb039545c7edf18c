"""Probes: real queries and documents on which every exported variant is proven."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ranklet.runtime.errors import InputError
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.data.collection import Document
from ranklet.training.data.splits import JudgedQuery

FILE = "probes.json"
QUERIES, DOCUMENTS = 200, 300  # with 50 queries one swapped rank moves nDCG@10 by 1 %


@dataclass(frozen=True)
class Probes:
    """Texts to rank.

    Attributes:
        queries: their texts.
        documents: their texts, titles included.
        relevant: for each query, the places of its relevant documents.
    """

    queries: tuple[str, ...]
    documents: tuple[str, ...]
    relevant: tuple[tuple[int, ...], ...]

    def first(self, queries: int, documents: int) -> "Probes":
        """Return the first queries and documents only, for a model that takes long for a pair."""
        kept = tuple(
            tuple(at for at in places if at < documents) for places in self.relevant[:queries]
        )
        return Probes(self.queries[:queries], self.documents[:documents], kept)

    def nearest(self, queries: int, documents: int) -> "Probes":
        """Return the first queries, and of the documents the relevant ones before others.

        For a model that takes long for a pair: so few documents still hold what is to be found.
        """
        kept = self.relevant[:queries]
        wanted = list(dict.fromkeys(at for places in kept for at in places))
        others = [at for at in range(len(self.documents)) if at not in set(wanted)]
        chosen = (wanted + others)[:documents]
        place_of = {at: place for place, at in enumerate(chosen)}
        return Probes(
            self.queries[:queries],
            tuple(self.documents[at] for at in chosen),
            tuple(tuple(place_of[at] for at in places if at in place_of) for places in kept),
        )

    def save(self, folder: Path) -> None:
        """Write ``probes.json`` into a checkpoint folder."""
        (folder / FILE).write_text(json.dumps(asdict(self), ensure_ascii=False), "utf-8")


def read_probes(folder: Path) -> Probes | None:
    """Read a checkpoint's probes; None where it has none.

    Raises:
        InputError: the file is damaged.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        raw = json.loads(path.read_text("utf-8"))
        return Probes(
            tuple(map(str, raw["queries"])),
            tuple(map(str, raw["documents"])),
            tuple(tuple(int(at) for at in places) for places in raw["relevant"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{str(path)!r} cannot be read as probes: {error}") from error


def draw_probes(
    documents: Iterable[Document],
    queries: Sequence[JudgedQuery],
    *,
    titles: bool = True,
    most_queries: int = QUERIES,
    most_documents: int = DOCUMENTS,
    seed: int = 0,
) -> Probes:
    """Draw queries, their relevant documents and others at random.

    Args:
        documents: of the collection, read once.
        queries: judged ones, best not those that were trained on.
        titles: whether titles are part of a document's text.
        most_queries: at most so many.
        most_documents: at most so many, relevant ones first.
        seed: of the draw.

    Raises:
        InputError: there is no query or no document.
    """
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(queries))[:most_queries]
    chosen = [queries[at] for at in sorted(order.tolist())]
    wanted = {name for query in chosen for name in query.relevant}
    relevant: dict[str, str] = {}
    others: list[str] = []
    for seen, document in enumerate(documents):
        text = ranked_text(document.title, document.text, titles)
        if document.id in wanted:
            relevant[document.id] = text
        elif len(others) < most_documents:
            others.append(text)
        elif (place := int(generator.integers(seen + 1))) < most_documents:
            others[place] = text  # reservoir sampling: every document as likely as any other
    names = list(relevant)[:most_documents]
    texts = [*(relevant[name] for name in names), *others][: max(most_documents, 1)]
    if not chosen or not texts:
        raise InputError("probes need judged queries and documents; there are none")
    place_of = {name: at for at, name in enumerate(names)}
    places = [tuple(place_of[n] for n in q.relevant if n in place_of) for q in chosen]
    return Probes(tuple(query.text for query in chosen), tuple(texts), tuple(places))
