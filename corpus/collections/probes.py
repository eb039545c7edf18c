"""Probes, which are real queries and documents on which every exported variant is proven."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.neutral_texts import neutral_documents, neutral_queries
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.sets import evenly
from ranklet.runtime.text.ranked import ranked_text

T = TypeVar("T")

FILE = "probes.json"
SENTENCE_WORDS = 3, 25  # least and most words of a sentence that serves as a query
QUERIES, DOCUMENTS = 200, 300  # with only 50 queries, one swapped rank moves nDCG@10 by 1 %
# Of a proof; the ten best of ten are always the same. Whatever is wrong with 3 % of all texts is in
# one of 200 with a probability of 99.8 %. MiniLM's int8 shares 97 % of the ten best with PyTorch,
# with a standard error of .5 %, and 80 % is the limit.
LEAST_QUERIES = LEAST_DOCUMENTS = 100


@dataclass(frozen=True)
class Probes:
    """Queries, documents and relevance judgements.

    Attributes:
        queries: the texts of the queries.
        documents: the texts of the documents, with their titles.
        relevant: the indices of each query's relevant documents.
    """

    queries: tuple[str, ...]
    documents: tuple[str, ...]
    relevant: tuple[tuple[int, ...], ...]

    def first(self, queries: int, documents: int) -> "Probes":
        """Return only the first queries and documents, for a model that is slow per pair."""
        relevant = tuple(
            tuple(index for index in indices if index < documents)
            for indices in self.relevant[:queries]
        )
        return Probes(self.queries[:queries], self.documents[:documents], relevant)

    def nearest(self, queries: int, documents: int) -> "Probes":
        """Return the first queries and some documents, relevant ones first.

        This is for a model that is slow per pair, so that even few documents include relevant ones.
        """
        relevant = self.relevant[:queries]
        relevant_first = list(dict.fromkeys(index for indices in relevant for index in indices))
        others = [i for i in range(len(self.documents)) if i not in set(relevant_first)]
        chosen = (relevant_first + others)[:documents]
        new_index = {old: new for new, old in enumerate(chosen)}
        return Probes(
            self.queries[:queries],
            tuple(self.documents[index] for index in chosen),
            tuple(tuple(new_index[i] for i in indices if i in new_index) for indices in relevant),
        )

    def completed(self) -> "Probes":
        """Return at least as many texts as a proof needs, the own ones first.

        Neutral texts are added where there are too few. They are no document's answer, so that they
        change the order of the documents, but no judgement.
        """
        queries = _complete(self.queries, neutral_queries(LEAST_QUERIES))
        documents = _complete(self.documents, neutral_documents(LEAST_DOCUMENTS))
        return Probes(
            queries, documents, (*self.relevant, *((),) * (len(queries) - len(self.queries)))
        )

    @classmethod
    def neutral(cls) -> "Probes":
        """Return ranklet's own texts alone, so that all proofs of a model are the same."""
        return cls((), (), ()).completed()

    @property
    def own(self) -> tuple[int, int]:
        """How many queries and documents were not added by `completed`."""
        return (
            len(self.queries) - len({*self.queries} & {*neutral_queries(LEAST_QUERIES)}),
            len(self.documents) - len({*self.documents} & {*neutral_documents(LEAST_DOCUMENTS)}),
        )

    def save(self, folder: Path) -> None:
        """Write ``probes.json`` into a checkpoint folder."""
        (folder / FILE).write_text(json.dumps(asdict(self), ensure_ascii=False), "utf-8")


def _complete(own: tuple[str, ...], neutral: tuple[str, ...]) -> tuple[str, ...]:
    """Return the own texts, and so many neutral ones that there are at least `len(neutral)`."""
    known = {*own}
    others = [text for text in neutral if text not in known]
    return (*own, *others[: max(0, len(neutral) - len(own))])


def choose_all_lengths(texts: Sequence[str], count: int) -> list[int]:
    """Return the indices of `count` texts, from the shortest to the longest.

    >>> choose_all_lengths(["four", "a", "abc", "12345", "22"], 3)
    [1, 2, 3]
    """
    ordered = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    return [ordered[place] for place in evenly(len(ordered), count)]


def read_probes(folder: Path) -> Probes | None:
    """Read a checkpoint's probes; return None if it has none.

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
            tuple(tuple(int(index) for index in indices) for indices in raw["relevant"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{str(path)!r} cannot be read as probes: {error}") from error


def draw_probes(
    documents: Iterable[Document], queries: Sequence[JudgedQuery], *, titles: bool = True
) -> Probes:
    """Draw queries, their relevant documents and other documents at random.

    Args:
        documents: the collection's documents, read once.
        queries: judged queries, ideally none that were trained on.
        titles: whether titles are part of a document's text.

    Raises:
        InputError: there is no query or no document.
    """
    generator = np.random.default_rng(0)
    order = generator.permutation(len(queries))[:QUERIES]
    chosen = [queries[index] for index in sorted(order.tolist())]
    wanted = {name for query in chosen for name in query.relevant}
    relevant: dict[str, str] = {}
    others: list[str] = []
    for seen, document in enumerate(documents):
        text = ranked_text(document.title, document.text, titles)
        if document.id in wanted:
            relevant[document.id] = text
        else:
            _draw(text, others, seen, DOCUMENTS, generator)
    names = list(relevant)[:DOCUMENTS]
    texts = [*(relevant[name] for name in names), *others][:DOCUMENTS]
    if not chosen or not texts:
        raise InputError("probes need at least one judged query and one document")
    index_of = {name: index for index, name in enumerate(names)}
    indices = [tuple(index_of[n] for n in q.relevant if n in index_of) for q in chosen]
    return Probes(tuple(query.text for query in chosen), tuple(texts), tuple(indices))


def unjudged_probes(
    documents: Iterable[Document],
    queries: Sequence[str] = (),
    *,
    titles: bool = True,
    most_queries: int = QUERIES,
    most_documents: int = DOCUMENTS,
) -> Probes:
    """Draw documents at random, with queries that nobody has judged.

    Args:
        documents: the documents, which are read once.
        queries: texts of queries; without any, they are the titles of the drawn documents, and
            sentences of documents without a title.
        titles: whether titles are part of a document's text. They are not if they are the queries.
        most_queries: maximum number of queries.
        most_documents: maximum number of documents.

    Raises:
        InputError: there is no document or no query.
    """
    generator = np.random.default_rng(0)
    drawn: list[Document] = []
    for seen, document in enumerate(documents):
        _draw(document, drawn, seen, most_documents, generator)
    whole = titles and bool(queries)
    texts = [ranked_text(each.title, each.text, whole) for each in drawn]
    if not queries:
        sentences = [sentence(text, generator) for text in texts]
        queries = [each.title or own for each, own in zip(drawn, sentences, strict=True)]
    chosen = [query for query in dict.fromkeys(queries) if query.strip()]
    order = generator.permutation(len(chosen))[:most_queries]
    texts = [text for text in texts if text.strip()]
    if not chosen or not texts:
        raise InputError("the variants need at least one text and one query to be verified on")
    return Probes(
        tuple(chosen[index] for index in sorted(order.tolist())), tuple(texts), ((),) * len(order)
    )


def _draw(item: T, drawn: list[T], seen: int, most: int, generator: np.random.Generator) -> None:
    """Put an item among the drawn ones, so that all that were `seen` are equally likely."""
    if len(drawn) < most:
        drawn.append(item)
    elif (place := int(generator.integers(seen + 1))) < most:
        drawn[place] = item


def sentence(text: str, generator: np.random.Generator) -> str:
    """Return a random sentence of a text, or the text's beginning if it has none of some length."""
    found = [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n\s*\n", text)]
    usable = [part for part in found if SENTENCE_WORDS[0] <= len(part.split()) <= SENTENCE_WORDS[1]]
    if not usable:
        return " ".join(text.split()[: SENTENCE_WORDS[1]])
    return usable[int(generator.integers(len(usable)))]
