"""The bundle that a server answers from: tried before it serves, and replaced while it does."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Lock
from time import monotonic

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.trial import try_out
from ranklet.handlers.server.keys import Filter, open_part
from ranklet.handlers.server.metrics import ADDITIONS, BUILT, DELETED
from ranklet.handlers.server.quick import Quick, is_lexical
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import Check
from ranklet.runtime.ranking import load
from ranklet.runtime.storage.address import is_address, shown

Log = Callable[[str, str], None]  # severity, message
RETRY_SECONDS = 30.0  # between two trials of a bundle that failed the last one


class LiveBundle:
    """A bundle, or the reason why there is none.

    Threads call `refresh` again and again, in turns; the others only read.

    Args:
        path: the path of the bundle.
        full_check: compare the sha256 of every file before a bundle serves.
        device: where models run: ``auto``, ``cpu``, or ``cuda``, which fails without CUDA.
        log: receives one line per change.
        filters: the filters of API keys; a bundle that one of them does not fit is not served.
        collection: the address of a collection in Milvus, "" for the bundle's own.

    Attributes:
        quick: counts quick answers of the bundle; None if it does not only look up words, or is not
            on this machine.
        reason: why there is no bundle, None if there is one.
    """

    def __init__(
        self,
        path: str,
        full_check: bool,
        device: str,
        log: Log,
        filters: Sequence[Filter],
        collection: str,
    ) -> None:
        self._path, self._full_check, self._device, self._log = path, full_check, device, log
        self._filters, self._collection = filters, collection or None
        self._bundle: Bundle | None = None
        self._failed: Bundle | None = None
        self._former: Bundle | None = None  # it was replaced last, and may still have requests
        self._retry_at = 0.0
        self._refreshing = Lock()
        self._logged_error: str | None = None
        self.quick: Quick | None = None
        self.reason: str | None = "the bundle is being loaded"

    @property
    def bundle(self) -> Bundle:
        """The bundle that serves now.

        Raises:
            RequestError: 503: there is no bundle that can be read.
        """
        if self._bundle is None:
            raise RequestError(503, f"not ready: {self.reason}")
        return self._bundle

    def gauges(self) -> dict[str, float]:
        """Return what the metrics say of the bundle that serves now."""
        if self._bundle is None:
            return {}
        added, created = self._bundle.additions, self._bundle.manifest.created
        found = {
            ADDITIONS: float(len(added.parts) if added else 0),
            DELETED: float(sum(map(len, added.deleted)) if added else 0),
        }
        with suppress(ValueError):  # it says nothing, or something else
            found[BUILT] = datetime.fromisoformat(created).timestamp()
        return found

    def refresh(self) -> None:
        """Serve the bundle at the path if it is new and answers a query.

        A new bundle that cannot be read does not replace an old one that can.
        """
        with self._refreshing:
            self._refresh()

    def _refresh(self) -> None:
        if self._former is not None:  # else its models would stay until garbage is collected
            self._former.forget()
            self._former = None
        try:
            bundle = self._load("fast")
            if bundle is self._bundle:
                self._logged_error = None
                return
            if bundle is self._failed and monotonic() < self._retry_at:
                return
            # A trial may be slow, so a bundle that fails is not tried again every second. It is
            # tried again, because what it lacked may come later.
            self._failed, self._retry_at = bundle, monotonic() + RETRY_SECONDS
            if self._full_check:
                bundle = self._load("full")
            for where in self._filters:
                open_part(bundle, where)
            try_out(bundle)
        except BaseException as error:  # nothing that a bundle raises may end the watch
            self._fail(error)
        else:
            former, self._bundle, self._failed = self._bundle, bundle, None
            self.reason = self._logged_error = None
            if former is not None and former.files is bundle.files and self._collection is None:
                return  # documents were added or deleted, perhaps every second
            here = not bundle.files.is_remote and self._collection is None
            self.quick = Quick() if here and is_lexical(bundle) else None
            verb = "serves"
            if former is not None:
                verb = "was replaced and serves"
                if former.files is bundle.files:
                    verb = "has other documents and serves"
                elif not former.files.is_remote:  # there, what a request still needs may be gone
                    self._former = former
            self._log("NOTICE", f"the bundle {shown(self._path)!r} {verb} {bundle.size}")

    def _load(self, check: Check) -> Bundle:
        strict = self._device == "cuda"
        return load(
            self._path, check=check, device=self._device, strict=strict,
            collection=self._collection,
        )  # fmt: skip

    def _fail(self, error: BaseException) -> None:
        if self._bundle is None:  # callers learn what is wrong; only the log says where and why
            there = is_address(self._path) or Path(self._path).exists()
            state = "cannot be read" if there else "is missing"
            self.reason = f"the bundle {state}; the server's log says more"
            outcome = "not ready"
        else:
            outcome = "the former bundle is still served"
        description = f"{type(error).__name__}: {error}"
        if description != self._logged_error:
            self._logged_error = description
            self._log(
                "ERROR",
                f"{outcome}; the bundle {shown(self._path)!r} cannot be served: {description}",
            )
