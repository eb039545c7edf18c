"""The bundle that a server answers from: loaded, tried, and loaded anew where it was replaced."""

from collections.abc import Callable
from pathlib import Path
from time import monotonic

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.server.trial import try_out
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import RankletError
from ranklet.runtime.ranking import load
from ranklet.runtime.storage.bundle_files import Check

Log = Callable[[str, str], None]  # severity, message
AGAIN_SECONDS = 30.0  # between two trials of a bundle that did not answer


class Served:
    """A bundle, or the reason why there is none.

    `refresh` is called by one thread, again and again; the others only read.

    Args:
        path: of the bundle.
        full_check: compare the sha256 of every file before a bundle is served.
        device: where models run; ``cuda`` is a must, ``auto`` a wish.
        log: is told once of every change.
    """

    def __init__(self, path: str, full_check: bool, device: str, log: Log) -> None:
        self._path, self._full_check, self._device, self._log = path, full_check, device, log
        self._bundle: Bundle | None = None
        self._refused: Bundle | None = None
        self._again_at = 0.0
        self._told: str | None = None
        self.reason: str | None = "the bundle is being loaded"

    @property
    def bundle(self) -> Bundle:
        """The bundle; RequestError (503) where there is none that can be read."""
        if self._bundle is None:
            raise RequestError(503, f"not ready: {self.reason}")
        return self._bundle

    def refresh(self) -> None:
        """Look whether the bundle is there, is new, and answers.

        A new one that cannot be read does not take the place of an old one that can.
        """
        try:
            found = self._load("fast")
            if found is self._bundle:
                self._told = None
                return
            if found is self._refused and monotonic() < self._again_at:
                return
            # Until it has answered; the same one is tried again, but not every second: it may be
            # large, and what it lacked may come later.
            self._refused, self._again_at = found, monotonic() + AGAIN_SECONDS
            if self._full_check:
                found = self._load("full")
            try_out(found)
        except (RankletError, OSError) as error:
            self._fail(error)
        except Exception as error:  # damage that no rule foresaw must not end the watch
            self._fail(error)
        else:
            held = self._bundle
            self._bundle, self._refused = found, None
            self.reason = self._told = None
            verb = "serves" if held is None else "was replaced and serves"
            self._log("NOTICE", f"the bundle {self._path!r} {verb} {len(found):,} documents")

    def _load(self, check: Check) -> Bundle:
        strict = self._device == "cuda"
        return load(self._path, check=check, device=self._device, strict=strict)

    def _fail(self, error: Exception) -> None:
        told = f"{type(error).__name__}: {error}"
        if self._bundle is None:  # callers are told what, and only the log where and why
            state = "cannot be read" if Path(self._path).exists() else "is missing"
            self.reason = f"the bundle {state}; the server's log says more"
            outcome = "not ready"
        else:
            outcome = "the former bundle is still served"
        if told != self._told:
            self._told = told
            self._log("ERROR", f"{outcome}; the bundle {self._path!r} cannot be served: {told}")
