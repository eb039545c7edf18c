"""A query log as one more field of the documents: what people asked who then read them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from ranklet.runtime.errors import InputError
from ranklet.training.data.collection import Collection, Document
from ranklet.training.data.splits import JudgedQuery


def with_query_log(
    collection: Collection, split: str, others: Iterable[JudgedQuery] = ()
) -> Iterator[Document]:
    """Yield the documents, the queries of a log that led to each behind their texts.

    So paper 002 (§4) adds ORCAS: fields are simply concatenated. A log whose queries are also
    learned from or measured on gives the answer away.

    Args:
        collection: the documents.
        split: of the collection, whose judgements above 0 are the clicks.
        others: queries that are learned from or measured on, none of which may be in the log.

    Raises:
        CollectionError: there is no such split.
        InputError: one of the others is in it.
    """
    logged = {query.id for query in collection.queries(split)}
    shared = sum(query.id in logged for query in others)
    if shared:
        raise InputError(
            f"{shared:,} queries that are learned from or tuned on are in the log {split!r}: "
            "it would give their answers away; give another split"
        )
    return _with_queries(collection, split)


def _with_queries(collection: Collection, split: str) -> Iterator[Document]:
    texts = {query.id: query.text for query in collection.queries(split)}
    asked: dict[str, list[str]] = defaultdict(list)
    for query, grades in collection.qrels(split).items():
        for document, grade in grades.items():
            if grade > 0 and query in texts:
                asked[document].append(texts[query])
    for each in collection.documents():
        yield each._replace(text="\n".join([each.text, *asked.get(each.id, ())]))
