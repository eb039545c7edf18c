"""Judgements that a person makes, in a collection folder that is saved after every mark."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count, zip_longest
from pathlib import Path

from ranklet.corpus.collections.collection import (
    QRELS,
    SPLIT_NAME,
    SPLIT_QUERIES,
    Collection,
    Document,
    Query,
    is_collection,
    record_lines,
    write_collection,
)
from ranklet.corpus.collections.trec import read_qrels, write_lines, write_qrels
from ranklet.runtime.ground.errors import CollectionError, InputError
from ranklet.runtime.storage.address import writable
from ranklet.runtime.writing.locks import locked

GRADES = range(4)  # not relevant, and relevant in three degrees


class Marks:
    """The judgements of one split.

    Args:
        folder: a collection of the same documents, or a folder that does not exist yet.
        documents: the documents, which are read once.
        texts: the queries. Those that the split already has keep their ids and judgements.
        split: the split's name.

    Attributes:
        folder: the collection.
        split: the name of its split.
        queries: the queries to judge, in the order of `texts`, each once.

    Raises:
        InputError: the split's name is not allowed.
        CollectionError: the folder is no collection, has other documents, or cannot be written.
    """

    def __init__(
        self, folder: Path, documents: Iterable[Document], texts: Sequence[str], split: str
    ) -> None:
        if not SPLIT_NAME.fullmatch(split):
            raise InputError(
                f"split {split!r}: use only letters, digits, _ and -, such as train or test"
            )
        self.folder, self.split = writable(folder), split
        folder = self.folder
        if not folder.exists():
            write_collection(folder, documents, {})
        elif not is_collection(folder):
            raise CollectionError(
                f"{folder} exists and is no collection, because it has no corpus.jsonl; choose "
                "another folder"
            )
        else:
            _check_documents(Collection(folder), documents)
        self._qrels = folder / QRELS[0].format(split)
        with self._alone():
            self.queries = self._add(texts)

    def grades(self) -> dict[str, dict[str, int]]:
        """Return the judgements on disk by query and document; those above 0 are relevant."""
        return read_qrels(self._qrels)

    def mark(self, query: str, grades: Mapping[str, int | None], *, keep: bool = False) -> None:
        """Change the grades of some documents for a query and save; None removes a judgement.

        With `keep`, documents that are judged already keep their grades.

        Raises:
            InputError: the query is unknown, or a grade is not 0, 1, 2, 3 or None.
            CollectionError: the judgements cannot be written.
        """
        if query not in {each.id for each in self.queries}:
            raise InputError(f"unknown query {query[:80]!r}; the first is {self.queries[0].id!r}")
        for grade in grades.values():
            if grade is not None and grade not in GRADES:
                raise InputError(f"a grade is {grade!r}; it must be 0, 1, 2, 3 or null")
        # The file is read again, so that nobody's marks are lost.
        with self._alone():
            saved = self.grades()
            earlier = saved.get(query, {})
            marked: dict[str, int | None] = {**earlier, **grades, **(earlier if keep else {})}
            saved[query] = {name: grade for name, grade in marked.items() if grade is not None}
            write_qrels(self._qrels, saved)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let nobody else change the judgements.

        Raises:
            CollectionError: their folder cannot be written.
        """
        with ExitStack() as held:
            try:
                held.enter_context(locked(self._qrels))
            except OSError as error:
                raise CollectionError(f"{self._qrels} cannot be written: {error}") from error
            yield

    def _add(self, texts: Sequence[str]) -> list[Query]:
        """Add new queries to the split; return the queries with the given texts.

        A query has the id that it has in another split, and no two queries have one id.
        """
        collection = Collection(self.folder)
        known, grades = [], {}
        if self.split in collection.splits():
            known, grades = collection.queries(self.split), collection.qrels(self.split)
        by_text = {each.text: each for each in known}
        ids = {each.id for each in known} | set(grades)
        by_id = {each.id: each for each in collection.every_query()}
        elsewhere = {each.text: each for each in by_id.values() if each.id not in ids}
        ids |= by_id.keys()
        free = (name for number in count(1) if (name := f"q{number}") not in ids)
        for text in texts:
            if text not in by_text:
                by_text[text] = elsewhere.get(text) or Query(next(free), text)
                known.append(by_text[text])
        queries = self.folder / SPLIT_QUERIES[0].format(self.split)
        write_lines(queries, record_lines(known, "query"))
        write_qrels(self._qrels, grades)
        return [by_text[text] for text in dict.fromkeys(texts)]


def _check_documents(collection: Collection, documents: Iterable[Document]) -> None:
    """Raise CollectionError unless a collection has exactly some documents, but for white space."""
    for number, (there, ours) in enumerate(zip_longest(collection.documents(), documents), 1):
        if _essence(there) != _essence(ours):
            found, wanted = (each.id if each else "missing" for each in (there, ours))
            what = f"{found} there and {wanted} in the bundle"
            if found == wanted:
                what = f"{found}, with another title or text than in the bundle"
            raise CollectionError(
                f"{collection.path} has other documents than the bundle: document {number:,} is "
                f"{what}. Choose another folder, or the bundle of these documents"
            )


def _essence(document: Document | None) -> tuple[str, ...]:
    """Return the words of the fields; white space between passages is not kept in a bundle."""
    return tuple(" ".join(each.split()) for each in document[:3]) if document else ()
