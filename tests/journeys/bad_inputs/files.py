"""Write files that cannot be used. Each function returns one that makes a path in a place."""

import gzip
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

from tests.journeys.bad_inputs.running import Place

Maker = Callable[[Place], Path]

GOOD = '{"_id": "a", "text": "dough"}\n{"_id": "b", "text": "bread"}\n'
QUERIES = '{"_id": "q", "text": "dough"}\n'


def file(name: str, content: str | bytes = "") -> Maker:
    """Return a maker of one file."""

    def make(place: Place) -> Path:
        path = place.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return path

    return make


def folder(**files: str | bytes) -> Maker:
    """Return a maker of a folder; in names of files `__` stands for a dot."""

    def make(place: Place) -> Path:
        made = place.folder / "given"
        made.mkdir()
        for name, content in files.items():
            file(f"given/{name.replace('__', '.')}", content)(place)
        return made

    return make


def corpus(content: str | bytes) -> Maker:
    """Return a maker of a collection with this corpus and a judged query."""
    return folder(
        corpus__jsonl=content, queries__train__jsonl=QUERIES, qrels__train__txt="q 0 a 1\n"
    )


def judged(qrels: str | bytes, queries: str | bytes = QUERIES) -> Maker:
    """Return a maker of a collection with these judgements."""
    return folder(corpus__jsonl=GOOD, queries__train__jsonl=queries, qrels__train__txt=qrels)


def packed_corpus(place: Place) -> Path:
    """Return a collection whose compressed corpus was cut off."""
    made = folder(queries__train__jsonl=QUERIES, qrels__train__txt="q 0 a 1\n")(place)
    lines = "".join(f'{{"_id": "{number}", "text": "x"}}\n' for number in range(1000))
    (made / "corpus.jsonl.gz").write_bytes(gzip.compress(lines.encode(), mtime=0)[:-20])
    return made


def damaged(name: str, content: bytes | None = None, *, cut: int = 0) -> Maker:
    """Return a maker of a copy of the bundle in which one file has other bytes, or is cut off."""

    def make(place: Place) -> Path:
        copy = place.folder / "damaged.ranklet"
        shutil.copytree(place.bundle, copy)
        path = copy / name
        changed = path.read_bytes()[:-cut] if content is None else content
        path.unlink(missing_ok=True)  # another bundle may map it
        path.write_bytes(changed)
        return copy

    return make


def zipped(entries: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Maker:
    """Return a maker of a zip with these entries."""

    def make(place: Place) -> Path:
        path = place.folder / "bundle.zip"
        with zipfile.ZipFile(path, "w", method) as archive:
            for name, content in entries.items():
                archive.writestr(name, content)
        return path

    return make


def copied(name: str) -> Maker:
    """Return a maker of a copy of the collection under a name, which a command may destroy."""
    return lambda place: Path(shutil.copytree(place.collection, place.folder / name))
