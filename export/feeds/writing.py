"""Write a feed: the engine's schema, all documents, and a query to try it with."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from ranklet.corpus.building.writer import check_listed
from ranklet.corpus.progress import progress
from ranklet.export.feeds.plan import Entry, Field, Plan, as_json
from ranklet.export.feeds.source import Source
from ranklet.runtime.call.query import QueryVector
from ranklet.runtime.errors import InputError
from ranklet.runtime.storage.address import BundleLike, writable
from ranklet.runtime.writing.atomic_folder import atomic_folder
from ranklet.runtime.writing.strangers import files_in

ENGINES = ("vespa", "opensearch", "elasticsearch", "qdrant")  # each a module of this folder
QUERY, ABOUT = "query.json", "feed.json"


class Engine(Protocol):
    """What the module of an engine has.

    Attributes:
        DOCUMENTS: name of the file of all documents.
    """

    DOCUMENTS: str

    def schema(self, plan: Plan) -> dict[str, str]:
        """Return files by path, which create an index."""

    def lines(self, plan: Plan, entries: Iterable[Entry]) -> Iterable[str]:
        """Return the lines of the file of all documents."""

    def query(self, plan: Plan, field: Field, vector: QueryVector, k: int) -> dict[str, Any]:
        """Return the body of a search."""

    def usage(self, plan: Plan) -> str:
        """Return the commands that load the feed and search it."""


def engine_of(name: str) -> Engine:
    """Return the module of an engine.

    Raises:
        InputError: there is no engine with this name.
    """
    if name not in ENGINES:
        raise InputError(f"unknown engine {name!r}; choose of {', '.join(ENGINES)}")
    return cast(Engine, import_module(f"{__package__}.{name}"))


def write_feed(
    bundle: BundleLike,
    engine: str,
    target: str | Path,
    *,
    rankers: Sequence[str] = (),
    index: str = "",
    query: str = "",
    k: int = 10,
    overwrite: bool = False,
) -> str:
    """Write a feed into a folder, all or nothing, and return how it is used.

    Args:
        bundle: an indexed bundle.
        engine: one of `ENGINES`.
        target: the folder.
        rankers: the rankers whose vectors are fed; by default all that retrieve by vectors or
            impacts.
        index: name of the index in the engine; the bundle's name by default.
        query: the text of the query in `QUERY`; a sample by default.
        k: how many hits the query returns.
        overwrite: whether an earlier feed is replaced.

    Returns:
        Commands of a shell, to be run in the folder.

    Raises:
        InputError: the engine, a ranker or the name is unknown or not allowed.
        ExportError: the target exists, or an engine refuses something of the collection.
        BundleError: the bundle cannot be read, or has no collection.
    """
    module = engine_of(engine)
    writable(target)
    source = Source(bundle, rankers, index)
    check = partial(check_listed, listing=ABOUT, what="feed", overwrite=overwrite)
    with atomic_folder(Path(target), check) as folder:
        _write(source, module, folder, query or source.sample, k)
        about = {
            "engine": engine, "entries": len(source), "rankers": source.names,
            "files": files_in(folder),
        }  # fmt: skip
        (folder / ABOUT).write_text(as_json(about) + "\n", "utf-8")
    return module.usage(source.plan)


def query_body(
    bundle: BundleLike, engine: str, query: str, *, ranker: str = "", index: str = "", k: int = 10
) -> Mapping[str, Any]:
    """Return the body of the search that an engine needs for a query.

    Args:
        bundle: the one that was fed, or another with the same ranker and vocabulary.
        engine: one of `ENGINES`.
        query: the text of the query.
        ranker: whose vectors are searched; the first that was fed by default.
        index: name of the index in the engine; the bundle's name by default.
        k: how many hits it returns.

    Raises:
        InputError: the engine or the ranker is unknown.
        BundleError: the bundle cannot be read, or has no collection.
    """
    source = Source(bundle, (ranker,) if ranker else (), index)
    return engine_of(engine).query(source.plan, *source.query(query, ranker), k)


def _write(source: Source, engine: Engine, folder: Path, query: str, k: int) -> None:
    for name, content in engine.schema(source.plan).items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, "utf-8")
    entries = progress(source.entries(), "feed", total=len(source))
    with (folder / engine.DOCUMENTS).open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in engine.lines(source.plan, entries))
    body = engine.query(source.plan, *source.query(query), k)
    (folder / QUERY).write_text(as_json(body) + "\n", "utf-8")
