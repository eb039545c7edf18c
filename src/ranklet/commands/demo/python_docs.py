"""The documentation inside the installed Python, as a collection that needs no download.

Documents are docstrings: of the standard library's sources, which are parsed and never run; of
built-in and extension modules, which have no source; and the chapters of the language reference
that ``help()`` knows. A docstring opens with a summary line, and the summary of one document makes
a query whose answer is the rest of that document: a ranker learns to find what a programmer asks
for in other words.
"""

import re
import warnings
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ranklet.commands.demo.docstrings import Docstring, from_extensions, from_sources, from_topics
from ranklet.training.data.collection import Document, Query, Splits

SUMMARY_WORDS = range(4, 31)
MIN_BODY_WORDS = 8
# Shorter docstrings are no documents: "USub", "exception filename".
MIN_WORDS = 3

# Up to which percentage of the queries a split reaches: 60, 10, 10 and 20 % of them.
SPLITS = {"train": 60, "fusion": 70, "dev": 80, "test": 100}
# The giants are always for training: a small split that got one of them would measure little else.
TRAIN_MODULES = {"builtins", "distutils", "tkinter", "turtle"}


class PythonDoc(NamedTuple):
    """One docstring.

    Attributes:
        id: The dotted name, such as ``textwrap.dedent`` or ``topic.with``.
        title: The name with its signature, where one is known.
        summary: The summary line without its markup, or "" where no usable one was found.
        body: The docstring without its summary line.
        module: The top-level module, ``builtins`` or ``topic``.
    """

    id: str
    title: str
    summary: str
    body: str
    module: str

    @property
    def text(self) -> str:
        """The whole docstring: summary and body."""
        return "\n\n".join(part for part in (self.summary, self.body) if part)


def collect() -> list[PythonDoc]:
    """All docstrings of the installed Python, each once, always in the same order.

    Takes some seconds, nearly all of them to parse the standard library.

    Raises:
        CollectionError: This Python came without the sources of its standard library.
    """
    docs: dict[str, PythonDoc] = {}
    seen: set[str] = set()
    with warnings.catch_warnings():
        # Old sources hold invalid escapes, and old modules announce their end.
        warnings.simplefilter("ignore")
        for found in (*from_sources(), *from_extensions(), *from_topics()):
            # An inherited docstring comes once for every heir: the first one stands for them all.
            key = " ".join(found.text.split())
            if found.id not in docs and key not in seen and _says_something(key):
                seen.add(key)
                docs[found.id] = _document(found)
    return list(docs.values())


def as_collection(docs: Sequence[PythonDoc], *, summaries: bool) -> tuple[list[Document], Splits]:
    """Documents, queries and judgements for ``write_collection``.

    Args:
        docs: From ``collect``.
        summaries: True keeps every text whole, for an index that people search; there are no
            splits then, since each query would stand word by word in its answer. False takes the
            summaries out of the texts and makes them the queries, for training and evaluation.

    A summary makes a query if it names one document only and the rest of that document has at
    least MIN_BODY_WORDS words outside of examples. All other documents keep their whole text and
    are distractors. Whole modules are dealt to the splits, in the order of a hash of their names,
    so what is learnt from one module is tested on others.
    """
    if summaries:
        return [Document(doc.id, doc.title, doc.text) for doc in docs], {}
    times = Counter(_words(doc.summary) for doc in docs)
    asked = {doc.id for doc in docs if times[_words(doc.summary)] == 1 and _is_answer(doc)}
    split_of = _deal(Counter(doc.module for doc in docs if doc.id in asked))
    documents: list[Document] = []
    splits: dict[str, tuple[list[Query], dict[str, dict[str, int]]]]
    splits = {split: ([], {}) for split in SPLITS}
    for doc in docs:
        if doc.id in asked:
            queries, qrels = splits[split_of[doc.module]]
            query = Query(f"q:{doc.id}", doc.summary)
            queries.append(query)
            qrels[query.id] = {doc.id: 1}
        text = doc.body if doc.id in asked else doc.text
        documents.append(Document(doc.id, doc.title, text))
    return documents, splits


def _is_answer(doc: PythonDoc) -> bool:
    body = _words(doc.body)
    enough = len(EXAMPLE.sub("", doc.body).split()) >= MIN_BODY_WORDS
    # Some docstrings say their summary twice.
    return bool(doc.summary) and enough and f" {_words(doc.summary)} " not in f" {body} "


def _deal(queries: Counter[str]) -> dict[str, str]:
    """The split of each module, from the number of queries of each module."""
    # crc32 and not hash(), which Python salts anew in every process.
    order = sorted(queries, key=lambda m: (m not in TRAIN_MODULES, zlib.crc32(m.encode()), m))
    split_of: dict[str, str] = {}
    dealt = 0
    for module in order:
        middle = 100 * (dealt + queries[module] / 2) / queries.total()
        split_of[module] = next(split for split, end in SPLITS.items() if middle < end)
        dealt += queries[module]
    return split_of


NOTICE = re.compile(r"\W*(copyright|\(c\)|licen[sc]ed|all rights reserved|\$id)", re.IGNORECASE)
# The underlined first line of a chapter.
HEADING = re.compile(r"(?P<title>.+)\n[*=~-]{3,}\n+")
# "name(arguments) -> rest" or "name(arguments)" alone; the arguments may hold a pair of brackets.
SIGNATURE = re.compile(
    r"[\w.]+(?P<arguments>\((?:[^()]|\([^()]*\))*\)) *(?:(?:-?->|=>|=|--|:)(?P<rest>.*))?(?:\n+|$)"
)
# "v, " or "None. " of "D.pop(k[,d]) -> v, remove specified key".
RESULT = re.compile(r"\s*\w+[,.] +")
# Where the opening prose ends: a blank line, an indented line, a list, an example, a field.
PROSE_END = re.compile(r"\n(?=\s*\n|[ \t]+[^a-z\s]|>>>|[-*+@] ?\w|:\w|[-=~*]{3,})")
SENTENCE_END = re.compile(
    r"""(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)[.!?](?=\s+["'`(<*A-Z]|\s*$)"""
)
# A short line without a full stop, above one that starts anew.
TITLE_LINE = re.compile(r".{1,50}[^.,;:\s](?=\n[A-Z])")
EXAMPLE = re.compile(r"^[ \t]*(>>>|\.\.\.).*", re.MULTILINE)
# Lines about the docstring or the code, and lines of syntax: not what the thing is for.
NO_SUMMARY = re.compile(
    r"\W*(copyright|licen|same as|see |usage|author|alias|deprecated|internal|todo|xxx|undocumented"
    r"|overrid|written by|based on|new in version|source code)|\(|>>>|.*( = |->|::=|\|)",
    re.IGNORECASE,
)


def _says_something(text: str) -> bool:
    return len(text.split()) >= MIN_WORDS and not NOTICE.match(text)


def _document(found: Docstring) -> PythonDoc:
    title, text = found.id + found.signature, found.text.strip()
    topic = found.module == "topic"
    if topic and (heading := HEADING.match(text)):
        title, text = heading["title"], text[heading.end() :]
    opening, signatures = text, ""
    if opening.startswith(f"{found.id}\n"):
        opening = opening.removeprefix(found.id).lstrip()
    while not topic and (match := SIGNATURE.match(opening)):
        if title == found.id:
            title += " ".join(match["arguments"].split())
        if len((match["rest"] or "").split()) >= SUMMARY_WORDS.start:
            opening = opening[match.start("rest") :]
            if result := RESULT.match(opening):
                opening = opening[result.end() :]
            opening = opening.lstrip()
            break
        signatures += match[0].rstrip() + "\n"
        opening = opening[match.end() :]
    summary, body = _split_summary(opening)
    body = (signatures + body).strip() if summary else text
    return PythonDoc(found.id, title, summary, body, found.module)


def _split_summary(text: str) -> tuple[str, str]:
    """The first sentence or title line, cleaned, and all that follows; ("", text) if unusable."""
    prose = PROSE_END.split(text, maxsplit=1)[0]
    match = TITLE_LINE.match(prose) or SENTENCE_END.search(prose)
    end = match.end() if match else len(prose)
    summary = re.sub(r":[\w:]+:(?=`)", "", text[:end])  # the role of :class:`Name`
    summary = re.sub(r"`+([^`']*)(`+|')", r"\1", summary)
    summary = re.sub(r"(?<!\w)(\*{1,2})(\w[\w ]*)\1(?!\w)", r"\2", summary)
    summary = " ".join(re.sub(r"(?<=\w-)\n\s*", "", summary).split()).strip("+.:;, ")
    if len(summary.split()) not in SUMMARY_WORDS or NO_SUMMARY.match(summary):
        return "", text
    return summary, text[end:].lstrip(" .\n")


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
