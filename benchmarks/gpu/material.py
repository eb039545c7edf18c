"""The texts of the GPU checks, which come with Python, so that no collection is needed."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from benchmarks.gpu.setting import Setting
from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.runtime.ground.sets import evenly
from ranklet.training.pretrained.backbone import wheel_folder

MODULES = (
    "argparse", "asyncio", "builtins", "collections", "concurrent.futures", "configparser", "csv",
    "datetime", "decimal", "difflib", "email.message", "fractions", "functools", "heapq",
    "http.client", "inspect", "io", "itertools", "json", "logging", "math", "os", "pathlib",
    "random", "re", "sched", "shutil", "socket", "sqlite3", "statistics", "string", "struct",
    "subprocess", "tarfile", "tempfile", "textwrap", "threading", "time", "unittest",
    "urllib.request", "zipfile",
)  # fmt: skip
MOST_QUERIES = 400
LEAST_WORDS = 10  # of a documentation after its first line
FOLDER = "gpu.collection"


def texts(setting: Setting) -> Collection:
    """Return documentations of the standard library; the first line of each is its query."""
    folder = setting.work / FOLDER
    if not folder.is_dir():
        found = [each for each in documentations() if each.title.strip()]
        asked = [found[at] for at in evenly(len(found), MOST_QUERIES)]
        held_out = asked[::10]
        parts = {"dev": held_out, "train": [each for each in asked if each not in held_out]}
        splits = {
            name: (
                [Query(each.id, each.title) for each in part],
                {each.id: {each.id: 1} for each in part},
            )
            for name, part in parts.items()
        }
        write_collection(folder, [each._replace(title="") for each in found], splits)
    return Collection(folder)


def documentations() -> Iterator[Document]:
    """Yield the documentation of modules, classes, methods and functions, each once."""
    seen = set[str]()
    for name in MODULES:
        module = import_module(name)
        for owner, whole in _members(name, module):
            for member, text in (("", inspect.getdoc(whole)), *_methods(whole)):
                title, _, rest = (text or "").partition("\n")
                if rest not in seen and len(rest.split()) >= LEAST_WORDS:
                    seen.add(rest)
                    yield Document(f"{owner}{member}", title, rest.strip())


def backbone_folder(setting: Setting) -> Path:
    """Return the folder of the encoder."""
    return Path(setting.backbone) if setting.backbone else wheel_folder()


def _members(name: str, module: object) -> Iterator[tuple[str, object]]:
    yield name, module
    for member, value in sorted(vars(module).items()):
        if not member.startswith("_") and (inspect.isclass(value) or inspect.isroutine(value)):
            yield f"{name}.{member}", value


def _methods(whole: object) -> Iterator[tuple[str, str | None]]:
    if inspect.isclass(whole):
        for member, value in sorted(vars(whole).items()):
            if not member.startswith("_") and inspect.isroutine(value):
                yield f".{member}", inspect.getdoc(value)
