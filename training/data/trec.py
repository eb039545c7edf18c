"""Judgements (qrels) and runs: the line formats of TREC and BEIR, read strictly, written whole.

    qrels, TREC   qid 0 docid rel               four columns
    qrels, BEIR   qid docid rel                 three columns, after a header line or without one
    run           qid Q0 docid rank score tag   six columns

Columns are parted by any white space, so an id cannot hold any. A name that ends in ``.gz`` is
read and written through gzip. Every error is a CollectionError that names the file and the line.
"""

import contextlib
import gzip
import math
import os
import secrets
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ranklet.runtime.errors import CollectionError

BEIR_HEADER = ["query-id", "corpus-id", "score"]


def read_qrels(path: str | os.PathLike[str]) -> dict[str, dict[str, int]]:
    """Relevance grades by query id and document id, in the order of the file.

    Args:
        path: A TREC or BEIR file, ``.gz`` or not; its first line decides which of the two it is.

    Raises:
        CollectionError: The file cannot be read, a line has the wrong number of columns or a grade
            that is no integer, or one pair is judged twice with different grades.
    """
    qrels: dict[str, dict[str, int]] = {}
    width = 0
    for number, line in read_lines(path):
        fields = line.split()
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
        query, document = fields[0], fields[-2]
        try:
            grade = int(fields[-1])
        except ValueError:
            raise CollectionError(
                f"{path}:{number}: relevance {fields[-1]!r}, expected an integer "
                f"(the only header allowed is {' '.join(BEIR_HEADER)!r}, on the first line)"
            ) from None
        earlier = qrels.setdefault(query, {}).setdefault(document, grade)
        if earlier != grade:
            raise CollectionError(
                f"{path}:{number}: query {query!r} and document {document!r} are judged {grade} "
                f"here and {earlier} above; keep one of the two lines"
            )
    return qrels


def write_qrels(path: str | os.PathLike[str], qrels: Mapping[str, Mapping[str, int]]) -> None:
    """Write judgements in TREC form; the file appears whole or not at all.

    A query without judgements has no line, so reading back leaves it out.

    Raises:
        CollectionError: An id is empty or holds white space, or the file cannot be written.
    """

    def lines() -> Iterator[str]:
        for query, judged in qrels.items():
            check_id(query, f"{path}: query id")
            for document, grade in judged.items():
                check_id(document, f"{path}: document id")
                yield f"{query} 0 {document} {int(grade)}\n"

    write_lines(path, lines())


def read_run(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """Scores by query id and document id, in the order of the file; the rank column is not used.

    Raises:
        CollectionError: The file cannot be read, a line has not six columns, a score is no finite
            number, or a query lists a document twice.
    """
    run: dict[str, dict[str, float]] = {}
    for number, line in read_lines(path):
        fields = line.split()
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
                f"{path}:{number}: query {query!r} lists document {document!r} a second time"
            )
        run[query][document] = score
    return run


def write_run(
    path: str | os.PathLike[str], run: Mapping[str, Sequence[tuple[str, float]]], tag: str
) -> None:
    """Write a run in TREC form; the file appears whole or not at all.

    Scores are written so that they read back equal as float64.

    Args:
        path: Where to write; gzip if it ends in ``.gz``.
        run: By query id, (document id, score) from the best to the worst. Ranks count from 1.
        tag: The name of the system, one word.

    Raises:
        CollectionError: An id or the tag is empty or holds white space, a score is not finite or
            higher than the one above it, a query lists a document twice, or the file cannot be
            written.
    """
    check_id(tag, f"{path}: tag")

    def lines() -> Iterator[str]:
        for query, hits in run.items():
            check_id(query, f"{path}: query id")
            seen: set[str] = set()
            above = math.inf
            for rank, (document, number) in enumerate(hits, start=1):
                check_id(document, f"{path}: document id")
                score = float(number)
                where = f"{path}: query {query!r}, rank {rank}, document {document!r}"
                if not math.isfinite(score):
                    raise CollectionError(f"{where}: score {score}, expected a finite number")
                # Evaluators sort by score and ignore the rank, so the two must not disagree.
                if score > above:
                    raise CollectionError(
                        f"{where}: score {score} is higher than {above} above it; "
                        "sort the hits from the best to the worst"
                    )
                if document in seen:
                    raise CollectionError(f"{where}: this document was listed before")
                seen.add(document)
                above = score
                yield f"{query} Q0 {document} {rank} {score!r} {tag}\n"

    write_lines(path, lines())


def check_id(value: str, what: str) -> None:
    """Refuse an id that a line of columns cannot carry.

    Raises:
        CollectionError: The id is empty, holds white space or cannot be written as UTF-8.
    """
    if value.split() != [value]:
        raise CollectionError(f"{what} {value!r}, expected one word without white space")
    check_text(value, what)


def check_text(value: str, what: str) -> None:
    r"""Refuse text that UTF-8 cannot hold: JSON can smuggle in half a character as ``\ud83d``.

    Raises:
        CollectionError: The text holds a lone surrogate.
    """
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise CollectionError(
            f"{what} holds a lone surrogate (half a character) at position {error.start}; "
            "replace it, for example by U+FFFD"
        ) from None


def read_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Lines of a UTF-8 file with their numbers from 1, one at a time; ``.gz`` is unpacked.

    Raises:
        CollectionError: The file cannot be opened, is not UTF-8, or its gzip data are damaged or
            cut short.
    """
    number = 0
    try:
        with gzip.open(path) if Path(path).suffix == ".gz" else Path(path).open("rb") as file:
            # Binary iteration parts lines at \n alone; str.splitlines would also part them at
            # characters such as U+2028, which JSON strings may hold.
            for number, line in enumerate(file, start=1):
                # Some Windows editors start a file with a byte order mark.
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise CollectionError(
            f"{path}:{number}: byte {error.start + 1} of the line is not UTF-8 ({error.reason}); "
            "convert the file to UTF-8"
        ) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CollectionError(
            f"{path}:{number + 1}: damaged or incomplete gzip data ({error}); fetch the file again"
        ) from None
    except OSError as error:
        raise CollectionError(f"{path}: cannot be read ({error.strerror or error})") from error


def write_lines(path: str | os.PathLike[str], lines: Iterable[str]) -> None:
    """Write text under a temporary name beside the target, then rename it; ``.gz`` is packed.

    Raises:
        CollectionError: The file cannot be written.
    """
    target = Path(path)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    data = (line.encode() for line in lines)
    try:
        with partial.open("xb") as file:
            if target.suffix == ".gz":
                # No name and no time of writing inside: equal lines give equal files.
                with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                    packed.writelines(data)
            else:
                file.writelines(data)
        partial.replace(target)
    except OSError as error:
        raise CollectionError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
