"""Check every byte and every number of a bundle against the format, for `ranklet verify`."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.additions import open_addition, read_additions
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import CUT, TOKENIZER, BundleFiles
from ranklet.runtime.bundles.segments import AdditionFiles
from ranklet.runtime.call.candidates import TextCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.ground.errors import BundleError, MissingPackageError
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.metadata.columns import Metadata
from ranklet.runtime.onnx.parity import PARITY, compare_parity
from ranklet.runtime.onnx.self_contained import check_onnx, check_openvino
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.storage.address import BundleLike
from ranklet.runtime.storage.strings import Strings
from ranklet.runtime.text.tokenizing import encode

UNHEARD_OF = "ᚠ ᚁ 𒀀"  # runes, ogham and cuneiform, which no vocabulary contains
_AT_ONCE = 1 << 24  # tokens that are looked up together


def verify(path: BundleLike) -> Iterator[str]:
    """Check a whole bundle and yield the name of each part that is correct, in order.

    Raises:
        BundleError: the first error.
    """
    bundle = BundleFiles(path, check="full")
    count = len(bundle.manifest.files)
    yield f"manifest (sha256 {bundle.manifest.sha256}), and size and sha256 of {count} files"
    _models(bundle)
    if bundle.manifest.documents:
        _vocabulary(bundle)
        yield "vocabulary"
        _documents(bundle)
        yield "documents"
        _forwards(bundle)
        yield "tokens of the documents"
        if bundle.manifest.metadata:
            _metadata(bundle)
            yield "metadata"
    for name, entry in bundle.manifest.rankers.items():
        if bundle.manifest.documents:
            open_ranker(bundle, name).verify()
        elif KINDS[entry.kind].needs_collection:
            continue
        else:
            _encoder(bundle, name)
        _check_truncated(bundle, name)
        yield f"ranker {name}"
        yield from _parity(bundle, name)
    if TOKENIZER in bundle.manifest.files:
        _tokenizer(bundle)
        yield "tokenizer"
    for addition in read_additions(bundle).parts:
        _addition(open_addition(bundle, addition, check="full"))
        yield f"addition {addition.file}"


def _addition(addition: AdditionFiles) -> None:
    _vocabulary(addition)
    _documents(addition)
    _forwards(addition)
    if addition.manifest.metadata:
        _metadata(addition)
    for name in addition.manifest.rankers:
        own = open_ranker(addition.base, name).over([addition.base, addition])[1]
        if own is not None:
            own.verify()
        _check_truncated(addition, name)


def _models(bundle: BundleFiles) -> None:
    """Check that no model names a file, not even a variant that does not run on this machine."""
    for name in bundle.manifest.files:
        if name.endswith(".onnx"):
            check_onnx(bundle.file(name), name)
        elif name.endswith(".xml"):
            check_openvino(bundle.file(name), name)


def _vocabulary(bundle: BundleFiles) -> None:
    vocabulary = bundle.analyzer.vocabulary
    previous = b""
    for number, form in enumerate(_all_bytes(vocabulary.forms, "a word form")):
        if number and form <= previous:
            raise BundleError(
                f"vocabulary: form {number} is not in order, so look-ups would miss it"
            )
        previous = form
    counts = vocabulary.counts
    if counts is not None and counts.max(initial=0) > len(bundle.need_documents()):
        raise BundleError("vocabulary: a word is counted in more texts than there are")


def _documents(bundle: BundleFiles) -> None:
    documents = bundle.need_documents()
    if not np.array_equal(np.sort(documents.by_id), np.arange(len(documents))):
        raise BundleError("documents: by_id does not hold every document exactly once")
    ids = list(_all_bytes(documents.ids, "a document id"))
    ordered = [(ids[number], number) for number in documents.by_id.tolist()]
    # Passages of one document have equal ids, and their numbers decide.
    if any(one > other for one, other in pairwise(ordered)):
        raise BundleError("documents: by_id is not in the order of the ids")
    first = np.arange(len(ids)) if documents.first is None else documents.first
    # The passages of a document share its id, so each id occurs in one group of passages.
    if len(set(ids)) != len(np.unique(first)) or any(
        ids[number] != ids[begin] for number, begin in enumerate(first.tolist())
    ):
        raise BundleError(
            "documents: an id occurs twice, or the passages of a document differ in it"
        )
    for strings, what in ((documents.titles, "a title"), (documents.texts, "a text")):
        for _ in _all_bytes(strings, what):
            pass
    if documents.locations is not None:
        _locations(documents, first)


def _locations(documents: Documents, first: NDArray[np.integer]) -> None:
    """Check that the passages of a document follow each other, and leave nothing out."""
    end = 0
    for number, begin in enumerate(first.tolist()):
        location = documents.location(number)
        end = end if number != begin else 0
        if location is None:
            continue
        start, before, _ = location
        if start - len(before) > end or (before and start - len(before) != end):
            raise BundleError(f"documents: passage {number} does not follow the one before it")
        end = max(end, start + len(documents.texts[number]))


def _forwards(bundle: BundleFiles) -> None:
    documents = bundle.need_documents()
    words = {"words"} if bundle.has("documents/words.npy") else set[str]()
    for field in words | set(bundle.manifest.fields) - {"words", "lemmas"}:
        tokens = documents.forward(field).tokens
        size = bundle.analyzer.size(field)
        if len(tokens) and not 0 <= int(tokens.min()) <= int(tokens.max()) < size:
            raise BundleError(f"documents: a token of {field} is past the {size} of the vocabulary")
        if field == "words":
            absent = bundle.analyzer.vocabulary.lemma_of < 0
            parts = (tokens[at : at + _AT_ONCE] for at in range(0, len(tokens), _AT_ONCE))
            if any(absent[part].any() for part in parts):
                raise BundleError("documents: a token of words is one that no document can have")


def _metadata(bundle: BundleFiles) -> None:
    metadata = Metadata(bundle)
    for name in metadata:
        metadata.column(name).verify()


def _check_truncated(bundle: BundleFiles, name: str) -> None:
    """Check the numbers of the documents that a ranker's model truncated."""
    file = f"rankers/{name}/{CUT}"
    if not bundle.manifest.rankers[name].encoder and not bundle.has(file):
        return
    cut = bundle.array(file, np.uint32, (None,)).astype(np.int64)
    if len(cut) and (cut[-1] >= bundle.manifest.documents or (np.diff(cut) <= 0).any()):
        raise BundleError(f"{file} must hold numbers of documents that ascend")


def _encoder(bundle: BundleFiles, name: str) -> None:
    """Run the networks of a ranker once, on a text that is not in a collection."""
    analysis = bundle.analyzer.begin()
    open_ranker(bundle, name).score(
        QueryContext(UNHEARD_OF, analysis), TextCandidates([UNHEARD_OF], analysis)
    )


def _parity(bundle: BundleFiles, name: str) -> Iterator[str]:
    """Compare a ranker's graphs with its stored outputs, where onnxruntime is installed."""
    folder = f"rankers/{name}/"

    def read(file: str) -> bytes | None:
        return bytes(bundle.file(folder + file)) if bundle.has(folder + file) else None

    if bundle.has(folder + PARITY):
        with suppress(MissingPackageError):
            yield from compare_parity(bytes(bundle.file(folder + PARITY)), read)


def _tokenizer(bundle: BundleFiles) -> None:
    tokenizer = bundle.tokenizer()
    numbers = sorted(tokenizer.get_vocab().values())
    if numbers != list(range(len(numbers))):
        raise BundleError(f"{TOKENIZER}: the ids of the pieces are not 0, 1, 2, …")
    encode(tokenizer, UNHEARD_OF)
    with suppress(MissingPackageError):  # without the package no ranker reads special tokens
        encode(tokenizer, UNHEARD_OF, special=True)


def _all_bytes(strings: Strings, what: str) -> Iterator[bytes]:
    """Yield every string as bytes that were checked to be UTF-8."""
    for number in range(len(strings)):
        raw = strings.raw(number)
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BundleError(f"{what} (number {number}) is not UTF-8") from error
        yield raw
