"""How often the answer is among what a context of so many tokens has, next to the best passages.

Passages of qa-mix (without medquad), medquad and google-wiki are joined into long documents: those
with one title into articles, and short articles into volumes, where titles are headings.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.place import CODE, Place
from benchmarks.harness.report import table
from ranklet import runtime
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.headings import Heading
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.evaluation.significance import paired_t_test
from ranklet.corpus.index import index_bundle
from ranklet.corpus.sources import passages
from ranklet.corpus.sources.options import SourceOptions
from ranklet.export.bundles import export_bundle
from ranklet.runtime.asks import Ask
from ranklet.runtime.bundles.location import Location
from ranklet.runtime.bundles.manifest import NO_TYPES
from ranklet.runtime.call.candidates import list_numbers
from ranklet.runtime.ground.sets import evenly
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.search import context
from ranklet.runtime.search.local import LocalSearch
from ranklet.runtime.search.port import Call
from ranklet.runtime.text.sentences import count_words
from ranklet.training.checkpoint import Checkpoint
from ranklet.workflows.build_options import TITLE_BOOST

PACKAGES = ()
BUDGETS = (500, 1000, 2000)
QUERIES = 300
VOLUME = 2_000  # words
BM25 = "bm25"
QA_MIX, MEDQUAD, WIKI = "qa-mix", "medquad", "google-wiki"
TRAIN, DEV = "train", "dev"
PLAIN, UNCUT = "as it is", "not cut at headings"
UNTITLED, BEFORE = "headings not ranked", "neither"
BUNDLES = (PLAIN, UNCUT, UNTITLED, BEFORE)
CODE_HERE = (*CODE, "benchmarks/quality/context.py")
MOST = 26_000  # documents, besides other ones of the answers' articles


class Long(NamedTuple):
    """A long document, and where the passages are that it was made of."""

    document: Document
    parts: dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Passages:
    """What is indexed: the passages of long documents.

    Attributes:
        name: of the collection.
        long: the documents.
        form: one of `BUNDLES`.
    """

    name: str
    long: list[Long]
    form: str
    splitting = SourceOptions().splitting
    types = NO_TYPES

    def documents(self) -> Iterator[Document]:
        """Yield the passages."""
        with uncut() if self.form in (UNCUT, BEFORE) else nothing():
            for each in self.long:
                for part in passages.located(each.document, self.splitting):
                    bare = self.form in (UNTITLED, BEFORE)
                    title = each.document.title if bare else part.title
                    yield part._replace(title=title)


@contextmanager
def nothing() -> Iterator[None]:
    """Do nothing."""
    yield


def uncut() -> Any:
    """Return what lets documents be split as if they had no headings."""
    return patch.object(passages, "sections", lambda text, *_: [(0, len(text))])


def run(place: Place) -> str:
    """Choose on queries of train, and report on queries of dev and on another collection."""
    ways = ways_of(Asked(place, QA_MIX, TRAIN, PLAIN))
    cut = "\n\n".join(list_forms(place, name) for name in (QA_MIX, MEDQUAD))
    reported = "\n\n".join(report(place, name) for name in (MEDQUAD, WIKI))
    return f"""
*Inside*: the share of queries of which at least half of an answer's characters are in the \
context, by the number of words. *Best passages*: the best ones in turn, each after its source, \
until the next does not fit. A passage that is left out as a near duplicate counts as missing, \
also if it is the judged one. p is of a two-sided paired t-test against the first row.

Ways to fill, chosen on {QUERIES} queries of train of qa-mix without medquad:

{ways}

What passages know of headings, chosen on queries of train:

{cut}

Reported once, on {QUERIES} queries of dev:

{reported}
"""


def ways_of(asked: "Asked") -> str:
    """Return what each way of filling has on the collection that is chosen on."""
    base = asked.baseline()
    rows = [["best passages", *shares(base)]]
    rows += [[label, *cells(asked.filled(fill), base)] for label, fill in WAYS.items()]
    return table(["", *map(str, BUDGETS)], rows)


def list_forms(place: Place, name: str) -> str:
    """Return what contexts have if passages know less of headings."""
    found = {
        form: Asked(place, name, TRAIN, form).filled(WAYS["default"])
        for form in (PLAIN, UNCUT, UNTITLED)
    }
    rows = [[PLAIN, *shares(found[PLAIN])]]
    rows += [[form, *cells(found[form], found[PLAIN])] for form in (UNCUT, UNTITLED)]
    return table([name, *map(str, BUDGETS)], rows)


def report(place: Place, name: str) -> str:
    """Return the defaults next to the best passages, and their time."""
    before, asked = (Asked(place, name, DEV, form) for form in (BEFORE, PLAIN))
    base = before.baseline()
    rows = [
        ["best passages that know no headings", *shares(base)],
        ["best passages", *cells(asked.baseline(), base)],
        ["context", *cells(asked.filled(WAYS["default"]), base)],
    ]
    spent = f"{asked.time():.1f} times as long as `rank` with the texts of its hits"
    made = f"{name}, {asked.bundle.size}: {spent}, at 1,000 words."
    return f"{made}\n\n{table(['', *map(str, BUDGETS)], rows)}"


def shares(found: dict[int, NDArray[np.float64]]) -> list[str]:
    """Return the share of each budget."""
    return [f"{found[each].mean():.3f}" for each in BUDGETS]


def cells(found: dict[int, NDArray[np.float64]], base: dict[int, NDArray[np.float64]]) -> list[str]:
    """Return the share of each budget, and how it compares with the baseline."""
    return [
        f"{found[each].mean():.3f} ({found[each].mean() - base[each].mean():+.3f}, "
        f"p {paired_t_test(found[each], base[each]):.2g})"
        for each in BUDGETS
    ]


Fill = Callable[[runtime.Bundle, str, int], Iterable[tuple[str, int, int]]]


def way(**options: Any) -> Fill:
    """Return a way of filling: the id, first and last character of each part."""

    def fill(bundle: runtime.Bundle, query: str, tokens: int) -> list[tuple[str, int, int]]:
        found = bundle.context(query, tokens, **options)
        if found.tokens > tokens:
            raise ValueError(f"{found.tokens} tokens of {tokens}")
        return [(each.id, each.start or 0, each.end or 0) for each in found]

    return fill


def untrimmed(bundle: runtime.Bundle, query: str, tokens: int) -> Iterable[tuple[str, int, int]]:
    """Fill without parts of passages."""
    with patch.object(context, "_part", lambda *_: None):
        return way()(bundle, query, tokens)


WAYS: dict[str, Fill] = {
    "default": way(),
    "without parts of passages": untrimmed,
    "near duplicates too": way(unique=False),
    "neighbours": way(context="neighbours"),
    "section": way(context="section"),
    "at most 2 passages of a document": way(passages=2),
    "diversity .3": way(diversity=0.3),
}


class Asked:
    """The queries of a collection that is joined into long documents.

    Args:
        place: has the collections.
        name: of the collection.
        split: of the queries.
        form: one of `BUNDLES`.
    """

    def __init__(self, place: Place, name: str, split: str, form: str) -> None:
        self.queries = [each for each in read_split(place.collection(name), split) if _asks(each)]
        self.queries = [self.queries[at] for at in evenly(len(self.queries), QUERIES)]
        wanted = {answer for each in self.queries for answer in each.relevant}
        self.long = long_documents(place, name, wanted)
        self.parts = {
            id_: (each.document.id, *where)
            for each in self.long
            for id_, where in each.parts.items()
        }
        path = place.keep(
            f"{name}.{BUNDLES.index(form)}.long.ranklet",
            lambda to: _index(Passages(name, self.long, form), place, to), CODE_HERE,
        )  # fmt: skip
        self.bundle = runtime.load(path)

    def filled(self, fill: Fill) -> dict[int, NDArray[np.float64]]:
        """Return whether each query's answer is inside, by budget."""

        def inside(query: JudgedQuery, tokens: int) -> float:
            return self.is_inside(query, fill(self.bundle, query.text, tokens))

        return {
            tokens: np.array([inside(each, tokens) for each in self.queries]) for tokens in BUDGETS
        }

    def baseline(self) -> dict[int, NDArray[np.float64]]:
        """Return the same of the best passages."""
        return self.filled(self.best)

    def best(self, bundle: runtime.Bundle, query: str, tokens: int) -> list[tuple[str, int, int]]:
        """Return the best passages in turn, each after its source, until the next does not fit."""
        search = bundle._search
        if not isinstance(search, LocalSearch):
            raise TypeError("the bundle has its own documents")
        ask, found = Ask(k=25), list[tuple[str, int, int]]()
        run = search._reaching(Call(search.read(query), bundle.manifest.pipeline(None)), ask)
        documents, left = search.documents, tokens
        positions = run.best_passages(ask)
        for number in list_numbers(run.execution.candidates)[positions].tolist():
            location, text = documents.location(number) or Location(0), documents.texts[number]
            name = documents.titles[number] or documents.ids[number]
            source = " › ".join([name, *location.heading])
            left -= count_words(f"[1] {source}\n{text}")
            if left < 0:
                break
            found.append((documents.ids[number], location.start, location.start + len(text)))
        return found

    def is_inside(self, query: JudgedQuery, found: Iterable[tuple[str, int, int]]) -> float:
        """Return 1 if half of an answer's characters are among some parts, otherwise 0."""
        spans = list(found)
        return max(float(2 * self._covered(each, spans) >= 1) for each in query.relevant)

    def _covered(self, answer: str, spans: list[tuple[str, int, int]]) -> float:
        id_, begin, end = self.parts[answer]
        covered = np.zeros(end - begin, np.bool_)
        for own, first, last in spans:
            if own == id_:
                covered[max(0, first - begin) : max(0, last - begin)] = True
        return float(covered.mean())

    def time(self) -> float:
        """Return how many times as long a context takes as a ranking with texts, on a processor."""
        calls: tuple[Callable[[str], object], ...] = (
            lambda query: [hit.text for hit in self.bundle.rank(query)],
            self.bundle.context,
        )
        best = [float("inf")] * len(calls)
        for _ in range(5):
            for at, call in enumerate(calls):
                begin = process_time()
                for query in self.queries[:50]:
                    call(query.text)
                best[at] = min(best[at], process_time() - begin)
        return best[1] / best[0]


def _asks(query: JudgedQuery) -> bool:
    return bool(query.relevant) and not any(each.startswith("md-") for each in query.relevant)


def _index(collection: Passages, place: Place, path: Path) -> None:
    def export(to: Path) -> None:
        export_bundle({BM25: Checkpoint(BM25, BM25Settings(title_boost=TITLE_BOOST))}, to)

    index_bundle(place.keep("bm25.rankers", export), collection, path, overwrite=True)


def long_documents(place: Place, name: str, wanted: set[str]) -> list[Long]:
    """Return the documents of a collection, joined into long ones."""
    documents = [
        each for each in place.collection(name).documents() if not each.id.startswith("md-")
    ]
    if len(documents) > MOST:
        every, titles = len(documents) // MOST, list(dict.fromkeys(d.title for d in documents))
        kept = {*titles[::every], *(each.title for each in documents if each.id in wanted)}
        documents = [each for each in documents if each.title in kept]
    articles = [list(group) for _, group in groupby(documents, lambda each: each.title or each.id)]
    found, volume, words = list[Long](), list[list[Document]](), 0
    for article in articles:
        size = sum(count_words(each.text) for each in article)
        if size >= VOLUME:
            found.append(_joined(f"article{len(found)}", [article], alone=True))
            continue
        volume.append(article)
        words += size
        if words >= VOLUME:
            found.append(_joined(f"volume{len(found)}", volume, alone=False))
            volume, words = [], 0
    return [*found, _joined(f"volume{len(found)}", volume, alone=False)] if volume else found


def _joined(id_: str, articles: list[list[Document]], *, alone: bool) -> Long:
    """Return articles as one document; the title of one alone is its own."""
    text, headings, parts = list[str](), list[Heading](), dict[str, tuple[int, int]]()
    at = 0

    def add(line: str) -> int:
        nonlocal at
        text.append(line)
        begin, at = at, at + len(line) + 2
        return begin

    for article in articles:
        title = " ".join(article[0].title.split())
        if title and not alone:
            headings.append(Heading(add(title), 1, title))
        for each in article:
            begin = add(each.text)
            parts[each.id] = begin, begin + len(each.text)
    title = articles[0][0].title if alone else ""
    return Long(Document(id_, title, "\n\n".join(text), headings=tuple(headings)), parts)
