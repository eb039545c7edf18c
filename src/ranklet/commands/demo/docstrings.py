"""Collect every docstring of the installed Python's sources, extension modules and help topics."""

import ast
import importlib
import inspect
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ranklet.runtime.errors import CollectionError

# Tests, programs that are not part of the library, jokes, and generated tables.
SKIPPED_FOLDERS = {"dist-packages", "ensurepip", "idle_test", "idlelib", "lib2to3", "pydoc_data"}
SKIPPED_FOLDERS |= {"site-packages", "test", "tests", "turtledemo"}
SKIPPED_MODULES = {"antigravity", "ntpath", "this"}
GENERATED_CODECS = "encodings."
# Modules that programs import under another name. (ntpath repeats posixpath for Windows.)
RENAMED = {"posixpath": "os.path", "genericpath": "os.path"}

# Modules without Python source, by the name under which programs import their contents. Importing
# them has no side effects. readline and tkinter are left out, because they touch the terminal or
# the display.
EXTENSIONS = {
    name.lstrip("_"): name
    for name in (  # noqa: SIM905 (as a list it takes sixty lines)
        "builtins sys time math cmath array atexit binascii errno faulthandler fcntl gc grp "
        "itertools marshal mmap pwd resource select syslog termios unicodedata zlib _ast _asyncio "
        "_bisect _bz2 _codecs _collections _contextvars _csv _ctypes _curses _datetime _decimal "
        "_functools _heapq _io _locale _lzma _operator _pickle _queue _random _signal _socket "
        "_sqlite3 _ssl _struct _symtable _tracemalloc _uuid _warnings _weakref _zoneinfo"
    ).split()
} | {"_thread": "_thread", "os": "posix", "xml.etree.ElementTree": "_elementtree"}


class Docstring(NamedTuple):
    """An unchanged docstring with the dotted name of the object that it documents."""

    id: str
    signature: str
    text: str
    module: str


def from_sources() -> Iterator[Docstring]:
    """Yield the docstrings of the standard library's sources, which are parsed but never run.

    Raises:
        CollectionError: this Python has no sources.
    """
    library = Path(sysconfig.get_path("stdlib"))
    # Shorter paths come first, so that a docstring shared by a package and its parts belongs to the
    # package. genericpath comes last, because it calls itself an internal of os.path.
    paths = sorted(
        _source_files(library),
        key=lambda path: (len(path.parts), path.stem == "genericpath", path.parts),
    )
    if not paths:
        raise CollectionError(
            f"no Python sources in {library}; use a Python whose standard library is stored as "
            "source files"
        )
    for path in paths:
        parts = path.relative_to(library).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        name = ".".join(parts)
        if name in SKIPPED_MODULES or name.startswith(GENERATED_CODECS):
            continue
        tree = ast.parse(path.read_bytes())
        name = RENAMED.get(name, name)
        top = name.partition(".")[0]
        yield Docstring(name, "", ast.get_docstring(tree) or "", top)
        yield from _definitions(tree, name, top)


def _source_files(library: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(library):
        # Skipped folders are not entered, because installed packages may be huge.
        folders[:] = [name for name in folders if _is_public(name) and name not in SKIPPED_FOLDERS]
        for path in (Path(folder, file) for file in files):
            if path.suffix == ".py" and (path.stem == "__init__" or _is_public(path.stem)):
                yield path


def _is_public(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_")


def _definitions(node: ast.AST, prefix: str, module: str) -> Iterator[Docstring]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if _is_public(child.name):
                name = f"{prefix}.{child.name}"
                yield Docstring(
                    name, _arguments(child, node), ast.get_docstring(child) or "", module
                )
                if isinstance(child, ast.ClassDef):
                    yield from _definitions(child, name, module)
        elif isinstance(child, ast.stmt):
            # Definitions for single platforms are inside `if` and `try`.
            yield from _definitions(child, prefix, module)


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, owner: ast.AST) -> str:
    if isinstance(node, ast.ClassDef):
        for child in node.body:
            if isinstance(child, ast.FunctionDef) and child.name == "__init__":
                return _arguments(child, node)
        return ""
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    if "property" in decorators or "cached_property" in decorators:
        return ""
    arguments = ast.unparse(node.args)
    if isinstance(owner, ast.ClassDef) and "staticmethod" not in decorators:
        # Callers do not pass self.
        arguments = re.sub(r"^\w+(, /)?(, |$)", "", arguments)
    return f"({arguments})"


def from_extensions() -> Iterator[Docstring]:
    """Yield the docstrings of built-in and extension modules, which have no source."""
    for public, private in EXTENSIONS.items():
        try:
            module = importlib.import_module(private)
        except ImportError:  # not built on this platform
            continue
        top = public.partition(".")[0]
        # People write len, not builtins.len.
        prefix = "" if public == "builtins" else f"{public}."
        yield Docstring(public, "", _own_doc(module), top)
        for name, member in _members(module):
            if inspect.isbuiltin(member) or inspect.isclass(member):
                yield Docstring(f"{prefix}{name}", _signature(member), _own_doc(member), top)
            if inspect.isclass(member):
                for method, value in _members(member):
                    if inspect.isroutine(value) or inspect.isdatadescriptor(value):
                        method = f"{prefix}{name}.{method}"
                        yield Docstring(method, _signature(value), _own_doc(value), top)


def _members(owner: object) -> list[tuple[str, object]]:
    public = {name: member for name, member in vars(owner).items() if _is_public(name)}
    if owner is sys:
        # If a program replaced a hook, sys still has the original, for example sys.__excepthook__.
        public = {name: vars(sys).get(f"__{name}__", public[name]) for name in public}
    # An object's own name comes before an alias, as in array.array and array.ArrayType.
    return sorted(public.items(), key=lambda item: (_name(item[1]) != item[0], item[0]))


def _name(member: object) -> str:
    return str(getattr(member, "__name__", ""))


def _own_doc(member: object) -> str:
    doc = member.__doc__
    return inspect.cleandoc(doc) if isinstance(doc, str) else ""


def _signature(member: object) -> str:
    # inspect.signature would evaluate the defaults and fail on some of them.
    signature = " ".join((getattr(member, "__text_signature__", None) or "").split())
    return re.sub(r"^\(\$\w+(, /)?(, |(?=\)))", "(", signature).replace("<unrepresentable>", "...")


def from_topics() -> Iterator[Docstring]:
    """Yield the chapters of the language reference that ``help()`` shows."""
    try:
        from pydoc_data.topics import topics
    except ImportError:  # some distributions package the reference separately
        return
    for name, text in sorted(topics.items()):
        yield Docstring("topic." + "-".join(name.split()), "", text, "topic")
