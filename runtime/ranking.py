"""The functions that most programs need, which load a bundle once, rank and score."""

import copyreg
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ranklet.runtime.asks import Ask, ContextAsk, asking
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import Check, stamp_beside, stamp_bundle
from ranklet.runtime.ground.errors import InputError, RemoteError
from ranklet.runtime.ground.options import DEVICES, as_list, check_one_of
from ranklet.runtime.ground.short_tracebacks import short_tracebacks
from ranklet.runtime.ground.variables import Variable
from ranklet.runtime.storage.address import Address, BundleLike, check_path, located, raw_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ranklet.runtime.answers.context import Context
    from ranklet.runtime.asks import Document
    from ranklet.runtime.hits import Ranking
    from ranklet.runtime.keywords import ContextOptions, RankOptions
    from ranklet.runtime.metadata.where import Condition
    from ranklet.runtime.pipelines.pipeline import PipelineLike
    from ranklet.runtime.syntax.query_syntax import Query

LOOK_AGAIN = 30.0  # seconds after which an address is looked at again for another version
KEPT = 32  # bundles, of which each folder may hold twenty of the usual 1,024 open files


_Key = tuple[Path | Address, str, bool, str | None, Path | None]
_loaded: dict[_Key, "_Loaded"] = {}
_opening: dict[_Key, Lock] = {}
_lock = Lock()  # of both


@short_tracebacks
def load(
    bundle: BundleLike | None = None,
    *,
    check: Check = "fast",
    device: str = "auto",
    strict: bool = False,
    collection: str | None = None,
    cache: str | Path | None = None,
) -> Bundle:
    """Load a bundle; a second call with the same path returns the same object.

    A bundle that was replaced since the first call is loaded again. An address is looked at again
    when half a minute has passed. The 32 bundles that were asked for last are kept; whoever asks
    for more in turn had better hold the objects.

    Args:
        bundle: a folder or an uncompressed .zip; or the address of such a .zip, ``s3://bucket/key``
            or ``https://…``, of which only the parts that queries need are read. None takes it
            from the environment variable RANKLET_BUNDLE. A bundle that is open comes back.
        check: ``fast`` checks sizes, types and shapes; ``full`` also the sha256 of every file.
        device: where models run, ``cpu``, ``cuda``, or ``auto`` for CUDA if it is available.
        strict: raise InputError instead of warning if CUDA is requested but not available.
        collection: the address of a collection in Milvus that is ranked in place of the bundle's
            own, such as ``milvus://HOST:PORT/NAME`` (docs/scaling.md#milvus). The environment
            variable RANKLET_MILVUS_TOKEN has what Milvus asks for.
        cache: the folder that keeps the parts that were read of an address; None for that of the
            environment variable RANKLET_CACHE, else one in the user's folder for caches.

    Raises:
        InputError: no path is given and RANKLET_BUNDLE is not set, or the collection's address is
            none, or it does not belong to the bundle.
        RemoteError: Milvus does not answer, or has no such collection, or the bundle's address
            cannot be read.
        BundleError: the bundle is missing, damaged, hostile or of another version.
    """
    if bundle is None:
        bundle = os.environ.get(Variable.BUNDLE) or None
    if bundle is None or bundle == "":  # which would be the current folder
        raise InputError(f"no bundle is given; give its path or set {Variable.BUNDLE} to it")
    if isinstance(bundle, Bundle):
        if (check, device, strict, collection, cache) == ("fast", "auto", False, None, None):
            return bundle
        raise InputError("this bundle is open; give its path to open it anew, load(bundle.path, …)")
    check_path("bundle", bundle)
    if cache is not None:
        check_path("cache", cache)
    check_one_of("check", check, ("fast", "full"))
    check_one_of("device", device, DEVICES)
    if collection is not None:
        if not isinstance(collection, str):
            raise InputError(f"collection must be an address, not {type(collection).__name__}")
        from ranklet.runtime.milvus.collection import located as milvus_located

        collection = milvus_located(collection)
    path = located(bundle)
    key = (path, device, strict, collection, None if cache is None else Path(cache).absolute())
    stamp, entry = stamp_bundle(path), _loaded.get(key)
    if entry is not None and check == "fast" and not entry.is_stale(stamp):
        entry.asked = monotonic()
        return entry.bundle
    # One lock per key, because an address may be silent for long, and others need not wait for it.
    with _lock:
        opening = _opening.setdefault(key, Lock())
    try:
        with opening:
            now = _loaded.get(key)
            if now is None or now is entry or check == "full":
                added = stamp_beside(path)  # before the files are read
                if now is not None and check == "fast" and not now.is_replaced(stamp):
                    opened = now.bundle.current()
                else:
                    opened = Bundle(
                        path, check, device=device, strict=strict, cache=cache,
                        collection=collection,
                    )  # fmt: skip
                now = _Loaded(stamp, added, opened)
                _keep(key, now)
            return now.bundle
    finally:
        with _lock:
            _opening.pop(key, None)


def _keep(key: _Key, entry: "_Loaded") -> None:
    """Keep a bundle in place of the one that nobody has asked for longest."""
    with _lock:
        _loaded[key] = entry
        if len(_loaded) > KEPT:
            left = _loaded.pop(min(_loaded, key=lambda each: _loaded[each].asked))
            left.bundle.forget()


@short_tracebacks
@asking(Ask)
def rank(
    query: "str | Query",
    documents: "Sequence[Document] | None" = None,
    *,
    bundle: BundleLike | None = None,
    **named: "Unpack[RankOptions]",
) -> "Ranking":
    """Rank a bundle's collection or the caller's own documents; see `Bundle.rank`."""
    _check_own("rank", query, documents)
    return opened(bundle).rank(query, documents, **named)


@short_tracebacks
@asking(Ask)
def rank_batch(
    queries: "Sequence[str | Query]",
    *,
    bundle: BundleLike | None = None,
    **named: "Unpack[RankOptions]",
) -> "list[Ranking]":
    """Rank a bundle's collection for several queries; see `Bundle.rank_batch`."""
    return opened(bundle).rank_batch(queries, **named)


@short_tracebacks
@asking(ContextAsk)
def context(
    query: "str | Query",
    tokens: int = ContextAsk.tokens,
    *,
    bundle: BundleLike | None = None,
    **named: "Unpack[ContextOptions]",
) -> "Context":
    """Return parts of a bundle's documents that fit into a prompt; see `Bundle.context`."""
    return opened(bundle).context(query, tokens, **named)


@short_tracebacks
def score(
    query: str,
    documents: "Sequence[Document] | None" = None,
    *,
    ids: Sequence[str] | None = None,
    bundle: BundleLike | None = None,
    pipeline: "PipelineLike" = None,
) -> "NDArray[np.float32]":
    """Score documents for a query, in their order; see `Bundle.score`."""
    _check_own("score", query, documents)
    return opened(bundle).score(query, documents, ids=ids, pipeline=pipeline)


@short_tracebacks
def rerank(
    query: str,
    texts: "Sequence[Document]",
    *,
    model: BundleLike | None = None,
    k: int | None = None,
    explain: bool = False,
) -> "Ranking":
    """Rank the caller's texts, best first; a hit's `index` is the place of its text.

    Args:
        query: the query's text, not empty.
        texts: strings, or objects with a text and perhaps an id and a title.
        model: a bundle or its path; None takes the path from the environment variable
            RANKLET_BUNDLE.
        k: maximum number of hits; None returns all.
        explain: whether to explain the score of each hit.

    Raises:
        RankletError: as `Bundle.rank`.
    """
    own = as_list(texts, "texts", "put the one in a list")
    return opened(model).rank(query, own, k=len(own) if k is None else k, explain=explain)


def _check_own(function: str, query: object, documents: object) -> None:
    """Raise InputError if the caller's own documents are a single text, such as a bundle's path."""
    if isinstance(documents, str | os.PathLike):
        raise InputError(
            f"the second argument is texts to {function}, in a list; pass a bundle by its name, "
            f"{function}({query!r:.60}, bundle={str(documents)[:80]!r})"
        )


def opened(bundle: BundleLike | None) -> Bundle:
    """Return a bundle, which is loaded if its path is given; see `load`."""
    return bundle if isinstance(bundle, Bundle) else load(bundle)


class _Loaded:
    """A loaded bundle, when its address was looked at, and when somebody asked for it."""

    def __init__(self, stamp: tuple[int, ...], added: tuple[int, ...], bundle: Bundle) -> None:
        self.stamp, self.bundle, self._added = stamp, bundle, added
        self._path = bundle.path
        self._seen = self.asked = monotonic()

    def is_stale(self, stamp: tuple[int, ...]) -> bool:
        """Return whether the bundle is not what `load` would open; see `is_replaced`."""
        look = self._is_due
        return self.is_replaced(stamp) or self._has_other_additions(look=look)

    @property
    def _is_due(self) -> bool:
        return monotonic() - self._seen > LOOK_AGAIN

    def _has_other_additions(self, *, look: bool) -> bool:
        """Return whether what lies beside has changed; on object storage only if it may look."""
        if not self.bundle.files.is_remote:
            return stamp_beside(self._path) != self._added
        if not look or self.bundle.collection is not None:
            return False
        from ranklet.runtime.bundles.additions import of_base, read_additions

        files = self.bundle.files
        try:
            if read_additions(files) != (self.bundle.additions or of_base(files)):
                return True
            return not self.bundle.has_current_synonyms
        except RemoteError:  # what was read before can still be used
            return False

    def is_replaced(self, stamp: tuple[int, ...]) -> bool:
        """Return whether the bundle was closed or is known to have been replaced.

        Args:
            stamp: the path's stamp now.
        """
        if self.stamp != stamp or self.bundle.closed:
            return True
        look = self._is_due
        if look:
            self._seen = monotonic()
        try:
            return not self.bundle.files.is_current(look=look)
        except RemoteError:  # what was read before can still be used
            return False


def _as_path(bundle: Bundle) -> tuple[Any, ...]:
    options = {
        "bundle": raw_text(bundle.path.absolute()),
        "device": bundle.device,
        "strict": bundle.strict,
        "collection": bundle.collection,
        "cache": bundle.files.cache,
    }
    only = bundle.restriction
    restriction = None if only is None else (only, dict(bundle.metadata))
    return _open_again, (options, restriction, bundle.version)


def _open_again(
    options: Mapping[str, Any],
    restriction: "tuple[Condition, Mapping[str, str]] | None",
    version: int | None,
) -> Bundle:
    bundle = load(**options)
    bundle = bundle if version is None else bundle.at(version)
    return bundle if restriction is None else bundle.under(*restriction)


# A bundle pickles as its path and the address of its collection, so that other processes on the
# machine map the same files, and each process opens it once.
copyreg.pickle(Bundle, _as_path)
