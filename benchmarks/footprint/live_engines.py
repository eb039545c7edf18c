"""Engines that are written to while another process reads them; runs in the peers' environment.

Every engine has a writer here and a reader in a process of its own. They take turns: one writes,
its reader looks until it finds the change, and then the next one writes.
"""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any, NamedTuple, Protocol

import numpy as np

Texts = Sequence[tuple[str, str]]  # ids, which are numbers, and texts
MOST_SECONDS = 40  # for an engine's turns of one task
PATIENCE = 30.0  # seconds until a change that is not seen is an error
PAUSE = 0.0005  # seconds between two looks
AT_ONCE = 5_000  # documents of a call that builds a collection


class New(NamedTuple):
    """A document to be written."""

    name: str
    text: str
    word: str  # of it alone


class Engine(Protocol):
    """An engine that is open, by one process to be written and by another to be read."""

    def add(self, texts: Texts) -> None:
        """Add documents, or replace those with the same ids."""

    def delete(self, name: str) -> None:
        """Delete a document."""

    def find(self, word: str) -> list[str]:
        """Return the ids of the best ten documents with a word, as they are now."""


class Ranklet:
    """A bundle."""

    def __init__(self, folder: Path, *, writes: bool) -> None:
        import ranklet

        self._open, self._folder = ranklet.load, folder
        self._bundle: Any = ranklet.open(folder, writable=writes)

    def add(self, texts: Texts) -> None:
        """Add documents."""
        self._bundle.add([{"id": name, "text": text} for name, text in texts])

    def delete(self, name: str) -> None:
        """Delete a document."""
        self._bundle.delete([name])

    def find(self, word: str) -> list[str]:
        """Return the best by BM25; a word without a meaning is near to anything by vectors."""
        found = self._open(self._folder).rank_ids(word, k=10, pipeline="bm25")
        return [name for name, _ in found]


class SQLite:
    """A table of SQLite's FTS5 whose commits wait for the disk, as ours do."""

    def __init__(self, folder: Path, *, writes: bool) -> None:
        folder.mkdir(exist_ok=True)
        self._own = sqlite3.connect(folder / "texts.db", isolation_level=None)
        self._own.execute("pragma journal_mode = wal")
        self._own.execute("pragma synchronous = full")
        if writes:
            self._own.execute(
                "create virtual table if not exists texts using fts5(text, tokenize = porter)"
            )

    def add(self, texts: Texts) -> None:
        """Add documents in one transaction."""
        rows = [(int(name), text) for name, text in texts]
        self._own.execute("begin")
        self._own.executemany("insert or replace into texts(rowid, text) values (?, ?)", rows)
        self._own.execute("commit")

    def delete(self, name: str) -> None:
        """Delete a document."""
        self._own.execute("delete from texts where rowid = ?", [int(name)])

    def find(self, word: str) -> list[str]:
        """Return the best by BM25."""
        asked = "select rowid from texts where texts match ? order by rank limit 10"
        return [str(number) for (number,) in self._own.execute(asked, [word])]


class Tantivy:
    """An index whose writer stays open."""

    def __init__(self, folder: Path, *, writes: bool) -> None:
        import tantivy

        self._made = tantivy.Document
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("id", stored=True, tokenizer_name="raw")
        schema.add_text_field("text", stored=True, tokenizer_name="en_stem")
        folder.mkdir(exist_ok=True)
        self._index = tantivy.Index(schema.build(), path=str(folder))
        if writes:
            self._writer = self._index.writer(heap_size=100_000_000, num_threads=1)

    def add(self, texts: Texts) -> None:
        """Add documents, and commit."""
        for name, text in texts:
            self._writer.delete_documents_by_term("id", name)
            self._writer.add_document(self._made(id=name, text=text))
        self._writer.commit()

    def delete(self, name: str) -> None:
        """Delete a document, and commit."""
        self._writer.delete_documents_by_term("id", name)
        self._writer.commit()

    def find(self, word: str) -> list[str]:
        """Return the best by BM25."""
        self._index.reload()
        searcher = self._index.searcher()
        hits = searcher.search(self._index.parse_query(word, ["text"]), 10).hits
        return [searcher.doc(address)["id"][0] for _, address in hits]


class LanceDB:
    """A table with a full-text index."""

    def __init__(self, folder: Path, *, writes: bool) -> None:
        import lancedb

        opened = lancedb.connect(folder, read_consistency_interval=None if writes else timedelta(0))
        self._table: Any = None
        with suppress(ValueError):  # it is not there yet
            self._table = opened.open_table("texts")
        self._made = opened.create_table

    def add(self, texts: Texts) -> None:
        """Add documents; the index is made with the first ones."""
        rows = [{"id": name, "text": text} for name, text in texts]
        if self._table is None:
            self._table = self._made("texts", rows)
            return
        merged = self._table.merge_insert("id").when_matched_update_all()
        merged.when_not_matched_insert_all().execute(rows)

    def built(self) -> None:
        """Make the indexes of a collection that is complete."""
        from lancedb.index import FTS, BTree

        self._table.create_index("text", config=FTS())
        self._table.create_index("id", config=BTree())

    def delete(self, name: str) -> None:
        """Delete a document."""
        self._table.delete(f"id = '{int(name)}'")

    def find(self, word: str) -> list[str]:
        """Return the best by BM25; what the index has not yet is searched without it."""
        search = self._table.search(word, query_type="fts").select(["id", "_score"])
        return [row["id"] for row in search.limit(10).to_list()]


class Chroma:
    """A collection with vectors of eight numbers, because it has no ranking by words."""

    def __init__(self, folder: Path, *, writes: bool) -> None:
        import chromadb
        from chromadb.config import Settings

        client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
        made = client.get_or_create_collection if writes else client.get_collection
        self._collection: Any = made("texts", embedding_function=None)
        self._random = np.random.default_rng(0)

    def add(self, texts: Texts) -> None:
        """Add documents."""
        names, contents = zip(*texts, strict=True)
        vectors = self._random.random((len(names), 8), np.float32)
        self._collection.upsert(ids=list(names), documents=list(contents), embeddings=vectors)

    def delete(self, name: str) -> None:
        """Delete a document."""
        self._collection.delete(ids=[name])

    def find(self, word: str) -> list[str]:
        """Return ten documents that contain a word."""
        found = self._collection.get(where_document={"$contains": word}, limit=10, include=[])
        return list(found["ids"])


KINDS: dict[str, Callable[..., Engine]] = {
    "ranklet": Ranklet, "sqlite": SQLite, "tantivy": Tantivy, "lancedb": LanceDB, "chroma": Chroma,
}  # fmt: skip


class Contender:
    """An engine's writer, and its reader in another process.

    Args:
        kind: of the engine.
        folder: where its files are; a collection is built if there are none.
        texts: of that collection.
    """

    def __init__(self, kind: str, folder: Path, texts: Texts) -> None:
        is_new = not folder.exists()
        self._engine = KINDS[kind](folder, writes=True)
        if is_new:
            step = AT_ONCE if kind == "chroma" else len(texts)
            for begin in range(0, len(texts), step):
                self._engine.add(texts[begin : begin + step])
            if isinstance(self._engine, LanceDB):
                self._engine.built()
        self._reader = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.footprint.live_engines", kind, str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.waits("", "", is_there=False)  # it is open

    def waits(self, name: str, word: str, *, is_there: bool) -> float:
        """Return the time at which the reader finds a document by its word, or does not."""
        if self._reader.stdin is None or self._reader.stdout is None:
            raise ValueError("the reader has no pipes")
        print(json.dumps([name, word, is_there]), file=self._reader.stdin, flush=True)
        return float(self._reader.stdout.readline())

    def added(self, new: Sequence[New]) -> tuple[float, float]:
        """Return ms until the other process finds the last of them, and of the processor."""
        texts = [(each.name, each.text) for each in new]
        return self._timed(lambda: self._engine.add(texts), new[-1], is_there=True)

    def deleted(self, old: New) -> tuple[float, float]:
        """Return ms until the other process does not find a document, and of the processor."""
        return self._timed(lambda: self._engine.delete(old.name), old, is_there=False)

    def close(self) -> None:
        """End the reader."""
        self._reader.communicate()

    def _timed(
        self, write: Callable[[], None], changed: New, *, is_there: bool
    ) -> tuple[float, float]:
        begin, used = perf_counter(), process_time()
        write()
        used = process_time() - used
        seen = self.waits(changed.name, changed.word, is_there=is_there)
        return (seen - begin) * 1e3, used * 1e3


def read(kind: str, folder: Path) -> None:
    """Answer each line of a word with the time at which it is there, or is not."""
    engine = KINDS[kind](folder, writes=False)
    for line in sys.stdin:
        name, word, is_there = json.loads(line)
        until = perf_counter() + PATIENCE
        while word and (name in engine.find(word)) != is_there:
            if perf_counter() > until:
                raise TimeoutError(f"{kind} does not see a change")
            sleep(PAUSE)
        print(perf_counter(), flush=True)


def turns(
    contenders: dict[str, Contender], rounds: int, task: Callable[..., Any]
) -> dict[str, Any]:
    """Return what a task has measured by contender; who has had its time takes part no more."""
    found: dict[str, list[Any]] = {name: [] for name in contenders}
    spent, order = dict.fromkeys(contenders, 0.0), np.random.default_rng(0)
    for _ in range(rounds):
        for name in order.permutation(list(contenders)).tolist():
            if spent[name] < MOST_SECONDS:
                begin = perf_counter()
                found[name].append(task(contenders[name]))
                spent[name] += perf_counter() - begin
    return found


def new_texts(texts: Texts) -> Iterator[New]:
    """Yield new documents without end: known texts, each with a word that no other has."""
    number = 10_000_000
    while True:
        for _, text in texts:
            letters = "".join(chr(ord("a") + int(digit)) for digit in str(number))
            word = f"zq{letters}x"  # which no stemmer changes
            yield New(str(number), f"{text} {word}", word)
            number += 1


def main() -> None:
    """Answer the request of `live`, or read as its other process."""
    if len(sys.argv) == 3:
        read(sys.argv[1], Path(sys.argv[2]))
        return
    request = json.loads(Path(sys.argv[1]).read_text())
    texts = [tuple(each) for each in json.loads(Path(request["texts"]).read_text())]
    contenders = {
        name: Contender(kind, Path(folder), texts[:count])
        for name, (kind, folder, count) in request["contenders"].items()
    }
    new = new_texts(texts)

    def add(contender: Contender) -> tuple[float, float]:
        return contender.added([next(new)])

    def add_many(contender: Contender) -> tuple[float, float]:
        return contender.added(list(islice(new, request["batch"])))

    def delete(contender: Contender) -> tuple[float, float]:
        one = next(new)
        contender.added([one])
        return contender.deleted(one)

    tasks = {"warm up": add, "add": add, "delete": delete, "batch": add_many}
    answer: dict[str, Any] = {}
    for task, function in tasks.items():
        answer[task] = turns(contenders, request["rounds"][task], function)
    for each in contenders.values():
        each.close()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
