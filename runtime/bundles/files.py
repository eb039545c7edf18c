"""Open and check a bundle, whose files are mapped and read on demand."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.manifest import MANIFEST, MAX_MANIFEST_BYTES, Manifest
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.storage.address import Address, BundleLike, is_address
from ranklet.runtime.storage.archive import Archive, open_archive
from ranklet.runtime.storage.arrays import map_array
from ranklet.runtime.storage.block_array import SMALL, AbsentFile, fetch_files, is_absent
from ranklet.runtime.storage.forward import Forward
from ranklet.runtime.storage.strings import (
    MOST_DICTIONARY,
    CompressedStrings,
    SortedStrings,
    Strings,
)
from ranklet.runtime.text.names import FORMS

if TYPE_CHECKING:
    from ranklet.runtime.object_storage.block_store import BlockStore
    from ranklet.runtime.object_storage.remote_zip import RemoteZip
    from ranklet.runtime.text.analysis import Analyzer, Vocabulary
    from ranklet.runtime.text.classes import WordClasses
    from ranklet.runtime.text.tokenizing import Tokenizer

Check = Literal["fast", "full"]
PASSAGES = "documents/passages.npy"  # if documents are split; see `Documents.first`
LOCATIONS = "documents/locations"  # strings, if documents are split; see `Documents.locations`
DICTIONARY = ".dictionary.npy"  # of strings that are compressed
ADDITIONS, LIST = ".additions", "list.json"  # of a bundle; see runtime/bundles/additions.py
SYNONYMS = ".synonyms"  # of a bundle; see runtime/bundles/synonyms.py
BASE = "base-"  # begins the name of an earlier bundle, which is kept among the additions
POINTER = b"version https://git-lfs"  # how a file begins that git-lfs has not fetched
CUT = "cut.npy"  # in a ranker's folder, the numbers of the documents that its model truncated
TOKENIZER = "text/tokenizer.json"
LEMMAS = "text/lemma_of.npy"  # the number of each word's lemma
BEGINNINGS = "text/beginning_of.npy"  # the number of each word's beginning, if words have one
STOP_WORDS = "text/stopped.npy"  # the numbers of stop words that are indexed
FREQUENCIES = "text/frequencies.npy"  # how often each form occurs; see `encode_counts`
COUNTS = "text/counts.npy"  # how many texts have each form, where words are divided by others
S = TypeVar("S", bound=Strings)
T = TypeVar("T")


class BundleFiles:
    """A bundle on disk; immutable and shared by all threads.

    Args:
        path: a folder or an uncompressed .zip; or the address of a .zip on object storage.
        check: ``fast`` compares every file's size with the manifest now, and every array's type and
            shape with the format on first use. ``full`` also compares every file's sha256 (1 to 2
            GB per second), and the manifest's own.
        device: where models run, ``cpu``, ``cuda`` or ``auto``.
        strict: raise instead of warning if CUDA is requested but not available.
        cache: the folder for blocks of an address; None for the default.
        keep: whether sessions of models are kept that otherwise end with those who opened them.

    Raises:
        BundleError: the bundle is missing, damaged, hostile or of another version.
        RemoteError: the address cannot be read.
    """

    def __init__(
        self,
        path: BundleLike,
        check: Check = "fast",
        *,
        device: str = "auto",
        strict: bool = False,
        cache: str | Path | None = None,
        keep: bool = False,
    ) -> None:
        self.path: Path | Address = Address(path) if is_address(path) else Path(path)
        self.device, self.strict, self.cache = device, strict, cache
        self.keep = keep
        self._stamp = stamp_bundle(self.path)
        self._archive = self._opened_archive()
        self._made: dict[Hashable, Any] = {}  # what was opened on demand
        self._lock = RLock()  # re-entrant, because opening a ranker opens the vocabulary
        # A folder may be replaced while its files are opened, and then files of two bundles of the
        # same size would be mixed.
        while True:
            text = self._read_manifest()
            self.manifest = Manifest.from_json(text)
            self._files: dict[str, memoryview | AbsentFile] = {}
            self._compared: set[str] = set()
            try:
                if check == "full":
                    self.manifest.compare(text)
                self._check_files(check)
            except BundleError:
                if self._archive.read(MANIFEST)[:] == text:
                    raise
            if self._archive.read(MANIFEST)[:] == text:
                return

    def like(self, path: BundleLike) -> "BundleFiles":
        """Open another bundle, whose models run where those of this one do."""
        return BundleFiles(path, device=self.device, strict=self.strict, cache=self.cache)

    def _opened_archive(self) -> "Archive | RemoteZip":
        if not isinstance(self.path, Address):
            return open_archive(self.path)
        # Importing it here saves 30 ms of a cold start.
        from ranklet.runtime.object_storage.remote_zip import RemoteZip

        return RemoteZip(self.path, self.cache)

    @property
    def is_remote(self) -> bool:
        """Whether the bundle is on object storage, so that reading it waits for the network."""
        return isinstance(self.path, Address)

    @property
    def is_replaced(self) -> bool:
        """Whether another bundle is at the path by now; never known of an address."""
        return stamp_bundle(self.path) != self._stamp

    def is_current(self, *, look: bool = True) -> bool:
        """Return whether the object at an address is the one that was opened.

        Args:
            look: whether its server is called; otherwise queries must have noticed the change.

        Raises:
            RemoteError: that cannot be found out.
        """
        return self.store is None or self.store.is_current(look=look)

    @property
    def store(self) -> "BlockStore | None":
        """The blocks of the object at an address; None for a bundle on disk."""
        return getattr(self._archive, "store", None)

    def _read_manifest(self) -> bytes:
        if not self._archive.has(MANIFEST):
            hint = "`ranklet build`, `index` and `export` write one"
            if self._archive.has("ranklet.json"):
                hint = "it is a checkpoint: `ranklet export` puts it into a bundle"
            elif inside := self._archive.inside(MANIFEST):
                hint = f"it has {inside!r}: give that folder, or zip what is in it, not the folder"
            raise BundleError(
                f"{str(self.path)!r} has no {MANIFEST}, so it is not a bundle; {hint}"
            )
        text = self._archive.read(MANIFEST)
        if len(text) > MAX_MANIFEST_BYTES:
            raise BundleError(f"{MANIFEST} has {len(text)} bytes; at most {MAX_MANIFEST_BYTES}")
        return bytes(text[:])

    def _check_files(self, check: Check) -> None:
        listed, present = set(self.manifest.files), self._archive.names() - {MANIFEST}
        if missing := sorted(listed - present):
            raise BundleError(f"{missing[0]!r} is listed in {MANIFEST} and missing from the bundle")
        if present - listed:
            from ranklet.runtime.writing.strangers import strangers

            if extra := strangers(sorted(present), listed.__contains__):
                raise BundleError(f"the bundle has {extra}, not listed in {MANIFEST}; move it away")
        contents = {name: self._archive.read(name) for name in self.manifest.files}
        if check == "full":
            fetch_files([each for each in contents.values() if isinstance(each, AbsentFile)])
        for name, entry in self.manifest.files.items():
            data = contents[name]
            if len(data) != entry.bytes:
                if not isinstance(data, AbsentFile) and bytes(data[: len(POINTER)]) == POINTER:
                    raise BundleError(
                        f"{name} is a pointer of git-lfs and not the file itself; run `git lfs "
                        "pull` in the folder of the bundle"
                    )
                raise BundleError(f"{name} has {len(data)} bytes, {MANIFEST} says {entry.bytes}")
            self._files[name] = data
        if check == "full":
            self.compare(self.manifest.files)

    def compare(self, names: Iterable[str]) -> None:
        """Compare the sha256 of some files, each once.

        Raises:
            BundleError: one differs.
        """
        from hashlib import sha256 as digest  # takes long, and a fast check needs none

        for name in names:
            if name in self._compared:
                continue
            data, sha256 = self._listed(name), self.manifest.files[name].sha256
            if isinstance(data, AbsentFile):
                data.whole(sha256, compare=True)
            elif digest(data[:]).hexdigest() != sha256:
                raise BundleError(f"{name} was changed after export, because its sha256 differs")
            self._compared.add(name)

    def has(self, name: str) -> bool:
        """Return whether the bundle has a file of that name."""
        return name in self._files

    def file(self, name: str) -> memoryview:
        """Return the mapped content of a file; from object storage it is fetched whole."""
        data = self._listed(name)
        if isinstance(data, AbsentFile):
            return data.whole(self.manifest.files[name].sha256)
        return data

    def _listed(self, name: str) -> memoryview | AbsentFile:
        if name not in self._files:
            raise BundleError(f"the bundle has no {name!r}, which a ranker needs; export it again")
        return self._files[name]

    def array(
        self,
        name: str,
        dtype: DTypeLike,
        shape: tuple[int | None, ...],
        *others: DTypeLike,
        whole: bool = False,
    ) -> NDArray[Any]:
        """Return a mapped array of this shape and of one of the types; see `map_array`.

        From object storage, an array of more than `SMALL` bytes is a `BlockArray`, unless it is
        wanted `whole`.
        """
        data = self._listed(name)
        if whole or len(data) <= SMALL:
            data = self.file(name)
        return map_array(data, name, (dtype, *others), shape)

    def fetch(self, names: Iterable[str]) -> None:
        """Fetch some files of object storage at once."""
        absent = [each for name in names if isinstance(each := self._listed(name), AbsentFile)]
        fetch_files(absent)

    def offsets(
        self, name: str, rows: int | None = None, *, whole: bool = False, narrow: bool = False
    ) -> NDArray[Any]:
        """Return a mapped array of row offsets that begin with 0 and never decrease.

        Those of a `BlockArray` are compared when they are read; see `BlockArray.places`.

        Returns:
            (rows + 1,) int64; if they may be `narrow`, also uint32.

        Raises:
            BundleError: it is not such an array.
        """
        shape = (None if rows is None else rows + 1,)
        others = (np.uint32,) if narrow else ()
        offsets = self.array(name, np.int64, shape, *others, whole=whole)
        # Compared, not subtracted, because a difference of int64 can wrap around and look positive.
        if (
            not len(offsets)
            or offsets[0] != 0
            or (offsets[-1] < 0 if is_absent(offsets) else (offsets[1:] < offsets[:-1]).any())
        ):
            raise BundleError(f"{name} is damaged; it must begin with 0 and never decrease")
        return offsets

    def strings(
        self, name: str, kind: type[S], count: int | None = None, *, whole: bool = False
    ) -> S:
        """Return the strings of ``NAME.npy`` (UTF-8) and ``NAME.offsets.npy``."""
        offsets = self.offsets(f"{name}.offsets.npy", count, whole=whole, narrow=True)
        shape = (int(offsets[-1]),)
        return kind(self.array(f"{name}.npy", np.uint8, shape, whole=whole), offsets)

    def settings(self, name: str) -> Any:
        """Return the settings of a ranker, an instance of its kind's `Settings`."""
        self.manifest.check_ranker(name)
        entry = self.manifest.rankers[name]
        return self.once(("settings", name), lambda: entry.read_settings(name))

    # One lock for everything that is opened on demand. Before Python 3.12 every cached_property has
    # its own lock, and two threads could take it and this lock in opposite order and deadlock.

    @property
    def analyzer(self) -> "Analyzer":
        """The text analysis of the indexed collection.

        Its methods raise BundleError if no collection has been indexed yet or the vocabulary is
        damaged.
        """
        return self.once("analyzer", self._open_analyzer)

    def _open_analyzer(self) -> "Analyzer":
        from ranklet.runtime.text.analysis import Analyzer  # not a cost of an import

        return Analyzer(self._open_vocabulary, self.tokenizer)

    def _open_vocabulary(self) -> "Vocabulary":
        from ranklet.runtime.text.analysis import NO_WORD, NONE, Vocabulary

        self.need_collection()
        # Whole, because a bisection by blocks would wait for the network at each step.
        forms = self.strings("text/forms", SortedStrings, whole=True)
        lemma_of = self.array(LEMMAS, np.int32, (len(forms),), whole=True)
        beginning_of = None
        if self.has(BEGINNINGS):
            beginning_of = self.array(BEGINNINGS, np.int32, (len(forms),), whole=True)
        # They are used for every text, so they are checked now (0.1 ms per million forms).
        for name, ids in ((LEMMAS, lemma_of), (BEGINNINGS, beginning_of)):
            if ids is not None and not (len(ids) and NO_WORD <= ids.min() <= ids.max() < len(ids)):
                raise BundleError(f"{name} is damaged; an id lies past the vocabulary")
        counts = None
        if self.has(COUNTS):
            counts = self.array(COUNTS, np.uint32, (len(forms),), whole=True)
        stopped = NONE
        if self.has(STOP_WORDS):
            stopped = self.array(STOP_WORDS, np.int32, (None,), whole=True)
        if len(stopped) and not 0 <= stopped.min() <= stopped.max() < len(forms):
            raise BundleError(f"{STOP_WORDS} is damaged; an id lies past the vocabulary")
        languages, normaliser = self.manifest.languages, self.manifest.normaliser
        classes = None if normaliser == FORMS else partial(_word_classes, languages, normaliser)
        frequencies = self.array(FREQUENCIES, np.uint8, (len(forms),))
        return Vocabulary(
            forms, lemma_of, languages, counts, stopped, beginning_of, classes, frequencies
        )

    def tokenizer(self, name: str = TOKENIZER, *, plain: bool = False) -> "Tokenizer":
        """Read the tokenizer of the field wordpieces, or a ranker's own.

        Args:
            name: of the file.
            plain: whether no special tokens are needed; see `open_tokenizer`.

        Raises:
            BundleError: the bundle does not have it, or it cannot be read.
        """
        from ranklet.runtime.text.tokenizing import open_tokenizer

        return self.kept(
            (name, plain), lambda: open_tokenizer(bytes(self.file(name)), name, plain=plain)
        )

    @property
    def token_count(self) -> Callable[[str], int]:
        """What counts the tokens of a text by the bundle's tokenizer, or words without one."""
        return self.once("token count", self._open_count)

    def _open_count(self) -> Callable[[str], int]:
        names = (TOKENIZER, *(f"rankers/{each}/tokenizer.json" for each in self.manifest.rankers))
        name = next(filter(self.has, names), None)
        if name is None:
            from ranklet.runtime.text.sentences import count_words

            return count_words
        from ranklet.runtime.text.tokenizing import encode

        tokenizer = self.tokenizer(name, plain=True)
        return lambda text: len(encode(tokenizer, text).ids)

    @property
    def documents(self) -> Documents | None:
        """The collection, or None if none has been indexed yet."""
        return self.once("documents", self._open_documents) if self.manifest.documents else None

    def _open_documents(self) -> Documents:
        count = self.manifest.documents
        forwards = {
            field: self._forward(field)
            for field in ("words", "wordpieces")
            if f"documents/{field}.npy" in self._files
        }
        return Documents(
            self.strings("documents/ids", Strings, count),
            self.array("documents/by_id.npy", np.uint32, (count,)),
            self.strings("documents/titles", Strings, count),
            self.texts("documents/texts", count),
            forwards,
            self.analyzer.vocabulary,
            titled=self.manifest.titles,
            first=self._first_passages(count),
            locations=(
                self.strings(LOCATIONS, Strings, count) if self.has(f"{LOCATIONS}.npy") else None
            ),
        )

    def texts(self, name: str, count: int) -> Strings:
        """Return strings, which are compressed if there is a dictionary.

        Raises:
            BundleError: they or the dictionary are damaged.
        """
        strings = self.strings(name, Strings, count)
        if not self.has(name + DICTIONARY):
            return strings
        dictionary = self.array(name + DICTIONARY, np.uint8, (None,), whole=True)
        if len(dictionary) > MOST_DICTIONARY:
            raise BundleError(f"{name + DICTIONARY} has more than {MOST_DICTIONARY:,} bytes")
        return CompressedStrings(strings.data, strings.offsets, dictionary.tobytes())

    def _first_passages(self, count: int) -> NDArray[np.uint32] | None:
        if not self.has(PASSAGES):
            return None
        first: NDArray[np.uint32] = self.array(PASSAGES, np.uint32, (count,), whole=True)
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
        documents = self.documents
        if documents is None:
            raise BundleError("this needs a bundle with a collection; run `ranklet index`")
        return documents

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returns, which is called only once per key."""
        made: T | None = self._made.get(key)  # most calls wait for nobody
        if made is not None:
            return made
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            return cast("T", self._made[key])

    def forget(self) -> None:
        """Close what was opened on demand; what is needed again is opened again."""
        with self._lock:
            self._made.clear()

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return `make()`, stored under a key if the bundle keeps sessions."""
        return self.once(key, make) if self.keep else make()

    @contextmanager
    def damage_reported(self) -> Iterator[Self]:
        """Raise BundleError if damage of the bundle leads to an IndexError while ranking."""
        try:
            yield self
        except IndexError as error:  # an id in the bundle lies past the end of an array
            raise BundleError(
                f"the bundle {str(self.path)!r} is damaged ({error}); run `ranklet verify` on it"
            ) from error


def _word_classes(languages: Sequence[str], normaliser: str) -> "WordClasses":
    from ranklet.runtime.text.classes import WordClasses  # for words that no document has

    return WordClasses(languages, normaliser)


def locate_additions(path: Path | Address) -> Path | Address:
    """Return the folder of a bundle's additions, which need not exist."""
    if isinstance(path, Address):
        folder, _, name = path.raw.rstrip("/").rpartition("/")
        kept = folder.endswith(ADDITIONS) and name.startswith(BASE)
        return Address(folder if kept else f"{folder}/{name}{ADDITIONS}")
    try:
        real = path.resolve()  # a link stays, and what it leads to is written
    except (OSError, RuntimeError, ValueError):  # which opening the bundle reports
        real = path
    if real.parent.name.endswith(ADDITIONS) and real.name.startswith(BASE):
        return real.parent
    return real.with_name(real.name + ADDITIONS)


def file_in(folder: Path | Address, name: str) -> Path | Address:
    """Return a file in a folder of additions."""
    return Address(f"{folder.raw}/{name}") if isinstance(folder, Address) else folder / name


def stamp_additions(folder: Path | Address) -> tuple[int, ...]:
    """Return what changes when a bundle's list does; () if there is none, or it is far away."""
    place = file_in(folder, LIST)
    if isinstance(place, Address):
        return ()
    try:
        stat = place.stat()
    except (OSError, ValueError):
        return ()
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def locate_synonyms(path: Path | Address) -> Path | Address:
    """Return the file of a bundle's synonyms, which need not exist."""
    folder = locate_additions(path)
    if isinstance(folder, Address):
        return Address(folder.raw.removesuffix(ADDITIONS) + SYNONYMS)
    return folder.with_name(folder.name.removesuffix(ADDITIONS) + SYNONYMS)


def has_synonyms(path: Path | Address) -> bool:
    """Return whether a bundle has a file of synonyms, as far as that is known without a network."""
    place = locate_synonyms(path)
    return isinstance(place, Address) or place.is_file()


def stamp_beside(path: Path | Address) -> tuple[int, ...]:
    """Return what changes when a bundle's list or synonyms do; () if they are far away."""
    place = locate_synonyms(path)
    if isinstance(place, Address):
        return ()
    try:
        stat = place.stat()
    except (OSError, ValueError):
        return stamp_additions(locate_additions(path))
    return *stamp_additions(locate_additions(path)), stat.st_ino, stat.st_mtime_ns, stat.st_size


def stamp_bundle(path: Path | Address) -> tuple[int, ...]:
    """Return file attributes that change when a bundle is replaced; () if they cannot be read."""
    if isinstance(path, Address):
        return ()
    for candidate in (path / MANIFEST, path):
        try:
            stat = candidate.stat()
        except (OSError, ValueError):  # ValueError: a NUL in the path
            continue
        return stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size
    return ()
