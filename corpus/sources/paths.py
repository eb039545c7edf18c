"""Find the files of a source and choose how each is read."""

import logging
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from ranklet.corpus.collections.collection import CORPUS
from ranklet.corpus.collections.opening import Position, format_suffix
from ranklet.corpus.sources import arrow, databases, json_files, tables, text_files
from ranklet.corpus.sources.cells import Bad, Cell, Record, Records
from ranklet.corpus.sources.documents.reading import lacking_extra, undamaged
from ranklet.corpus.sources.documents.sheets import SHEETS, read_rows
from ranklet.corpus.sources.options import SourceOptions
from ranklet.runtime.bundles.manifest import MANIFEST
from ranklet.runtime.ground.errors import CollectionError
from ranklet.runtime.ground.extras import install

_log = logging.getLogger(__name__)

STANDARD_INPUT = Path("/dev/stdin")
SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".json": "json", ".parquet": "parquet",
    **dict.fromkeys(text_files.TEXTS, "text"), **dict.fromkeys(SHEETS, "xlsx"),
}  # fmt: skip
_ADVICE = {
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar"), "unpack it and give the folder"),
    **dict.fromkeys((".bz2", ".xz"), "unpack it, or compress it as .gz or .zst"),
    **dict.fromkeys((".doc", ".odt", ".rtf", ".ppt", ".odp"), "save it as .docx, .pptx or .pdf"),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), databases.ADVICE),
    ".arrow": "give the folder that save_to_disk has written",
}
_PARTITION = re.compile(r"([^\W\d]\w*)=(.+)")  # the name of a folder, whose files lack the column
_ABSENT = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Files:
    """The files of a source, which are read as one of `SUFFIXES` or as a dataset.

    Attributes:
        kind: how they are read.
        paths: the files, in their order.
        folder: texts are named by their paths below it.
        options: how they are read.
        unreadable: folders that could not be listed.
        left_out: files of kinds that need packages which are not installed.
    """

    kind: str
    paths: Sequence[Path]
    folder: Path
    options: SourceOptions
    unreadable: Sequence[Bad] = ()
    left_out: Collection[Path] = ()

    @property
    def twice(self) -> bool:
        """Whether the files can be read twice, which a pipe cannot."""
        return all(path.is_file() for path in self.paths)

    @property
    def is_table(self) -> bool:
        """Whether all records have the same columns, because they are of one table."""
        return len(self.paths) == 1 and self.kind in ("csv", "tsv")

    @property
    def are_texts(self) -> bool:
        """Whether each file is a document or pages, with the fields of `text_files.EXAMPLE`."""
        return self.kind == "text"

    def position(self) -> Position:
        """Return a position at the beginning."""
        return Position(sum(path.stat().st_size for path in self.paths if path.is_file()))

    def records(self, position: Position) -> Records:
        """Yield the records.

        Raises:
            CollectionError: the only file cannot be read.
            InputError: a package is missing.
        """
        yield from self.unreadable
        if self.kind == "dataset":
            yield from arrow.read_dataset(self.paths, position)
            return
        for path in self.paths:
            columns = partition(path.relative_to(self.folder).parent.parts)
            try:
                for each in self._of_file(path, position):
                    if columns and isinstance(each, Record):
                        yield each._replace(fields={**columns, **each.fields})
                    else:
                        yield each
            except CollectionError as error:  # which leaves the other files as they are
                if len(self.paths) == 1:
                    raise
                yield Bad(str(path), "broken", str(error).removeprefix(f"{path} "))

    def _of_file(self, path: Path, position: Position) -> Records:
        encoding = self.options.encoding
        if self.kind == "text":
            return text_files.read_text_file(path, self.folder, self.options, position)
        if self.kind in ("csv", "tsv"):
            header = self.options.header
            return tables.read_table(path, encoding, header=header, position=position)
        if self.kind == "jsonl":
            return json_files.read_json_lines(path, encoding, position)
        if self.kind == "json":
            return json_files.read_json(path, encoding, position)
        if self.kind == "xlsx":
            return undamaged(path, read_rows(path, header=self.options.header))
        return arrow.read_parquet(path, position)


def partition(folders: Iterable[str]) -> dict[str, Cell]:
    """Return the columns that folders stand for, as Hive, Spark and Arrow name them.

    >>> partition(["year=2024", "topic=a%2Fb", "topic=", "raw"])
    {'year': '2024', 'topic': 'a/b'}
    """
    pairs = [_PARTITION.fullmatch(each) for each in folders]
    return {each[1]: Cell(unquote(each[2])) for each in pairs if each and each[2] != _ABSENT}


def list_source_files(path: Path, options: SourceOptions) -> Files:
    """Return the files of a path, a file or a folder; - is the standard input.

    Raises:
        CollectionError: the path does not exist, or its format is not known.
    """
    path = STANDARD_INPUT if str(path) == "-" else path
    try:
        exists = path.exists()
    except (OSError, ValueError):  # too long, or with a zero byte
        exists = False
    if not exists:
        shown = str(path) if len(str(path)) < 200 else f"{str(path)[:200]!r}…"
        raise CollectionError(f"{shown} does not exist; give a file or a folder of documents")
    if path.is_dir():
        return _of_folder(path, options)
    suffix = format_suffix(path)
    kind = options.format if options.format != "auto" else SUFFIXES.get(suffix)
    if kind is None:
        formats = ", ".join(sorted(set(SUFFIXES.values())))
        advice = _ADVICE.get(suffix, f"pass --format with one of {formats}")
        raise CollectionError(
            f"{path}: files {f'named {suffix}' if suffix else 'without an ending'} are not read; "
            f"{advice}"
        )
    return Files(kind, [path], path.parent, options)


def _of_folder(folder: Path, options: SourceOptions) -> Files:
    if _is_bundle(folder):
        raise CollectionError(f"{folder} is a bundle; give the documents that it was made of")
    corpus = next((folder / name for name in CORPUS if (folder / name).is_file()), None)
    if corpus is not None:
        return Files("jsonl", _all_inside(folder, [corpus]), folder, options)
    if arrow.is_dataset(folder):
        return Files("dataset", _all_inside(folder, arrow.dataset_files(folder)), folder, options)
    by_format: dict[str, list[Path]] = {}
    unreadable: list[Bad] = []
    found = sorted(_files(folder, unreadable))
    inside = [path for path in found if _is_inside(folder, path)]
    if len(inside) < len(found):
        _log.warning(
            "%s: links that lead out of it are not read: %s; copy the files into it if you trust "
            "them", folder, f"{len(found) - len(inside):,}",
        )  # fmt: skip
    for path in inside:
        kind = SUFFIXES.get(format_suffix(path), "")
        if options.format in ("auto", kind):
            by_format.setdefault(kind, []).append(path)
    if other := by_format.pop("", []):
        endings = sorted({path.suffix or "no ending" for path in other})
        _warn(f"{folder}: files with other endings are not read: {len(other):,} "
              f"({', '.join(endings[:8])})")  # fmt: skip
    if not by_format:
        why = f" ({unreadable[0].place}: {unreadable[0].found})" if unreadable else ""
        named = f"--format {options.format}" if options.format != "auto" else "their ending"
        raise CollectionError(
            f"{folder} has no file that can be read by {named}{why}; the endings are "
            f"{', '.join(SUFFIXES)}"
        )
    if by_format.keys() == {"text", "xlsx"}:  # sheets among other documents are such, too
        by_format = {"text": sorted(by_format["text"] + by_format["xlsx"])}
    if len(by_format) > 1:
        counts = ", ".join(f"{kind} ({len(paths):,})" for kind, paths in by_format.items())
        texts = by_format.get("text", [])
        if 2 * len(texts) > sum(map(len, by_format.values())):  # a table among many documents
            _warn(f"{folder} has files of the formats {counts}; only its texts are read, so add "
                  "the others by `ranklet update`")  # fmt: skip
            by_format = {"text": texts}
    if len(by_format) > 1:
        raise CollectionError(
            f"{folder} has files of the formats {counts}; pass --format with one of them"
        )
    ((kind, paths),) = by_format.items()
    left_out = _lacking(folder, paths)
    return Files(
        kind,
        [each for each in paths if each not in left_out],
        folder,
        options,
        unreadable,
        left_out,
    )


def _lacking(folder: Path, paths: Sequence[Path]) -> Collection[Path]:
    """Return the files that need packages which are not installed, unless they are all, and warn.

    Without anything else to read, the error of the first file says what is missing.
    """
    found = dict[str, list[Path]]()
    for path in paths:
        if extra := lacking_extra(path):
            found.setdefault(extra, []).append(path)
    left_out = {path for each in found.values() for path in each}
    if len(left_out) == len(paths):
        return ()
    for extra, each in found.items():
        endings = ", ".join(sorted({path.suffix.lower() for path in each}))
        _warn(f"{folder}: files that need a package which is not installed are not read: "
              f"{len(each):,} ({endings}); run: {install(extra)}")  # fmt: skip
    return frozenset(left_out)


@lru_cache
def _warn(text: str) -> None:
    """Warn once, because a folder may be listed every second."""
    _log.warning("%s", text)


def _is_inside(folder: Path, path: Path) -> bool:
    """Return whether a file of a folder lies in it; others could make any file searchable."""
    root = folder.resolve()
    if root.parent.name == "snapshots":  # of the hub's cache, whose files lie beside them
        root = root.parent.parent
    return path.resolve().is_relative_to(root)


def _all_inside(folder: Path, paths: list[Path]) -> list[Path]:
    for path in paths:
        if not _is_inside(folder, path):
            raise CollectionError(
                f"{path} is a link that leads out of the folder; copy the file into it if you "
                "trust it"
            )
    return paths


def _is_bundle(folder: Path) -> bool:
    """Return whether a folder is a bundle, which may be damaged or of any version."""
    try:
        with (folder / MANIFEST).open("rb") as file:
            return b'"ranklet_version"' in file.read(1 << 10)
    except OSError:
        return False


def _files(folder: Path, unreadable: list[Bad]) -> Iterator[Path]:
    """Yield the files in a folder and below it, without hidden ones and those of bundles.

    Links to folders are not followed, because they may lead in a circle.
    """
    folders = [str(folder)]
    while folders:
        name = folders.pop()
        try:
            with os.scandir(name) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        if not _is_bundle(Path(entry.path)):  # that an earlier build has written
                            folders.append(entry.path)
                    elif Path(entry.path).is_file():  # no error at a broken link
                        yield Path(entry.path)
        except OSError as error:
            unreadable.append(Bad(name, "broken", f"cannot be read ({error.strerror or error})"))
