"""Add a query log to the documents, each with the queries of the people who then read it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from ranklet.corpus.collections.collection import Collection, Document
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.judgements.judgements import check_judgements
from ranklet.runtime.ground.errors import InputError


class LoggedCollection(Collection):
    """A collection whose documents have the queries of a log; see `with_query_log`.

    Raises:
        CollectionError: the folder, its documents or the split do not exist.
        InputError: most documents of the log do not exist.
    """

    def __init__(self, path: str | Path, split: str) -> None:
        super().__init__(path)
        self._split, plain = split, Collection(path)
        # Warns of what the log has and the collection lacks, which adds nothing.
        check_judgements(plain, [split], plain.lacking, str(self.path))

    def documents(self) -> Iterator[Document]:
        """Yield every document with the queries that led to it."""
        clicked: dict[str, list[str]] = defaultdict(list)  # query texts by document id
        texts = {query.id: query.text for query in self.queries(self._split)}
        for query, grades in self.qrels(self._split).items():
            for name, grade in grades.items():
                if grade > 0 and query in texts:
                    clicked[name].append(texts[query])
        for document in super().documents():
            yield document._replace(text="\n".join([document.text, *clicked.get(document.id, ())]))


def with_query_log(
    collection: Collection, split: str, others: Iterable[JudgedQuery]
) -> Iterator[Document]:
    """Yield the documents, each with the log's queries that led to it appended to its text.

    This is how Mitra et al. (§4) add ORCAS, by concatenating fields. If the log shares queries with
    training or evaluation, it reveals the answers.

    Args:
        collection: the documents.
        split: the log, a split of the collection whose judgements above 0 are the clicks.
        others: the queries of training and evaluation, none of which may be in the log.

    Raises:
        CollectionError: there is no such split.
        InputError: one of `others` is in the log, or most of its documents do not exist.
    """
    logged = {query.id for query in collection.queries(split)}
    shared = sum(query.id in logged for query in others)
    if shared:
        raise InputError(
            f"{shared:,} training or tuning queries are in the query log {split!r}, which would "
            "reveal their answers; use another split"
        )
    return LoggedCollection(collection.path, split).documents()
