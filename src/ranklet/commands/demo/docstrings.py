"""Every docstring inside the installed Python: of sources, extension modules and help topics."""

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

# Tests, programs that merely lie beside the library, jokes, and tables made by a generator.
SKIPPED_FOLDERS = {"dist-packages", "ensurepip", "idle_test", "idlelib", "lib2to3", "pydoc_data"}
SKIPPED_FOLDERS |= {"site-packages", "test", "tests", "turtledemo"}
SKIPPED_MODULES = {"antigravity", "ntpath", "this"}
GENERATED_CODECS = "encodings."
# Modules that programs import under another name. (ntpath is posixpath once more, for Windows.)
RENAMED = {"posixpath": "os.path", "genericpath": "os.path"}

# Modules without a Python source, by the name under which programs import what they hold. All of
# them only define things when imported; readline and tkinter, which touch the terminal or the
# display, are left out.
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
    """A docstring as it was found, with the dotted name of what it documents."""

    id: str
    signature: str
    text: str
    module: str


def from_sources() -> Iterator[Docstring]:
    """Yield the docstrings of the standard library's sources, which are parsed and never run.

    Raises:
        CollectionError: this Python came without them.
    """
    library = Path(sysconfig.get_path("stdlib"))
    # The shorter path first: where a package and its parts share a docstring, the package keeps it.
    # genericpath last: it calls itself an internal of os.path.
    paths = sorted(
        _source_files(library),
        key=lambda path: (len(path.parts), path.stem == "genericpath", path.parts),
    )
    if not paths:
        raise CollectionError(
            f"no Python sources in {library}; use a Python that has its standard library as files"
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
        # Not entered at all: the installed packages may be many times the library.
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
            # Definitions also stand under `if` and `try`, for one platform or another.
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
        # A reader does not pass self.
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
        # Nobody writes builtins.len.
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
        # Where a program has put a hook of its own, sys keeps the first one: sys.__excepthook__.
        public = {name: vars(sys).get(f"__{name}__", public[name]) for name in public}
    # By its own name before a second one, as in array.array and array.ArrayType.
    return sorted(public.items(), key=lambda item: (_name(item[1]) != item[0], item[0]))


def _name(member: object) -> str:
    return str(getattr(member, "__name__", ""))


def _own_doc(member: object) -> str:
    doc = member.__doc__
    return inspect.cleandoc(doc) if isinstance(doc, str) else ""


def _signature(member: object) -> str:
    # Not inspect.signature, which evaluates the defaults and fails on some.
    signature = " ".join((getattr(member, "__text_signature__", None) or "").split())
    return re.sub(r"^\(\$\w+(, /)?(, |(?=\)))", "(", signature).replace("<unrepresentable>", "...")


def from_topics() -> Iterator[Docstring]:
    """Yield the chapters of the language reference that ``help()`` knows."""
    try:
        from pydoc_data.topics import topics
    except ImportError:  # some distributions pack the reference apart
        return
    for name, text in sorted(topics.items()):
        yield Docstring("topic." + "-".join(name.split()), "", text, "topic")
