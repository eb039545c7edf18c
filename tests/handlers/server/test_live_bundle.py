"""The bundle that serves: it comes late, is damaged, is replaced, and is tried before it serves."""

import shutil
from collections import Counter
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import Built
from tests.range_server import RangeServer
from tests.updates import WHOLE, indexed

from ranklet.corpus.building.writer import write_zip
from ranklet.corpus.updating.update import update
from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.server.live_bundle import LiveBundle
from ranklet.runtime import ranking

if TYPE_CHECKING:
    from tests.handlers.conftest import Start


class Watched:
    """A live bundle of a path, and what it logs."""

    def __init__(self, path: Path | str, full_check: bool = False, device: str = "auto") -> None:
        self.lines: list[str] = []
        self.live = LiveBundle(str(path), full_check, device, self._log, (), "")

    def _log(self, severity: str, message: str) -> None:
        self.lines.append(f"{severity} {message}")

    def reason(self) -> str | None:
        return self.live.reason

    def refresh(self) -> str:
        """Look once, and return what is logged of it, "" for nothing."""
        before = len(self.lines)
        self.live.refresh()
        assert len(self.lines) <= before + 1
        return "".join(self.lines[before:])


def put(bundle: Path | None, path: Path) -> None:
    """Put a copy of a bundle at a path, or an empty folder, as a deployment does: by renaming."""
    if path.exists():
        path.rename(path.with_name(f"old{len(list(path.parent.iterdir()))}"))
    coming = path.with_name("coming")
    if bundle is None:
        coming.mkdir()
    else:
        shutil.copytree(bundle, coming)
    coming.rename(path)


@pytest.mark.slow
def test_a_bundle_on_object_storage_is_replaced_while_it_serves(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKLET_CACHE", str(tmp_path / "cache"))
    write_zip(built.indexed, tmp_path / "other.zip")
    with RangeServer({"/b.zip": built.zipped.read_bytes()}) as server:
        watched = Watched(server.address())
        assert "serves 42 documents" in watched.refresh()
        first = watched.live.bundle
        assert watched.refresh() == ""
        server.objects["/b.zip"] = (tmp_path / "other.zip").read_bytes()
        monkeypatch.setattr(ranking, "LOOK_AGAIN", -1.0)  # no half minute passes here
        assert "was replaced and serves" in watched.refresh()
        assert watched.live.bundle is not first
        del server.objects["/b.zip"]
        assert watched.refresh() == ""  # what is being served goes on
    missing = Watched(server.address("/other.zip"))
    assert "cannot be read" in missing.refresh()
    assert "cannot be read" in str(missing.reason())


def test_a_bundle_may_come_late_and_its_absence_is_logged_once(
    built: Built, tmp_path: Path
) -> None:
    path = tmp_path / "late.ranklet"
    watched = Watched(path)
    assert watched.reason() == "the bundle is being loaded"
    assert str(path) in watched.refresh()
    assert watched.refresh() == watched.refresh() == ""
    assert watched.reason() == "the bundle is missing; the server's log says more"
    with pytest.raises(RequestError, match="not ready: the bundle is missing") as caught:
        _ = watched.live.bundle
    assert caught.value.status == 503
    put(built.fused, path)
    assert watched.refresh() == f"NOTICE the bundle {str(path)!r} serves 42 documents"
    assert watched.reason() is None
    assert watched.live.bundle.rank("dough")[0].id == "bread"


def test_a_new_bundle_takes_the_place_of_an_old_one_unless_it_cannot_be_read(
    built: Built, tmp_path: Path
) -> None:
    path = tmp_path / "served.ranklet"
    put(built.indexed, path)
    watched = Watched(path)
    watched.refresh()
    first = watched.live.bundle
    assert watched.refresh() == ""
    assert watched.live.bundle is first
    put(built.fused, path)
    assert "was replaced and serves 42 documents" in watched.refresh()
    second = watched.live.bundle
    assert second.manifest.default_pipeline != first.manifest.default_pipeline
    put(None, path)
    assert "ERROR the former bundle is still served" in watched.refresh()
    assert watched.refresh() == ""
    assert (watched.live.bundle, watched.reason()) == (second, None)


@pytest.mark.parametrize("how", ["cut", "changed", "no manifest"])
def test_a_damaged_bundle_never_serves(built: Built, tmp_path: Path, how: str) -> None:
    path = tmp_path / "damaged.ranklet"
    shutil.copytree(built.fused, path)
    impacts = path / "rankers" / "bm25" / "impacts.npy"
    if how == "no manifest":
        (path / "manifest.json").unlink()
    else:
        data = impacts.read_bytes()
        impacts.write_bytes(data[:-1] if how == "cut" else data[:-1] + b"\x01")
    watched = Watched(path, full_check=True)
    assert watched.refresh().startswith("ERROR not ready; ")
    assert watched.reason() == "the bundle cannot be read; the server's log says more"


@pytest.mark.slow
def test_the_server_waits_for_a_bundle_and_follows_it(
    start: "Start", built: Built, tmp_path: Path
) -> None:
    path = tmp_path / "late.ranklet"
    with start(path, ready=False) as server:

        def default() -> Any:
            return server.ask("GET", "/info").json().get("default_pipeline")

        server.wait(lambda: any(line["severity"] == "ERROR" for line in server.log()))
        reply = server.ask("GET", "/readyz")
        assert reply.status == 503
        assert reply.headers["retry-after"] == "1"
        reason = "the bundle is missing; the server's log says more"
        assert reply.json() == {"ready": False, "reason": reason}
        assert server.ask("GET", "/healthz").status == 200
        refused = server.post("/rank", {"query": "dough"})
        assert refused.status == 503
        assert str(tmp_path) not in refused.body.decode()
        put(built.indexed, path)
        server.wait(lambda: server.ask("GET", "/readyz").status == 200)
        first = default()
        put(built.fused, path)
        server.wait(lambda: default() != first)
        put(None, path)
        server.wait(lambda: any("still served" in line["message"] for line in server.log()))
        assert server.ask("GET", "/readyz").status == 200
        assert server.post("/rank", {"query": "dough"}).status == 200
        assert server.stop() == 0


def versioned(version: int) -> list[dict[str, str]]:
    """Return documents of one version, whose texts all have the same length."""
    return [{"id": f"d{at}", "text": f"dough of version {version:04}"} for at in range(6)]


@pytest.mark.slow
def test_no_request_fails_or_mixes_versions_while_the_bundle_is_updated(
    start: "Start", built: Built, tmp_path: Path
) -> None:
    path, replacements, least = tmp_path / "served", 5, 400
    indexed(built.exported, versioned(0), path, WHOLE)
    seen: Counter[str] = Counter()
    problems: list[Any] = []
    done = Event()

    def ask(server: Any) -> None:
        while not done.is_set():
            reply = server.post("/rank", {"query": "dough", "pipeline": "bm25"})
            texts = {hit["text"] for hit in reply.json().get("hits", [])}
            if reply.status != 200 or len(texts) != 1 or len(reply.json()["hits"]) != 6:
                problems.append((reply.status, reply.body))
            seen.update(texts)

    with start(path) as server:
        threads = [Thread(target=ask, args=(server,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for version in range(1, replacements + 1):
                update(path, versioned(version))
                server.wait(lambda wanted=f"version {version:04}": any(wanted in t for t in seen))
            server.wait(lambda: seen.total() >= least)
        finally:
            done.set()
            for thread in threads:
                thread.join()
        assert problems == []
        assert len(seen) == replacements + 1
        assert not [line for line in server.log() if line["severity"] == "ERROR"]
        assert server.stop() == 0
