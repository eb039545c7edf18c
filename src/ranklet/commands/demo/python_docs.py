"""Turn the documentation inside the installed Python into a collection that needs no download.

The documents are the docstrings of the standard library's sources, of the builtins and of common
extension modules. A docstring's summary line becomes a query whose answer is the rest of it.
"""

import ast
import inspect
import os
import re
import sysconfig
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ranklet.corpus.collections.collection import Document, Query, Splits
from ranklet.runtime.ground.errors import CollectionError

# Modules that are wholly or partly written in C, so no source has all of their docstrings.
EXTENSIONS = (
    "builtins", "io", "array", "collections", "csv", "datetime", "functools", "itertools", "math",
    "os", "random", "select", "signal", "socket", "sqlite3", "ssl", "struct", "sys", "time", "zlib",
)  # fmt: skip
# Tests, programs that are not part of the library, tables, and paths of other systems.
SKIPPED = {
    "distutils", "encodings", "idlelib", "lib2to3", "ntpath", "test", "tests", "turtledemo",
    "windows_events", "windows_utils",
}  # fmt: skip
DEPRECATION = b"warnings._deprecated(__name__"  # stands in modules that a later Python removes
NAMED = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef  # what has a docstring and a name
RENAMED = {"posixpath": "os.path", "genericpath": "os.path"}  # as programs import them

MIN_WORDS = 3  # shorter docstrings, such as "exception filename", are not used
SUMMARY_WORDS = range(4, 31)
MIN_BODY_WORDS = 8  # before the first example of what is left without the summary
# The largest modules are always for training, because they would dominate a small split. The others
# are dealt by the crc32 of their names, which leads to splits of about 70, 10 and 20 %.
TRAIN_MODULES = {"builtins", "email", "os", "tkinter", "turtle"}
SPLITS = ("train", "train", "train", "dev", "test", "test")

NOTICE = re.compile(r"(?i)\W*(copyright|\(c\)|licen[sc]ed|all rights reserved|\$id)")
# "name(arguments) -> result" on a line, or before the summary, as in "D.pop(k) -> v, remove it".
SIGNATURES = re.compile(r"([\w.]+\(.*?\)( *-+> *\w+[.,](?= +\w)| *-+>.*| *--|:|(?=\n|$))\s*)*")
# The opening prose ends at a blank line, an indented line, a list, an example or a field.
PROSE_END = re.compile(r"\n(?=\s*\n|[ \t]+[^a-z\s]|>>>|[-*+@] ?\w|:\w|[-=~*]{3,})")
# A short line without a full stop is a title if a new sentence follows it.
SUMMARY = re.compile(r".{1,50}[^.,;:\s](?=\n[A-Z])|(?s:.*?)(?<!\.[eg])[.!?](?=\s+[^a-z\s]|\s*$)")
# Lines about the docstring or the code, and lines of syntax, which do not describe a purpose.
NO_SUMMARY = re.compile(
    r"(?i)\W*(same as|see |usage|author|alias|deprecated|internal|overrid)|\(|>>>|.*(=|->|\|)"
)


class PythonDoc(NamedTuple):
    """One docstring; `summary` is "" if it begins with no usable one."""

    id: str  # the dotted name, such as textwrap.dedent
    title: str  # the name with its arguments, if they are known
    summary: str
    body: str  # all after the summary
    module: str  # the top-level module

    @property
    def text(self) -> str:
        """The whole docstring."""
        return f"{self.summary}.\n\n{self.body}".strip() if self.summary else self.body


def collect() -> list[PythonDoc]:
    """Return all docstrings of the installed Python, each once, always in the same order.

    Raises:
        CollectionError: this Python has no sources of its standard library.
    """
    docs: dict[str, PythonDoc] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old sources contain invalid escapes
        for doc in (*_from_sources(), *_from_extensions()):
            # csv takes its docstring from its C part; the one in its source says next to nothing.
            if doc.id not in docs or len(doc.body) > len(docs[doc.id].body):
                docs[doc.id] = doc
    unique: dict[str, PythonDoc] = {}
    for doc in docs.values():
        text = " ".join(doc.body.split())
        if len(text.split()) >= MIN_WORDS and not NOTICE.match(text):
            unique.setdefault(text, doc)  # heirs repeat the docstrings that they inherit
    return [_with_summary(doc) for doc in unique.values()]


def judged(docs: Sequence[PythonDoc]) -> tuple[list[Document], Splits]:
    """Return documents, queries and judgements for ``write_collection``.

    A summary is removed from its document and becomes a query if it stands nowhere else and enough
    is left. All other documents keep their whole text as distractors.
    """
    times = Counter(_words(doc.summary) for doc in docs)
    documents: list[Document] = []
    splits: dict[str, tuple[list[Query], dict[str, dict[str, int]]]]
    splits = {split: ([], {}) for split in SPLITS}
    for doc in docs:
        summary = _words(doc.summary)
        enough = len(doc.body.partition(">>>")[0].split()) >= MIN_BODY_WORDS
        repeated = times[summary] > 1 or f" {summary} " in f" {_words(doc.body)} "
        asks = summary and enough and not repeated
        documents.append(Document(doc.id, doc.title, doc.body if asks else doc.text))
        if asks:
            dealt = SPLITS[zlib.crc32(doc.module.encode()) * len(SPLITS) >> 32]
            queries, qrels = splits["train" if doc.module in TRAIN_MODULES else dealt]
            queries.append(Query(f"q:{doc.id}", doc.summary))
            qrels[f"q:{doc.id}"] = {doc.id: 1}
    return documents, splits


def _from_sources() -> Iterator[PythonDoc]:
    """Yield the docstrings of the standard library's sources, which are parsed but never run."""
    library = Path(sysconfig.get_path("stdlib"))
    paths: list[Path] = []
    for folder, folders, files in os.walk(library):
        folders[:] = filter(_is_public, folders)  # site-packages may be huge
        paths += [Path(folder, file) for file in files if file.endswith(".py")]
    if not paths:
        raise CollectionError(f"no Python sources in {library}; use a Python whose files are there")
    # Packages come before their parts, so that a docstring that they share is the package's.
    for path in sorted(paths, key=lambda path: (len(path.parts), path.parts)):
        name = ".".join(path.relative_to(library).with_suffix("").parts).removesuffix(".__init__")
        source = path.read_bytes()
        if all(map(_is_public, name.split("."))) and DEPRECATION not in source:
            yield from _definitions(ast.parse(source), RENAMED.get(name, name))


def _definitions(node: ast.AST, name: str) -> Iterator[PythonDoc]:
    if isinstance(node, ast.Module | NAMED):
        arguments = ast.unparse(node.args) if hasattr(node, "args") else ""
        yield _join_summary(name, arguments, ast.get_docstring(node))
    if isinstance(node, ast.Module | ast.ClassDef | ast.If | ast.Try):
        exported = _read_all(node) if isinstance(node, ast.Module) else None
        for child in ast.iter_child_nodes(node):
            own = child.name if isinstance(child, NAMED) else ""
            if not own or (_is_public(own) and (exported is None or own in exported)):
                yield from _definitions(child, f"{name}.{own}".rstrip("."))


def _read_all(module: ast.Module) -> set[str] | None:
    """Return the names in a module's `__all__`; None if it is missing or computed."""
    names: set[str] | None = None
    for line in module.body:
        if isinstance(line, ast.Assign):
            targets = line.targets
        elif isinstance(line, ast.AugAssign):
            targets = [line.target]
        else:
            continue
        if any(isinstance(each, ast.Name) and each.id == "__all__" for each in targets):
            try:
                names = (names or set()) | set(ast.literal_eval(line.value))
            except ValueError:
                return None
    return names


def _from_extensions() -> Iterator[PythonDoc]:
    objects: list[tuple[str, object]] = [(name, import_module(name)) for name in EXTENSIONS]
    for name, value in objects:
        signature = getattr(value, "__text_signature__", None) or ""
        yield _join_summary(name, signature[1:-1], value.__doc__)
        if inspect.ismodule(value) or (inspect.isclass(value) and name.count(".") == 1):
            objects += [
                (f"{name}.{inner}", member)
                for inner, member in vars(value).items()
                if _is_public(inner) and (callable(member) or inspect.isdatadescriptor(member))
            ]


def _is_public(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_") and name not in SKIPPED


def _join_summary(name: str, arguments: str, text: object) -> PythonDoc:
    """Return a document that still has its summary in its body."""
    module, public = name.partition(".")[0], name.removeprefix("builtins.")  # len is just len
    arguments = re.sub(r"^(\$\w+|self|cls)(, /)?(, |$)", "", " ".join(arguments.split()))
    body = inspect.cleandoc(text).strip() if isinstance(text, str) else ""
    return PythonDoc(public, f"{public}({arguments})" if arguments else public, "", body, module)


def _with_summary(doc: PythonDoc) -> PythonDoc:
    """Return a document whose first sentence or title is cut out, if it can be a query."""
    text = doc.body.removeprefix(f"{doc.id}\n").lstrip()
    opening = SIGNATURES.sub("", text, count=1)
    prose = PROSE_END.split(opening, maxsplit=1)[0]
    end = match.end() if (match := SUMMARY.match(prose)) else len(prose)
    summary = " ".join(re.sub(r":[\w:]+:(?=`)|[`*]", "", opening[:end]).split()).strip("+.:;, ")
    if len(summary.split()) not in SUMMARY_WORDS or NO_SUMMARY.match(summary):
        return doc
    rest = opening[end:].lstrip(" .\n")
    body = f"{text.removesuffix(opening).rstrip()}\n{rest}".strip()
    return doc._replace(summary=summary, body=body)


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
