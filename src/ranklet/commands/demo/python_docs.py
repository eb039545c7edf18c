"""Turn the documentation inside the installed Python into a collection that needs no download.

The documents are the docstrings of the standard library's sources and of built-in and extension
modules, and the chapters of the language reference that ``help()`` shows. A docstring begins with a
summary line. The summary becomes a query whose answer is the rest of the document, so a ranker
learns to find answers to what a programmer asks in other words.
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
# Shorter docstrings, such as "USub" or "exception filename", are not used.
MIN_WORDS = 3

# The percentage of the queries at which each split ends. The splits have 60, 10, 10 and 20 %.
SPLITS = {"train": 60, "fusion": 70, "dev": 80, "test": 100}
# The largest modules are always for training, because they would dominate a small split.
TRAIN_MODULES = {"builtins", "distutils", "tkinter", "turtle"}


class PythonDoc(NamedTuple):
    """One docstring.

    Attributes:
        id: the dotted name, such as ``textwrap.dedent`` or ``topic.with``.
        title: the name with its signature, if one is known.
        summary: the summary line without its markup, or "" if there is no usable one.
        body: the docstring without its summary line.
        module: the top-level module, ``builtins`` or ``topic``.
    """

    id: str
    title: str
    summary: str
    body: str
    module: str

    @property
    def text(self) -> str:
        """The whole docstring, which is summary and body."""
        return "\n\n".join(part for part in (self.summary, self.body) if part)


def collect() -> list[PythonDoc]:
    """Return all docstrings of the installed Python, each once, always in the same order.

    This takes some seconds, nearly all for parsing the standard library.

    Raises:
        CollectionError: this Python has no sources of its standard library.
    """
    docs: dict[str, PythonDoc] = {}
    seen: set[str] = set()
    with warnings.catch_warnings():
        # Old sources contain invalid escapes, and old modules announce their removal.
        warnings.simplefilter("ignore")
        for docstring in (*from_sources(), *from_extensions(), *from_topics()):
            # An inherited docstring comes once per heir, of which only the first is kept.
            key = " ".join(docstring.text.split())
            if docstring.id not in docs and key not in seen and _says_something(key):
                seen.add(key)
                docs[docstring.id] = _document(docstring)
    return list(docs.values())


def as_collection(docs: Sequence[PythonDoc], *, summaries: bool) -> tuple[list[Document], Splits]:
    """Return documents, queries and judgements for ``write_collection``.

    A summary becomes a query if it belongs to only one document and the rest of that document has
    at least MIN_BODY_WORDS words outside of examples. All other documents keep their whole text as
    distractors. Whole modules are assigned to the splits in the order of a hash of their names, so
    that training and evaluation use different modules.

    Args:
        docs: the result of ``collect``.
        summaries: True keeps every text whole, for an index that people search, and makes no
            splits, because each answer would contain its query. False removes the summaries from
            the texts and makes them queries, for training and evaluation.
    """
    if summaries:
        return [Document(doc.id, doc.title, doc.text) for doc in docs], {}
    times = Counter(_words(doc.summary) for doc in docs)
    answers = {doc.id for doc in docs if times[_words(doc.summary)] == 1 and _is_answer(doc)}
    split_of = _deal(Counter(doc.module for doc in docs if doc.id in answers))
    documents: list[Document] = []
    splits: dict[str, tuple[list[Query], dict[str, dict[str, int]]]]
    splits = {split: ([], {}) for split in SPLITS}
    for doc in docs:
        if doc.id in answers:
            queries, qrels = splits[split_of[doc.module]]
            query = Query(f"q:{doc.id}", doc.summary)
            queries.append(query)
            qrels[query.id] = {doc.id: 1}
        text = doc.body if doc.id in answers else doc.text
        documents.append(Document(doc.id, doc.title, text))
    return documents, splits


def _is_answer(doc: PythonDoc) -> bool:
    body = _words(doc.body)
    enough = len(EXAMPLE.sub("", doc.body).split()) >= MIN_BODY_WORDS
    # Some docstrings repeat their summary.
    return bool(doc.summary) and enough and f" {_words(doc.summary)} " not in f" {body} "


def _deal(queries: Counter[str]) -> dict[str, str]:
    """Return the split of each module, based on the number of queries of each module."""
    # crc32 instead of hash(), whose salt differs in every process.
    order = sorted(queries, key=lambda m: (m not in TRAIN_MODULES, zlib.crc32(m.encode()), m))
    split_of: dict[str, str] = {}
    dealt = 0
    for module in order:
        middle = 100 * (dealt + queries[module] / 2) / queries.total()
        split_of[module] = next(split for split, end in SPLITS.items() if middle < end)
        dealt += queries[module]
    return split_of


NOTICE = re.compile(r"\W*(copyright|\(c\)|licen[sc]ed|all rights reserved|\$id)", re.IGNORECASE)
# A chapter's underlined first line.
HEADING = re.compile(r"(?P<title>.+)\n[*=~-]{3,}\n+")
# "name(arguments) -> rest" or "name(arguments)", where the arguments may contain parentheses.
SIGNATURE = re.compile(
    r"[\w.]+(?P<arguments>\((?:[^()]|\([^()]*\))*\)) *(?:(?:-?->|=>|=|--|:)(?P<rest>.*))?(?:\n+|$)"
)
# "v, " or "None. " in "D.pop(k[,d]) -> v, remove specified key".
RESULT = re.compile(r"\s*\w+[,.] +")
# The opening prose ends at a blank line, an indented line, a list, an example or a field.
PROSE_END = re.compile(r"\n(?=\s*\n|[ \t]+[^a-z\s]|>>>|[-*+@] ?\w|:\w|[-=~*]{3,})")
SENTENCE_END = re.compile(
    r"""(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)[.!?](?=\s+["'`(<*A-Z]|\s*$)"""
)
# A short line without a full stop, followed by a line that begins a new sentence.
TITLE_LINE = re.compile(r".{1,50}[^.,;:\s](?=\n[A-Z])")
EXAMPLE = re.compile(r"^[ \t]*(>>>|\.\.\.).*", re.MULTILINE)
# Lines about the docstring or the code, and lines of syntax, which do not describe a purpose.
NO_SUMMARY = re.compile(
    r"\W*(copyright|licen|same as|see |usage|author|alias|deprecated|internal|todo|xxx|undocumented"
    r"|overrid|written by|based on|new in version|source code)|\(|>>>|.*( = |->|::=|\|)",
    re.IGNORECASE,
)


def _says_something(text: str) -> bool:
    return len(text.split()) >= MIN_WORDS and not NOTICE.match(text)


def _document(docstring: Docstring) -> PythonDoc:
    title, text = docstring.id + docstring.signature, docstring.text.strip()
    topic = docstring.module == "topic"
    if topic and (heading := HEADING.match(text)):
        title, text = heading["title"], text[heading.end() :]
    opening, signatures = text, ""
    if opening.startswith(f"{docstring.id}\n"):
        opening = opening.removeprefix(docstring.id).lstrip()
    while not topic and (match := SIGNATURE.match(opening)):
        if title == docstring.id:
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
    return PythonDoc(docstring.id, title, summary, body, docstring.module)


def _split_summary(text: str) -> tuple[str, str]:
    """Return the cleaned first sentence or title line and the rest, or ("", text) if unusable."""
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
