"""Collections, judgements and sources that cannot be used."""

from operator import attrgetter

from tests.journeys.bad_inputs.files import (
    GOOD,
    QUERIES,
    Maker,
    corpus,
    file,
    folder,
    judged,
    packed_corpus,
)
from tests.journeys.bad_inputs.running import Case, cli

OUT, COLLECTION, BUNDLE = attrgetter("out"), attrgetter("collection"), attrgetter("bundle")


def training(area: str, name: str, words: str, source: Maker, *options: str) -> Case:
    return cli(area, name, 1, words, "train", "bm25", source, "-o", OUT, *options)


def building(name: str, words: str, source: Maker, *options: str) -> Case:
    return cli("sources", name, 1, words, "build", source, "-o", OUT, *options)


def _collection(name: str, words: str, source: Maker) -> Case:
    return training("collections", name, words, source)


def _judgement(name: str, words: str, source: Maker, *options: str) -> Case:
    return training("judgements", name, words, source, *options)


COLLECTIONS = [
    _collection("the folder does not exist", "no folder", lambda place: place.folder / "nothing"),
    _collection("a file is given", "no folder", file("corpus.jsonl", GOOD)),
    _collection("the folder has no corpus", "no corpus", folder(notes__txt="x")),
    _collection("the corpus is empty", "no document", corpus("")),
    _collection("the corpus has only blank lines", "no document", corpus("\n \n\t\n")),
    _collection("an id occurs twice", "occurs twice", corpus(GOOD + GOOD)),
    _collection("a line is not JSON", "not JSON", corpus(GOOD + "{oops\n")),
    _collection("a line is cut off", "not JSON", corpus(GOOD + '{"_id": "c", "te')),
    _collection("a line is a list", "expected an object", corpus("[1, 2]\n")),
    _collection("a line is nested without end", "not JSON", corpus("[" * 100_000 + "\n")),
    _collection("an id is missing", "missing or null", corpus('{"text": "x"}\n')),
    _collection("an id is NaN", "of type float", corpus('{"_id": NaN, "text": "x"}\n')),
    _collection("an id is empty", "without tabs", corpus('{"_id": "", "text": "x"}\n')),
    _collection("a text is missing", "the text is missing", corpus('{"_id": "a"}\n')),
    _collection("a text is NaN", "of type float", corpus('{"_id": "a", "text": NaN}\n')),
    _collection(
        "a title is a list", "the title is", corpus('{"_id": "a", "text": "", "title": []}\n')
    ),
    _collection("half a character", "surrogate", corpus('{"_id": "a", "text": "\\ud83d"}\n')),
    _collection("the corpus is not UTF-8", "is not UTF-8", corpus(b'{"_id": "a\xff", "text": ""}')),
    _collection("the compressed corpus is cut off", "truncated", packed_corpus),
]

JUDGEMENTS = [
    _judgement("the split does not exist", "no split 'dev'", COLLECTION, "--split", "dev"),
    _judgement("a split is malformed", "percentage", COLLECTION, "--split", "train[90%:"),
    _judgement("a part of a split is empty", "percentage", COLLECTION, "--split", "train[9%:9%]"),
    _judgement("a part ends behind 100 %", "percentage", COLLECTION, "--split", "train[:200%]"),
    _judgement("the judgements are empty", "no query with a relevant", judged("")),
    _judgement("no grade is above 0", "no query with a relevant", judged("q 0 a 0\n")),
    _judgement("a grade is a word", "expected an integer", judged("q 0 a relevant\n")),
    _judgement("a grade is a fraction", "expected an integer", judged("q 0 a 0.5\n")),
    _judgement("a grade is NaN", "expected an integer", judged("q 0 a nan\n")),
    _judgement("a grade has 30 digits", "at most 9 digits", judged(f"q 0 a {'9' * 30}\n")),
    _judgement("a line has two columns", "2 columns", judged("q a\n")),
    _judgement("lines have different columns", "3 columns", judged("q 0 a 1\nq b 1\n")),
    _judgement("a pair has two grades", "judged 2", judged("q 0 a 1\nq 0 a 2\n")),
    _judgement("judgements are not UTF-8", "is not UTF-8", judged(b"q 0 \xff 1\n")),
    _judgement(
        "most relevant documents do not exist",
        "2 of 3 relevant documents",
        judged("q 0 a 1\nq 0 x 1\nq 0 y 1\n"),
    ),
    _judgement("a query has no text", "is empty", judged("q 0 a 1\n", '{"_id": "q", "text": " "}')),
    _judgement("a query occurs twice", "occurs twice", judged("q 0 a 1\n", QUERIES * 2)),
    _judgement("no judged query has a text", "no query with a relevant", judged("other 0 a 1\n")),
    _judgement(
        "the judgements are missing",
        "no qrels",
        folder(corpus__jsonl=GOOD, queries__train__jsonl=QUERIES),
    ),
    _judgement(
        "the queries are missing",
        "no queries",
        folder(corpus__jsonl=GOOD, qrels__train__txt="q 0 a 1\n"),
    ),
    cli(
        "judgements",
        "a few judged documents do not exist",
        0,
        ("warning: of the 3 judged documents", "the first is 'gone', judged for query 'q'"),
        *("train", "bm25", judged("q 0 a 1\nq 0 b 1\nq 0 gone 1\n"), "-o", OUT),
    ),
    cli(
        "judgements",
        "judged queries have no text",
        0,
        ("warning: 2 queries of 'train' are judged and have no text", "the first is 'q1'"),
        *("train", "bm25", judged("q 0 a 1\nq1 0 a 1\nq2 0 a 1\n"), "-o", OUT),
    ),
    cli(
        "judgements",
        "another collection's judgements",
        1,
        "relevant documents of 'train' are not in the bundle",
        *("eval", BUNDLE, judged("q 0 a 1\n"), "--split", "train"),
    ),
    cli(
        "judgements",
        "a search learns from another collection's judgements",
        1,
        "relevant document that the bundle has",
        *("learn", BUNDLE, judged("q 0 a 1\n"), "-o", OUT),
    ),
]

SOURCES = [
    building("the source does not exist", "does not exist", lambda place: place.folder / "no.csv"),
    building("the folder is empty", "no file that can be read", folder()),
    building("a file of an unknown kind", "format", file("texts.xyz", "some text")),
    building("a picture", "", file("texts.txt", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00")),
    building("a table is empty", "", file("t.csv", "")),
    building("a table has only a header", "no document", file("t.csv", "id,text\n")),
    building("a column does not exist", "'body'", file("t.csv", "id,text\n1,x\n"),
             "--text-column", "body"),
    building("all texts are empty", "cannot be used", file("t.csv", "id,text\n1,\n2,\n")),
    building("ids occur twice", "cannot be used", file("t.csv", "id,text\n1,x\n1,y\n")),
    building("a table is not UTF-8", "pass --encoding", file("t.csv", b"id,text\n1,caf\xe9\n")),
    building("an encoding is unknown", "unknown encoding", file("t.csv", "id,text\n1,x\n"),
             "--encoding", "utf-9"),
    building("a Parquet file is garbage", "arquet", file("t.parquet", b"PAR1 nothing")),
    building("a spreadsheet", "Office file", file("t.csv", b"PK\x03\x04 a sheet")),
    building("compressed data are garbage", "", file("t.csv.zst", b"nothing")),
    building("JSON is a number", "", file("t.json", "3")),
    building("JSON Lines are cut off", "", file("t.jsonl", '{"text": "x"}\n{"text": ')),
    building("passages overlap too much", "overlap_words", COLLECTION,
             "--passage-words", "10", "--overlap-words", "9"),
    cli("sources", "passages are shorter than nothing", 2, "passage",
        *("build", COLLECTION, "-o", OUT, "--passage-words", "-1")),
    cli("sources", "the format is unknown", 2, "format",
        *("build", COLLECTION, "-o", OUT, "--format", "docx")),
]  # fmt: skip
