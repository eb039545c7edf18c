"""Collections, judgements and sources that cannot be used."""

from operator import attrgetter

from tests.journeys.bad_inputs.files import GOOD, Maker, corpus, file, judged, packed_corpus
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
    _collection("an id occurs twice", "occurs twice", corpus(GOOD + GOOD)),
    _collection("a line is not JSON", "not JSON", corpus(GOOD + "{oops\n")),
    _collection("the corpus is not UTF-8", "is not UTF-8", corpus(b'{"_id": "a\xff", "text": ""}')),
    _collection("the compressed corpus is cut off", "truncated", packed_corpus),
]

JUDGEMENTS = [
    _judgement("a split is malformed", "percentage", COLLECTION, "--split", "train[90%:"),
    _judgement("the judgements are empty", "no query with a relevant", judged("")),
    _judgement("a line has two columns", "2 columns", judged("q a\n")),
    _judgement("lines have different columns", "3 columns", judged("q 0 a 1\nq b 1\n")),
    _judgement("a pair has two grades", "judged 2", judged("q 0 a 1\nq 0 a 2\n")),
    _judgement("judgements are not UTF-8", "is not UTF-8", judged(b"q 0 \xff 1\n")),
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
    building("a file of an unknown kind", "format", file("texts.xyz", "some text")),
    building("a column does not exist", "'body'", file("t.csv", "id,text\n1,x\n"),
             "--text-column", "body"),
    building("a table is not UTF-8", "pass --encoding", file("t.csv", b"id,text\n1,caf\xe9\n")),
    building("passages overlap too much", "overlap_words", COLLECTION,
             "--passage-words", "10", "--overlap-words", "9"),
    cli("sources", "passages are shorter than nothing", 2, "passage",
        *("build", COLLECTION, "-o", OUT, "--passage-words", "-1")),
    cli("sources", "the format is unknown", 2, "format",
        *("build", COLLECTION, "-o", OUT, "--format", "docx")),
]  # fmt: skip
