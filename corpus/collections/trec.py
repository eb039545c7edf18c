"""Read and write judgements (qrels) and runs in the line formats of TREC and BEIR.

    qrels, TREC   qid 0 docid rel               four columns
    qrels, BEIR   qid docid rel                 three columns, with or without a header line
    run           qid Q0 docid rank score tag   six columns

ASCII white space separates the columns. Those of judgements may have tabs between them, and then
an id may contain blanks, as names of files do, also at its ends. Files whose name ends in ``.gz``
are read and written through gzip. Every error is a CollectionError that names the file and the
line.
"""

import contextlib
import gzip
import math
import os
import re
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from ranklet.corpus.collections.bounds import LONGEST
from ranklet.runtime.ground.errors import CollectionError
from ranklet.runtime.ground.options import as_list
from ranklet.runtime.storage.address import writable
from ranklet.runtime.writing.syncing import sync_file, sync_folder

BEIR_HEADER = ["query-id", "corpus-id", "score"]
_BETWEEN = re.compile(r"[\t\r\n]")  # what separates columns and lines
_WORD = re.compile(r"[^ \t\r\n\f\v]+")
_GRADE = re.compile(r"[+-]?[0-9]{1,9}")  # trec_eval has 32 bits for it


def read_qrels(path: str | os.PathLike[str]) -> dict[str, dict[str, int]]:
    """Return relevance grades by query id and document id, in the order of the file.

    Args:
        path: a TREC or BEIR file, ``.gz`` or not. Its first line determines the format.

    Raises:
        CollectionError: the file cannot be read, a line has the wrong number of columns or a grade
            that is not an integer of at most 9 digits, or one pair is judged twice with different
            grades.
    """
    qrels: dict[str, dict[str, int]] = {}
    width = 0
    for number, line in read_lines(path):
        fields = _columns(line)
        if not fields:
            continue
        if not width and len(fields) in (3, 4):
            width = len(fields)
            if fields == BEIR_HEADER:
                continue
        if len(fields) != width:
            wanted = {
                0: "4 columns (qid 0 docid rel) or 3 (qid docid rel)",
                3: "3 columns (qid docid rel), as on the first line",
                4: "4 columns (qid 0 docid rel), as on the first line",
            }[width]
            raise CollectionError(f"{path}:{number}: {len(fields)} columns, expected {wanted}")
        query, document, grade_text = fields[0], fields[-2], fields[-1].strip()
        if not _GRADE.fullmatch(grade_text):
            raise CollectionError(
                f"{path}:{number}: relevance {fields[-1]!r:.40}, expected an integer of at most 9 "
                f"digits (only the first line may be a header, {' '.join(BEIR_HEADER)!r})"
            )
        grade = int(grade_text)
        earlier = qrels.setdefault(query, {}).setdefault(document, grade)
        if earlier != grade:
            raise CollectionError(
                f"{path}:{number}: query {query!r} and document {document!r} are judged {grade} "
                f"here and {earlier} above; keep one of the two lines"
            )
    return qrels


def write_qrels(path: str | os.PathLike[str], qrels: Mapping[str, Mapping[str, int]]) -> None:
    """Write judgements in TREC form; the file appears complete or not at all.

    A query without judgements has no line, so `read_qrels` does not return it. A line whose ids
    contain blanks has tabs between its columns, which other programs may not read.

    Raises:
        CollectionError: an id is wrong, see `check_id`, a grade is no whole number or has more than
            9 digits, or the file cannot be written.
    """

    def lines() -> Iterator[str]:
        for query, judged in qrels.items():
            check_id(query, f"{path}: query id")
            for document, grade in judged.items():
                check_id(document, f"{path}: document id")
                shown = str(int(grade) if isinstance(grade, bool) else grade).removesuffix(".0")
                if not _GRADE.fullmatch(shown):
                    raise CollectionError(
                        f"{path}: query {query!r} and document {document!r} have the grade "
                        f"{grade}, expected an integer of at most 9 digits"
                    )
                between = " " if _is_word(query) and _is_word(document) else "\t"
                yield between.join((query, "0", document, f"{int(shown)}\n"))

    write_lines(path, lines())


def read_run(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """Return scores by query id and document id, in file order; the rank column is not used.

    Raises:
        CollectionError: the file cannot be read, a line does not have six columns, a score is not a
            finite number, or a query lists a document twice.
    """
    run: dict[str, dict[str, float]] = {}
    for number, line in read_lines(path):
        fields = _WORD.findall(line)
        if not fields:
            continue
        if len(fields) != 6:
            raise CollectionError(
                f"{path}:{number}: {len(fields)} columns, expected 6 (qid Q0 docid rank score tag)"
            )
        query, document = fields[0], fields[2]
        try:
            score = float(fields[4])
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise CollectionError(f"{path}:{number}: score {fields[4]!r}, expected a finite number")
        if document in run.setdefault(query, {}):
            raise CollectionError(
                f"{path}:{number}: query {query!r} lists document {document!r} twice"
            )
        run[query][document] = score
    return run


def write_run(
    path: str | os.PathLike[str], run: Mapping[str, Sequence[tuple[str, float]]], tag: str
) -> None:
    """Write a run in TREC form; the file appears complete or not at all.

    Reading the file back gives equal float64 scores.

    Args:
        path: the file to write, with gzip if it ends in ``.gz``.
        run: (document id, score) from best to worst, by query id. Ranks count from 1.
        tag: the name of the system, one word.

    Raises:
        CollectionError: an id or the tag is empty or contains white space, a score is not finite or
            is higher than the one above it, a query lists a document twice, or the file cannot be
            written.
    """
    _check_word(tag, f"{path}: tag")  # also of an empty run
    lines = (run_lines(path, query, hits, tag) for query, hits in run.items())
    write_lines(path, chain.from_iterable(lines))


def run_lines(
    path: str | os.PathLike[str], query: str, hits: Sequence[tuple[str, float]], tag: str
) -> Iterator[str]:
    """Yield the lines of one query in a run; arguments and errors are those of `write_run`."""
    _check_word(tag, f"{path}: tag")
    _check_word(query, f"{path}: query id")
    seen: set[str] = set()
    above = math.inf
    pairs = as_list(hits, f"the hits of query {query!r}", "give (document id, score), best first")
    for rank, (document, number) in enumerate(pairs, start=1):
        _check_word(document, f"{path}: document id")
        score = float(number)
        where = f"{path}: query {query!r}, rank {rank}, document {document!r}"
        if not math.isfinite(score):
            raise CollectionError(f"{where}: score {score}, expected a finite number")
        # Evaluators sort by score and ignore the rank, so both must agree.
        if score > above:
            raise CollectionError(
                f"{where}: score {score} is higher than {above} above it; "
                "sort the hits from the best to the worst"
            )
        if document in seen:
            raise CollectionError(f"{where}: this query lists the document twice")
        seen.add(document)
        above = score
        yield f"{query} Q0 {document} {rank} {score!r} {tag}\n"


def check_id(value: str, what: str) -> None:
    """Reject an id that cannot be written into a column of judgements.

    Raises:
        CollectionError: the id is no text, is empty, contains a tab or a line break, or cannot be
            written as UTF-8.
    """
    expected = "a text without tabs and line breaks"
    _check(value, what, is_id(value), expected)


def is_id(value: str) -> bool:
    """Return whether an id can stand between tabs."""
    return isinstance(value, str) and value != "" and not _BETWEEN.search(value)


def _check_word(value: str, what: str) -> None:
    expected = "one word without white space, which separates the columns of a run"
    _check(value, what, _is_word(value), expected)


def _check(value: str, what: str, fits: bool, expected: str) -> None:
    if not fits:
        raise CollectionError(f"{what} {value!r}, expected {expected}")
    check_text(value, what)


def _is_word(value: str) -> bool:
    return isinstance(value, str) and value.split() == [value]


def _columns(line: str) -> list[str]:
    tabbed = line.rstrip("\r\n").split("\t")
    return tabbed if len(tabbed) in (3, 4) and all(tabbed) else _WORD.findall(line)


def check_text(value: str, what: str) -> None:
    r"""Reject text that UTF-8 cannot encode, because a JSON escape may be half a character, \ud83d.

    Raises:
        CollectionError: the text contains a lone surrogate.
    """
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise CollectionError(
            f"{what} contains a lone surrogate (half a character) at position {error.start}; "
            "replace it, for example by U+FFFD"
        ) from None


def read_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 file, ``.gz`` or not, with their numbers from 1.

    Raises:
        CollectionError: the file cannot be opened, is not UTF-8, or its gzip data are damaged or
            truncated.
    """
    number = 0
    try:
        with gzip.open(path) if Path(path).suffix == ".gz" else Path(path).open("rb") as file:
            # Binary iteration splits lines only at \n. str.splitlines would also split them at
            # characters such as U+2028, which JSON strings may contain.
            for number, line in enumerate(iter(partial(file.readline, LONGEST + 1), b""), start=1):
                if len(line) > LONGEST:
                    raise CollectionError(
                        f"{path}:{number} has more than {LONGEST:,} bytes in one line"
                    )
                # Some Windows editors begin a file with a byte order mark.
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise CollectionError(
            f"{path}:{number}: byte {error.start + 1} of the line is not UTF-8 ({error.reason}); "
            "convert the file to UTF-8"
        ) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CollectionError(
            f"{path}:{number + 1}: damaged or truncated gzip data ({error}); fetch the file again"
        ) from None
    except OSError as error:
        raise CollectionError(f"{path}: cannot be read ({error.strerror or error})") from error


def write_lines(path: str | os.PathLike[str], lines: Iterable[str]) -> None:
    """Write text to a temporary file in the same folder, ``.gz`` or not, and rename it.

    Raises:
        CollectionError: the file cannot be written.
    """
    with line_writer(path) as write:
        write(lines)


@contextlib.contextmanager
def line_writer(path: str | os.PathLike[str]) -> Iterator[Callable[[Iterable[str]], None]]:
    """Give a function that writes lines as `write_lines` does, and may be called repeatedly.

    The file appears when the context ends. After an error there is none.

    Raises:
        CollectionError: the file cannot be written.
    """
    target = writable(path)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    files = contextlib.ExitStack()
    try:
        with _writing(path):
            file = files.enter_context(partial.open("xb"))
            files.callback(sync_file, file)
            put: Callable[[Iterable[bytes]], None] = file.writelines
            if target.suffix == ".gz":
                # Without a name and a time inside, equal lines give equal files.
                packed = gzip.GzipFile("", "wb", 6, file, mtime=0)
                put = files.enter_context(packed).writelines

        def write(lines: Iterable[str]) -> None:
            with _writing(path):
                put(line.encode() for line in lines)

        yield write
        with _writing(path):
            files.close()
            partial.replace(target)
            sync_folder(target.parent)
    finally:
        with contextlib.suppress(OSError):
            files.close()
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


@contextlib.contextmanager
def _writing(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CollectionError(f"{path}: cannot be written ({error.strerror or error})") from error
