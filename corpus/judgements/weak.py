"""Make queries out of documents, so that a ranker learns without judgements.

Either a title is the query for its document without the title, or a sentence is the query for the
rest of its document: the inverse cloze task of Lee et al. 2019, "Latent Retrieval for Weakly
Supervised Open Domain Question Answering", §4. A draw depends on the seed and on a document's id
only, so the order of the documents changes nothing.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import numpy as np

from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.corpus.sources.passages import sentences
from ranklet.runtime.errors import InputError

TITLES, SENTENCES = "titles", "sentences"
WEAK = (TITLES, SENTENCES)
LEARN, HELD_OUT = "train", "dev"  # the splits of the collection that is made

HELD_OUT_SHARE = 0.1
KEPT_SHARE = 0.1  # of sentences stay in their documents, so that equal words count, too
LEAST_WORDS = 5  # of the text that is left for a query to find
SENTENCE_WORDS = 4, 40  # least and most words of a sentence that serves as a query
LEAST_QUERIES = 20
MOST_SHARED = 100  # documents with one title; one such as "Introduction" says nothing of any

_WORD = re.compile(r"\w+")
_PASSAGE = "%p"  # what precedes the number of a passage in its id


class Pair(NamedTuple):
    """A query that was made, and the ids of the documents that it finds."""

    query: Query
    relevant: tuple[str, ...]


@dataclass(frozen=True)
class WeakPairs:
    """Documents, and queries that were made of them.

    Attributes:
        weak: what the queries are, one of `WEAK`.
        documents: all documents, without what serves as a query.
        learn: pairs to learn from.
        held_out: pairs of other documents, to tune on.
        possible: how many queries the documents give; those above were drawn from them.
        unused: how many documents give no query, by the reason.
    """

    weak: str
    documents: Sequence[Document]
    learn: Sequence[Pair]
    held_out: Sequence[Pair]
    possible: int
    unused: Mapping[str, int]

    def write(self, folder: Path) -> Collection:
        """Write a collection with the splits `LEARN` and `HELD_OUT`, replacing an earlier one."""
        splits = {
            name: (
                [each.query for each in pairs],
                {each.query.id: dict.fromkeys(each.relevant, 1) for each in pairs},
            )
            for name, pairs in ((LEARN, self.learn), (HELD_OUT, self.held_out))
        }
        return write_collection(folder, self.documents, splits, overwrite=True)

    def __str__(self) -> str:
        """Say how many queries there are, and why some documents gave none."""
        drawn = len(self.learn) + len(self.held_out)
        of = f", drawn from {self.possible:,}" if drawn < self.possible else ""
        text = (
            f"{self.weak} as queries: {len(self.learn):,} to learn from and "
            f"{len(self.held_out):,} held out{of}; {len(self.documents):,} documents"
        )
        return f"{text} (without a query: {_listed(self.unused)})" if self.unused else text


def make_pairs(
    documents: Iterable[Document], weak: str, *, most: int, seed: int = 0, name: str = "the source"
) -> WeakPairs:
    """Make queries out of documents.

    Documents that give no query remain, in `TITLES` without their titles. Of documents that are
    equal in title and text, only the one with the least id remains.

    Args:
        documents: the documents, which are read once. Passages of a document follow each other and
            share its id.
        weak: what becomes a query, one of `WEAK`. A title that several documents have is one query,
            which finds them all.
        most: maximum number of queries, which are drawn at random.
        seed: random seed.
        name: the source's name, for messages.

    Raises:
        InputError: the documents give fewer than `LEAST_QUERIES` queries.
    """
    unused = Counter[str]()
    unique = _unique(documents, unused)
    if weak == TITLES:
        hidden = [Document(each.id, "", without_heading(each.text, each.title)) for each in unique]
        pairs = _title_pairs(unique, hidden, unused)
    else:
        hidden, pairs = _cloze(unique, seed, unused)
    if len(pairs) < LEAST_QUERIES:
        raise InputError(_too_few(len(pairs), weak, name, unused))
    drawn = sorted(pairs, key=lambda pair: (_draw(seed, _whole(pair)), pair.query.id))[:most]
    if weak == SENTENCES:  # a document whose sentence was not drawn stays whole
        used = {pair.query.id for pair in drawn}
        hidden = [b if b.id in used else a for a, b in zip(unique, hidden, strict=True)]
    held_out = ceil(HELD_OUT_SHARE * len(drawn))
    while held_out < len(drawn) and _whole(drawn[held_out]) == _whole(drawn[held_out - 1]):
        held_out += 1  # passages of one document are on one side
    return WeakPairs(weak, hidden, drawn[held_out:], drawn[:held_out], len(pairs), unused)


def without_heading(text: str, title: str) -> str:
    """Return a text without its title, if it begins with the title.

    >>> without_heading("# Oiling hinges - Squeaks come from dry metal.", "Oiling Hinges")
    'Squeaks come from dry metal.'
    >>> without_heading("Oiling is easy.", "Oil")
    'Oiling is easy.'
    """
    words = r"\W+".join(_WORD.findall(title))
    found = re.match(rf"\W*{words}(?!\w)\W*", text, re.IGNORECASE) if words else None
    return text[found.end() :] if found else text


def _unique(documents: Iterable[Document], unused: Counter[str]) -> list[Document]:
    """Return the documents that differ, with ids that a collection can hold."""
    kept: dict[tuple[str, str], Document] = {}
    before, passage = "", 1
    for document in documents:
        passage = passage + 1 if document.id == before else 1
        before = document.id
        # Neither "%" nor white space is left in an id, so no other id has "%p" in it.
        name = re.sub(r"[%\s]", lambda found: quote(found[0]), document.id)
        new = document._replace(id=name if passage == 1 else f"{name}{_PASSAGE}{passage}")
        same = kept.setdefault((" ".join(new.title.split()), " ".join(new.text.split())), new)
        if same is not new:
            unused["equal to another"] += 1
            kept[" ".join(new.title.split()), " ".join(new.text.split())] = min(same, new)
    return list(kept.values())


def _title_pairs(
    documents: Sequence[Document], hidden: Sequence[Document], unused: Counter[str]
) -> list[Pair]:
    """Return one pair per title; `hidden` has the documents without their titles."""
    groups: dict[str, list[Document]] = {}
    for document, rest in zip(documents, hidden, strict=True):
        if not _WORD.search(document.title):
            unused["no title"] += 1
        elif len(_WORD.findall(rest.text)) < LEAST_WORDS:
            unused["too short"] += 1
        else:
            groups.setdefault(" ".join(document.title.casefold().split()), []).append(document)
    pairs = []
    for group in groups.values():
        if len(group) > MOST_SHARED:
            unused[f"a title that more than {MOST_SHARED} share"] += len(group)
            continue
        first = min(group)
        query = Query(first.id, " ".join(first.title.split()))
        pairs.append(Pair(query, tuple(sorted(each.id for each in group))))
    return pairs


def _cloze(
    documents: Sequence[Document], seed: int, unused: Counter[str]
) -> tuple[list[Document], list[Pair]]:
    """Return the documents, most without the sentence that was drawn, and a pair per sentence."""
    rest, pairs = [], []
    for document in documents:
        parts = list(sentences(document.text))
        words = sum(part.words for part in parts)
        least, most = SENTENCE_WORDS
        usable = [
            part
            for part in parts
            if least <= part.words <= most and words - part.words >= LEAST_WORDS
        ]
        if not usable:
            unused["too short"] += 1
            rest.append(document)
            continue
        generator = np.random.default_rng((seed, _draw(seed, document.id)))
        chosen = usable[int(generator.integers(len(usable)))]
        text = document.text
        if generator.random() >= KEPT_SHARE:
            text = f"{text[: chosen.begin]}{text[chosen.end :]}".strip()
        rest.append(document._replace(text=text))
        sentence = " ".join(document.text[chosen.begin : chosen.end].split())
        pairs.append(Pair(Query(document.id, sentence), (document.id,)))
    return rest, pairs


def _whole(pair: Pair) -> str:
    """Return the id of the document that a query was made of, without the passage."""
    return pair.query.id.partition(_PASSAGE)[0]


def _draw(seed: int, document_id: str) -> int:
    """Return a number that looks random but depends only on the seed and the id."""
    return int.from_bytes(sha256(f"{seed} {document_id}".encode()).digest()[:8])


def _too_few(found: int, weak: str, name: str, unused: Mapping[str, int]) -> str:
    if weak == TITLES and not found and set(unused) <= {"no title", "equal to another"}:
        return (
            f"no document of {name} has a title, so --weak titles has no queries; type --weak "
            "sentences, or name the column of the titles with --title-column"
        )
    what = f"{name} gives {found} {weak} as queries, and learning needs {LEAST_QUERIES}"
    why = f" (documents without a query: {_listed(unused)})" if unused else ""
    other = ", or type --weak sentences" if weak == TITLES else ""
    return f"{what}{why}; give more or longer documents{other}"


def _listed(unused: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(unused.items()))
