"""Read the texts of queries that people have, without ids and judgements."""

from pathlib import Path

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.opening import format_suffix, lines, open_text
from ranklet.corpus.collections.topics import are_topics, topics_in
from ranklet.corpus.sources.cells import Bad, is_decoded, not_decoded
from ranklet.corpus.sources.json_files import read_json_lines
from ranklet.runtime.ground.errors import CollectionError

JSON_LINES = (".jsonl", ".ndjson")
TABLES = (".csv", ".tsv", ".tab", ".json", ".parquet", ".xlsx")

LEARNED = "train"  # the split from whose queries anything may learn


def read_query_texts(path: str | Path) -> list[str]:
    """Return the queries of a file: one per line, the ``text`` of JSON Lines, or TREC topics.

    The file's ending or its begin tells which; .gz or .zst may follow the ending. Empty lines are
    left out. A pipe is read, too, because it is read once.

    Raises:
        CollectionError: the file cannot be read, is a table, or has no query.
    """
    path = Path(path)
    if path.is_dir() or not path.exists():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise CollectionError(f"{path} {what}; give a file with one query per line")
    if format_suffix(path) in TABLES:
        raise CollectionError(
            f"{path} is a table; give a text with one query per line, or JSON Lines with a text"
        )
    if format_suffix(path) in JSON_LINES:
        texts = _of_json_lines(path)
    else:
        with open_text(path, "utf-8") as file:
            texts = [line.strip() for line in lines(path, file)]
        if are_topics(whole := "\n".join(texts)):
            texts = [title for _, title in topics_in(whole, str(path))]
    bad = next((text for text in texts if not is_decoded(text)), None)
    if bad is not None:
        found = not_decoded(str(path), bad).found
        raise CollectionError(f"{path} is not UTF-8 ({found}); save it as UTF-8")
    texts = [text for text in texts if text.strip()]
    if not texts:
        raise CollectionError(f"{path} has no query; give a file with one query per line")
    return texts


def queries_to_learn(path: str | Path) -> list[str]:
    """Return the queries of the split train of a folder of judged queries; none of other paths.

    Raises:
        CollectionError: a file is malformed.
    """
    if not Path(path).is_dir():
        return []
    collection = Collection(path, documents=False)
    known = LEARNED in collection.splits()
    return [query.text for query in collection.queries(LEARNED)] if known else []


def _of_json_lines(path: Path) -> list[str]:
    texts = []
    for record in read_json_lines(path, "utf-8"):
        if isinstance(record, Bad):
            raise CollectionError(f"{record.place}: {record.found}")
        text = record.fields.get("text")
        if not isinstance(text, str):
            raise CollectionError(f'{record.place}: a query needs a text, as in {{"text": "…"}}')
        texts.append(text)
    return texts
