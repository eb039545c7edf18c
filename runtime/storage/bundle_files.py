"""Open and check a bundle, whose files are mapped and read on demand."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ranklet.runtime.errors import BundleError, UnknownRankerError
from ranklet.runtime.explanation import RANKER_FIELD
from ranklet.runtime.lexical.forward import Forward
from ranklet.runtime.rankers import ranker_module
from ranklet.runtime.rankers.protocol import Ranker
from ranklet.runtime.storage.archive import open_archive
from ranklet.runtime.storage.arrays import map_array
from ranklet.runtime.storage.documents import Documents
from ranklet.runtime.storage.manifest import MANIFEST, MAX_MANIFEST_BYTES, Manifest
from ranklet.runtime.text.analysis import FIELDS, STOPPED, Analysis, Analyzer, Vocabulary
from ranklet.runtime.text.strings import SortedStrings, Strings

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Check = Literal["fast", "full"]
PASSAGES = "documents/passages.npy"  # if documents are split; see `Documents.first`
CUT = "cut.npy"  # in a ranker's folder, the numbers of the documents that its model truncated
TOKENIZER = "text/tokenizer.json"
S = TypeVar("S", bound=Strings)


class BundleFiles:
    """A bundle on disk; immutable and shared by all threads.

    Args:
        path: a folder or an uncompressed .zip.
        check: ``fast`` compares every file's size with the manifest now, and every array's type and
            shape with the format on first use. ``full`` also compares every file's sha256 (1 to 2
            GB per second).
        device: where models run, ``cpu``, ``cuda`` or ``auto``.
        strict: raise instead of warning if CUDA is requested but not available.

    Raises:
        BundleError: the bundle is missing, damaged, hostile or of another version.
    """

    def __init__(
        self, path: str | Path, check: Check = "fast", *, device: str = "auto", strict: bool = False
    ) -> None:
        self.path = Path(path)
        self.device, self.strict = device, strict
        self._archive = open_archive(self.path)
        self._rankers: dict[str, Ranker] = {}
        self._analyzer: Analyzer | None = None
        self._documents: Documents | None = None
        self._lock = RLock()  # re-entrant, because opening a ranker opens the vocabulary
        # A folder may be replaced while its files are opened, and then files of two bundles of the
        # same size would be mixed.
        while True:
            text = self._read_manifest()
            self.manifest = Manifest.from_json(text)
            self._files: dict[str, memoryview] = {}
            try:
                self._check_files(check)
            except BundleError:
                if self._archive.read(MANIFEST) == text:
                    raise
            if self._archive.read(MANIFEST) == text:
                return

    def _read_manifest(self) -> bytes:
        if MANIFEST not in self._archive.names():
            raise BundleError(
                f"{str(self.path)!r} has no {MANIFEST}, so it is not a bundle; `ranklet index` and "
                "`ranklet export` write one"
            )
        text = self._archive.read(MANIFEST)
        if len(text) > MAX_MANIFEST_BYTES:
            raise BundleError(f"{MANIFEST} has {len(text)} bytes; at most {MAX_MANIFEST_BYTES}")
        return bytes(text)

    def _check_files(self, check: Check) -> None:
        listed, present = set(self.manifest.files), self._archive.names() - {MANIFEST}
        if missing := sorted(listed - present):
            raise BundleError(f"{missing[0]!r} is listed in {MANIFEST} and missing from the bundle")
        if extra := sorted(present - listed):
            raise BundleError(f"{extra[0]!r} is in the bundle and not listed in {MANIFEST}")
        for name, entry in self.manifest.files.items():
            data = self._archive.read(name)
            if len(data) != entry.bytes:
                raise BundleError(f"{name} has {len(data)} bytes, {MANIFEST} says {entry.bytes}")
            if check == "full" and hashlib.sha256(data).hexdigest() != entry.sha256:
                raise BundleError(f"{name} was changed after export, because its sha256 differs")
            self._files[name] = data

    def has(self, name: str) -> bool:
        """Return whether the bundle has a file of that name."""
        return name in self._files

    def file(self, name: str) -> memoryview:
        """Return the mapped content of a file."""
        if name not in self._files:
            raise BundleError(f"the bundle has no {name!r}, which a ranker needs; export it again")
        return self._files[name]

    def array(
        self, name: str, dtype: DTypeLike, shape: tuple[int | None, ...], *others: DTypeLike
    ) -> NDArray[Any]:
        """Return a mapped array of this shape and of one of the types; see `map_array`."""
        return map_array(self.file(name), name, (dtype, *others), shape)

    def offsets(self, name: str, rows: int | None = None) -> NDArray[np.int64]:
        """Return a mapped array of row offsets that begin with 0 and never decrease.

        Returns:
            (rows + 1,) int64.

        Raises:
            BundleError: it is not such an array.
        """
        offsets = self.array(name, np.int64, (None if rows is None else rows + 1,))
        # Compared, not subtracted, because a difference of int64 can wrap around and look positive.
        if not len(offsets) or offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
            raise BundleError(f"{name} is damaged; it must begin with 0 and never decrease")
        return offsets

    def strings(self, name: str, kind: type[S], count: int | None = None) -> S:
        """Return the strings of ``NAME.npy`` (UTF-8) and ``NAME.offsets.npy``."""
        offsets = self.offsets(f"{name}.offsets.npy", count)
        return kind(self.array(f"{name}.npy", np.uint8, (int(offsets[-1]),)), offsets)

    def settings(self, name: str) -> Any:
        """Return the settings of a ranker, an instance of its kind's `Settings`."""
        return self.manifest.rankers[name].read_settings(name)

    # One lock for everything that is opened on demand. Before Python 3.12 every cached_property has
    # its own lock, and two threads could take it and this lock in opposite order and deadlock.

    @property
    def analyzer(self) -> Analyzer:
        """The text analysis of the indexed collection.

        Its methods raise BundleError if no collection has been indexed yet or the vocabulary is
        damaged.
        """
        with self._lock:
            if self._analyzer is None:
                self._analyzer = Analyzer(self._open_vocabulary, self.tokenizer)
            return self._analyzer

    def _open_vocabulary(self) -> Vocabulary:
        self.need_collection()
        forms = self.strings("text/forms", SortedStrings)
        lemma_of = self.array("text/lemma_of.npy", np.int32, (len(forms),))
        # It is used for every text, so it is checked now (0.1 ms per million forms).
        if not len(forms) or lemma_of.min() < STOPPED or lemma_of.max() >= len(forms):
            raise BundleError("text/lemma_of.npy is damaged; an id lies past the vocabulary")
        return Vocabulary(forms, lemma_of, self.manifest.languages)

    def tokenizer(self, name: str = TOKENIZER) -> "Tokenizer":
        """Read the tokenizer of the field wordpieces, or a ranker's own.

        Raises:
            BundleError: the bundle does not have it, or it cannot be read.
        """
        from tokenizers import Tokenizer

        data = bytes(self.file(name))
        try:
            tokenizer = Tokenizer.from_buffer(data)
        except Exception as error:  # tokenizers raises bare Exception for a bad file
            raise BundleError(f"{name} cannot be read: {error}") from error
        # Both concern a model's input. Padding to a gigabyte would also be a possible attack.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @property
    def documents(self) -> Documents | None:
        """The collection, or None if none has been indexed yet."""
        if not self.manifest.documents:
            return None
        with self._lock:
            if self._documents is None:
                self._documents = self._open_documents(self.manifest.documents)
            return self._documents

    def _open_documents(self, count: int) -> Documents:
        forwards = {
            field: self._forward(field)
            for field in ("words", "wordpieces")
            if f"documents/{field}.npy" in self._files
        }
        return Documents(
            self.strings("documents/ids", Strings, count),
            self.array("documents/by_id.npy", np.uint32, (count,)),
            self.strings("documents/titles", Strings, count),
            self.strings("documents/texts", Strings, count),
            forwards,
            self.analyzer.vocabulary,
            titled=self.manifest.titles,
            first=self._first_passages(count),
        )

    def _first_passages(self, count: int) -> NDArray[np.uint32] | None:
        if not self.has(PASSAGES):
            return None
        first: NDArray[np.uint32] = self.array(PASSAGES, np.uint32, (count,))
        # Passes over it are cheap, and searches rely on its order.
        if first[0] != 0 or (first[1:] < first[:-1]).any() or (first > np.arange(count)).any():
            raise BundleError(f"{PASSAGES} is damaged; numbers must not decrease")
        if (first[first] != first).any():
            raise BundleError(f"{PASSAGES} is damaged; a document begins inside another one")
        return first

    def _forward(self, field: str) -> Forward:
        offsets = self.offsets(f"documents/{field}.offsets.npy", self.manifest.documents)
        shape = (int(offsets[-1]),)
        return Forward(offsets, self.array(f"documents/{field}.npy", np.int32, shape, np.uint16))

    def need_collection(self) -> None:
        """Raise BundleError if no collection has been indexed yet."""
        if not self.manifest.documents:
            raise BundleError(
                f"the bundle {str(self.path)!r} has no collection, but its rankers need the "
                "statistics of one; run `ranklet index` on it"
            )

    def need_documents(self) -> Documents:
        """Return the collection, or raise BundleError if there is none."""
        if self.documents is None:
            raise BundleError("this needs a bundle with a collection; run `ranklet index`")
        return self.documents

    def ranker(self, name: str) -> Ranker:
        """Return a ranker by name, opened on first use.

        Raises:
            UnknownRankerError: the bundle has no ranker of that name.
        """
        if name not in self.manifest.rankers:
            known = ", ".join(self.manifest.rankers) or "none"
            raise UnknownRankerError(f"unknown ranker {name!r}; the bundle has {known}")
        with self._lock:
            if name not in self._rankers:
                kind = self.manifest.rankers[name].kind
                self._rankers[name] = ranker_module(kind).RANKER.open(self, name)
            return self._rankers[name]

    def analysis(self, field: str) -> Analysis:
        """Return an analysis for a field of an explanation."""
        if field in FIELDS:
            return self.analyzer.begin()
        return (self.ranker(field.removeprefix(RANKER_FIELD)).analyzer or self.analyzer).begin()

    @contextmanager
    def damage_reported(self) -> Iterator[None]:
        """Raise BundleError if damage of the bundle leads to an IndexError while ranking."""
        try:
            yield
        except IndexError as error:  # an id in the bundle lies past the end of an array
            raise BundleError(
                f"the bundle {str(self.path)!r} is damaged ({error}); run `ranklet verify` on it"
            ) from error
