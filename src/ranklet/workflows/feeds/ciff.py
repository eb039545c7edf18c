"""Write the words of a collection in the Common Index File Format, for Lucene, PISA and others.

Source: Lin et al. 2020, "Supporting Interoperability Between Open-Source Search Engines with the
Common Index File Format" (arXiv 2003.08276). A file is a header, a message per term in the order of
terms, and a message per document, each after its length, in the wire format of protocol buffers.
"""

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.errors import BuildError
from ranklet.corpus.progress import progress
from ranklet.runtime.bundles.additions import refuse_additions
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.storage.address import BundleLike
from ranklet.runtime.writing.atomic_file import atomic_file
from ranklet.workflows.feeds.writing import feed_target

VERSION, SUFFIX = 1, ".ciff"
_NUMBER, _DOUBLE, _BYTES = 0, 1, 2  # types of fields on the wire
_BLOCK = 1024  # documents


def write_ciff(bundle: BundleLike, target: str | Path, *, overwrite: bool = False) -> int:
    """Write how often each document has each lemma, without stop words, all or nothing.

    A passage is a document of its own, whose id is ``ID#PASSAGE``.

    Returns:
        The number of documents.

    Raises:
        ExportError: the target exists, or it cannot be written.
        BundleError: the bundle cannot be read, or has no collection.
        BuildError: the bundle has no words.
    """
    path = feed_target(target, overwrite=overwrite)
    files = BundleFiles(bundle, device="cpu")
    documents, vocabulary = files.need_documents(), files.analyzer.vocabulary
    refuse_additions(files)
    if not len(vocabulary):
        raise BuildError(f"{str(files.path)!r} matches no words, so it has none to write")
    terms, counts = _counted(files)
    lengths = [int(each.sum()) for each in counts]
    rows = [len(each) for each in terms]
    of_document = np.repeat(np.arange(len(rows)), rows)
    term, count = np.concatenate(terms), np.concatenate(counts)
    order = np.lexsort((of_document, term))
    begins = np.flatnonzero(np.diff(term[order], prepend=-1))
    split = documents.first is not None
    with atomic_file(path) as file:
        file.write(_framed(_header(len(begins), lengths)))
        for own in np.split(order, begins[1:]) if len(order) else ():
            spelled = vocabulary.forms[int(term[own[0]])]
            file.write(_framed(_postings(spelled, of_document[own], count[own])))
        for number, passage in enumerate(map(documents.place, range(len(rows)))):
            id_ = documents.ids[number]
            name = f"{id_}#{passage or 1}" if split else id_
            fields = (_number(1, number), _text(2, name), _number(3, lengths[number]))
            file.write(_framed(b"".join(fields)))
    return len(rows)


def _counted(files: BundleFiles) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Return the ids of each document's lemmas, and how often it has each."""
    documents, analysis = files.need_documents(), files.analyzer.begin()
    terms, counts = list[NDArray[np.int64]](), list[NDArray[np.int64]]()
    for begin in progress(range(0, files.manifest.documents, _BLOCK), "words"):
        block = range(begin, min(begin + _BLOCK, files.manifest.documents))
        for tokens in analysis.tokenize_texts(documents.read_ranked_texts(block), "lemmas"):
            own, count = np.unique(tokens.astype(np.int64), return_counts=True)
            terms.append(own)
            counts.append(count)
    return terms, counts


def _header(terms: int, lengths: list[int]) -> bytes:
    documents, total = len(lengths), sum(lengths)
    fields = [(1, VERSION), (2, terms), (3, documents), (4, terms), (5, documents), (6, total)]
    average = struct.pack("<d", total / max(1, documents))
    named = [_number(at, value) for at, value in fields]
    return b"".join([*named, _key(7, _DOUBLE), average, _text(8, "lemmas, by ranklet")])


def _postings(term: str, documents: NDArray[np.int64], counts: NDArray[np.int64]) -> bytes:
    """Return the message of a term, whose documents are written as differences."""
    fields = [_text(1, term), _number(2, len(documents)), _number(3, int(counts.sum()))]
    gaps = np.diff(documents, prepend=0)
    for gap, count in zip(gaps.tolist(), counts.tolist(), strict=True):
        fields.append(_message(4, _number(1, gap) + _number(2, count)))
    return b"".join(fields)


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _number(field: int, value: int) -> bytes:
    return _key(field, _NUMBER) + _varint(value)


def _message(field: int, content: bytes) -> bytes:
    return _key(field, _BYTES) + _framed(content)


def _text(field: int, value: str) -> bytes:
    return _message(field, value.encode("utf-8", "replace"))


def _framed(content: bytes) -> bytes:
    """Return a message after its length."""
    return _varint(len(content)) + content


def _varint(value: int) -> bytes:
    r"""Return a number ≥ 0 in groups of seven bits, the lowest first.

    >>> _varint(1), _varint(300)
    (b'\x01', b'\xac\x02')
    """
    groups = []
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])
