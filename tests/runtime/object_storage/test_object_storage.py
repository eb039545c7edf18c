"""A bundle on object storage answers as the same bundle on disk does, whatever the network does."""

import pickle
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from random import Random
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from tests.kinds import ROWS, reranked_by, retrieved_by
from tests.metadata_rows import CATEGORY, FIELDS, a_filter
from tests.range_server import RangeServer, Reply

from ranklet.runtime import (
    Bundle,
    BundleError,
    InputError,
    Query,
    RankletError,
    RemoteError,
    load,
    ranking,
)
from ranklet.runtime.bundles import files as bundle_files
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.object_storage import (
    block_file,
    block_store,
    http_ranges,
    remote_zip,
    transport,
)
from ranklet.runtime.rankers.verification import verify

if TYPE_CHECKING:
    from tests.conftest import Built, Described
    from tests.kinds import TinyRankers

QUERIES = ("how long to knead dough with water", "old motor", "a quiet stream", "nothing qqqq")


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(transport, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(http_ranges, "TIMEOUT", 5.0)
    monkeypatch.setenv("RANKLET_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read even tiny arrays by blocks, which are tiny, too."""
    monkeypatch.setattr(block_file, "BLOCK", 256)
    monkeypatch.setattr(block_store, "TAIL", 512)
    monkeypatch.setattr(block_store, "PART", 1024)
    monkeypatch.setattr(remote_zip, "HEAD", 300)
    for module in (bundle_files, remote_zip):
        monkeypatch.setattr(module, "SMALL", 0)


@pytest.fixture
def server(built: "Built") -> Iterator[RangeServer]:
    with RangeServer({"/b.zip": built.zipped.read_bytes()}) as made:
        yield made


def zipped(folder: Path, target: Path) -> bytes:
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder).as_posix())
    return target.read_bytes()


def answers(bundle: Bundle, query: Any, **options: Any) -> Any:
    """Return all of a ranking that does not depend on time."""
    made = bundle.rank(query, **options)
    hits = [(hit, bundle.highlight(hit) if options.get("explain") else []) for hit in made]
    return hits, made.counted()


# --------------------------------------------------------------------------------- equal answers


@pytest.mark.usefixtures("by_blocks")
@pytest.mark.parametrize("pipeline", [None, "bm25", "model1"])
def test_answers_are_those_of_the_bundle_on_disk(
    server: RangeServer, built: "Built", pipeline: str | None
) -> None:
    near, far = Bundle(built.fused), Bundle(server.address())
    stages = [{"stage": "retrieve", "ranker": "bm25", "k": 20}]
    if pipeline == "model1":
        stages.append({"stage": "rescore", "ranker": "model1"})
    for query in QUERIES:
        wanted = None if pipeline is None else stages
        assert answers(near, query, pipeline=wanted, k=7, explain=True) == answers(
            far, query, pipeline=wanted, k=7, explain=True
        )


@pytest.mark.usefixtures("by_blocks")
def test_every_call_of_a_bundle_answers_alike(server: RangeServer, built: "Built") -> None:
    near, far = Bundle(built.fused), Bundle(server.address())
    assert (len(near), near.size, near.sample_texts(3)) == (len(far), far.size, far.sample_texts(3))
    ids = [each for each, _ in near.rank_ids("dough and water", k=5)]
    assert near.rank_ids("dough and water", k=5) == far.rank_ids("dough and water", k=5)
    assert (near.score("knead dough", ids=ids) == far.score("knead dough", ids=ids)).all()
    assert near.explain("knead dough", ids[-1]) == far.explain("knead dough", ids[-1])
    own = ["knead the dough", "a motor"]
    assert answers(near, "dough", documents=own) == answers(far, "dough", documents=own)
    syntax = Query("dough", prefixes=("wat",), excluded=("motor",), typos=True)
    assert answers(near, syntax) == answers(far, syntax)
    said = " ".join(near.rank("dough")[0].text.split()[:4])
    phrase = Query.parse(f'"{said}" -"the motor" wat*')
    assert near.rank(phrase).hits
    assert answers(near, phrase) == answers(far, phrase)
    with pytest.raises(InputError, match="unknown document id"):
        far.score("dough", ids=["no such id"])


def test_a_bundle_on_the_hub_is_read_like_any_other(
    built: "Built", monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"/ada/books/resolve/v2/bundle.zip": built.zipped.read_bytes()}
    with RangeServer(files) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address("").rstrip("/"))
        far = Bundle("hf://ada/books@v2")
        assert answers(far, "knead the dough") == answers(Bundle(built.fused), "knead the dough")


def test_verify_reads_and_checks_everything(server: RangeServer, built: "Built") -> None:
    assert list(verify(server.address())) == list(verify(built.zipped))


@pytest.mark.slow
@pytest.mark.usefixtures("by_blocks")
@pytest.mark.parametrize("kind", ROWS)
def test_rankers_of_every_kind_answer_alike(kind: str, tiny: "TinyRankers", tmp_path: Path) -> None:
    near = tiny.bundle(kind)
    with RangeServer({"/b.zip": zipped(tiny.indexed(kind), tmp_path / "b.zip")}) as server:
        far = Bundle(server.address(), device="cpu")
        for name in ROWS[kind].rankers:
            pipelines = [reranked_by(name)] + [retrieved_by(name)] * KINDS[kind].retrieves
            for pipeline in pipelines:
                check_alike(near, far, pipeline)


def check_alike(near: Bundle, far: Bundle, pipeline: list[dict[str, Any]]) -> None:
    for query in ("quiet stream", "an old old fiddle", "gnorp winter"):
        options: dict[str, Any] = {"pipeline": pipeline, "k": 5, "explain": True}
        assert answers(near, query, **options) == answers(far, query, **options)


@pytest.mark.usefixtures("by_blocks")
def test_metadata_is_that_of_the_bundle_on_disk(described: "Described", tmp_path: Path) -> None:
    near = described.bundle
    random = Random(3)
    with RangeServer({"/b.zip": zipped(described.path, tmp_path / "b.zip")}) as server:
        far = Bundle(server.address())
        wanted: list[dict[str, Any]] = [{"k": 48}, {"group_by": CATEGORY, "k": 3, "group_size": 2}]
        wanted += [{"where": a_filter(random)} for _ in range(20)]
        wanted += [{"facets": [each], "sort": ["-due", CATEGORY]} for each in FIELDS]
        for options in wanted:
            assert answers(near, "dough water", **options) == answers(far, "dough water", **options)
        assert any(hit.metadata for hit in far.rank("dough", k=20))


# ----------------------------------------------------------------------------- what is requested


def test_a_query_reads_a_part_of_the_object_and_a_repeated_one_reads_nothing(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch, by_blocks: None
) -> None:
    far = Bundle(server.address())
    far.rank("knead dough", k=3, pipeline=[{"stage": "retrieve", "ranker": "bm25", "k": 3}])
    store = far.files.store
    assert store is not None
    size = len(server.objects["/b.zip"])
    assert len(server.requests) == store.requests + 2  # for additions and synonyms
    assert 0 < int((store._states > 0).sum()) * 256 < size
    before = len(server.requests)
    far.rank("knead dough", k=3, pipeline=[{"stage": "retrieve", "ranker": "bm25", "k": 3}])
    assert len(server.requests) == before


def test_threads_share_what_they_read(
    server: RangeServer, built: "Built", by_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_store, "GAP", 0)  # no blocks are read besides those that are missing
    near, far = Bundle(built.fused), Bundle(server.address())
    opening = len(server.requests)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: answers(far, query), QUERIES * 8))
    assert found == [answers(near, query) for query in QUERIES] * 8
    # No byte is read twice, because a thread waits for what another one reads.
    spans = []
    for each in server.requests[opening:]:
        if each.path != "/b.zip":  # the synonyms beside it
            continue
        begin, end = each.wanted.removeprefix("bytes=").split("-")
        spans.append((int(begin), int(end)))
    spans.sort()
    assert spans
    assert all(one[1] < other[0] for one, other in pairwise(spans))


def test_a_cache_that_was_damaged_is_read_again(
    server: RangeServer, built: "Built", tmp_path: Path
) -> None:
    wanted = answers(Bundle(built.fused), QUERIES[0])
    assert answers(Bundle(server.address()), QUERIES[0]) == wanted
    (file,) = (tmp_path / "cache/blocks").iterdir()
    content = bytearray(file.read_bytes())
    for at in range(5000, len(content), 1000):
        content[at] ^= 255
    file.write_bytes(content)
    before = len(server.requests)
    assert answers(Bundle(server.address()), QUERIES[0]) == wanted
    assert len(server.requests) > before + 1


# ----------------------------------------------------------------------------------- the network


def once(change: Callable[[Reply], None], number: int = 2) -> Callable[[int, Reply], None]:
    def fault(at: int, reply: Reply) -> None:
        if at == number:
            change(reply)

    return fault


def cut(reply: Reply) -> None:
    reply.headers["Content-Length"] = str(len(reply.body))
    reply.body, reply.close = reply.body[: len(reply.body) // 2], True


def fewer(reply: Reply) -> None:
    reply.body = reply.body[:-1]


def more(reply: Reply) -> None:
    reply.body += b"x"


def elsewhere(reply: Reply) -> None:
    span = reply.headers["Content-Range"].removeprefix("bytes ")
    begin, end = span.partition("/")[0].split("-")
    size = span.partition("/")[2]
    reply.headers["Content-Range"] = f"bytes {int(begin) + 1}-{int(end) + 1}/{size}"


def broken(reply: Reply) -> None:
    reply.status, reply.body = 500, b"internal error"


def busy(reply: Reply) -> None:
    reply.status, reply.body = 503, b""


FAULTS = {each.__name__: each for each in (cut, fewer, more, elsewhere, broken, busy)}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_range_is_read_again(server: RangeServer, built: "Built", fault: str) -> None:
    server.fault = once(FAULTS[fault])
    far = Bundle(server.address())
    assert answers(far, QUERIES[0]) == answers(Bundle(built.fused), QUERIES[0])


@pytest.mark.parametrize("fault", FAULTS)
def test_a_range_that_never_arrives_is_an_error_and_nothing_of_it_is_used(
    server: RangeServer, built: "Built", fault: str
) -> None:
    far = Bundle(server.address())
    healthy, server.fault = server.fault, lambda _, reply: FAULTS[fault](reply)
    before = len(server.requests)
    with pytest.raises(RemoteError) as raised:
        Bundle(server.address()).rank(QUERIES[0])
    assert "\n" not in str(raised.value)
    assert len(server.requests) <= before + transport.ATTEMPTS * transport.CONNECTIONS
    server.fault = healthy
    assert answers(far, QUERIES[0]) == answers(Bundle(built.fused), QUERIES[0])


def ignored(reply: Reply) -> None:
    reply.status, reply.body = 200, b"x" * 1000


def without_etag(reply: Reply) -> None:
    del reply.headers["ETag"]


def without_span(reply: Reply) -> None:
    del reply.headers["Content-Range"]


def compressed(reply: Reply) -> None:
    reply.headers["Content-Encoding"] = "gzip"


def forbidden(reply: Reply) -> None:
    reply.status, reply.body = 403, b""


def unknown(reply: Reply) -> None:
    reply.status, reply.body = 418, b""


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (ignored, "ignores ranges"),
        (without_etag, "sends no ETag"),
        (without_span, "Content-Range"),
        (compressed, "compressed"),
        (forbidden, "403"),
        (unknown, "418"),
    ],
)
def test_a_server_that_cannot_be_used_is_refused_at_once(
    server: RangeServer, fault: Callable[[Reply], None], message: str
) -> None:
    server.fault = lambda _, reply: fault(reply)
    with pytest.raises(RemoteError, match=message):
        Bundle(server.address())
    assert len(server.requests) <= 2


@pytest.mark.parametrize("status", [200, 400, 416])
def test_a_server_without_ranges_from_the_end_is_read_from_the_beginning(
    server: RangeServer, built: "Built", status: int
) -> None:
    def fault(_: int, reply: Reply) -> None:
        if server.requests[-1].wanted.startswith("bytes=-"):
            reply.status, reply.body = status, b"all"

    server.fault = fault
    far = Bundle(server.address())
    assert answers(far, QUERIES[0]) == answers(Bundle(built.fused), QUERIES[0])


def test_a_missing_object_is_reported_without_its_signature(server: RangeServer) -> None:
    with pytest.raises(RemoteError, match=r"404") as raised:
        Bundle(server.address("/other.zip?signature=secret"))
    assert "secret" not in str(raised.value)


def test_a_server_that_is_not_there_is_an_error_of_one_line() -> None:
    with RangeServer({}) as server:
        address = server.address()
    with pytest.raises(RemoteError, match="cannot be read") as raised:
        Bundle(address)
    assert "\n" not in str(raised.value)


def test_a_server_that_says_nothing_is_given_up(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = Event()
    monkeypatch.setattr(http_ranges, "TIMEOUT", 0.05)
    server.before = lambda _: never.wait(10)
    try:
        with pytest.raises(RemoteError, match=r"(?i)timed out"):
            Bundle(server.address())
    finally:
        never.set()


def test_redirections_are_followed(server: RangeServer, built: "Built") -> None:
    def fault(_: int, reply: Reply) -> None:
        if reply.status == 404:
            reply.status, reply.headers["Location"] = 302, "/b.zip"

    server.fault = fault
    far = Bundle(server.address("/moved"))
    assert answers(far, QUERIES[0]) == answers(Bundle(built.fused), QUERIES[0])
    assert [each.path for each in server.requests].count("/moved") == 1


def test_a_place_of_a_redirection_that_expired_is_looked_up_again(
    server: RangeServer, built: "Built"
) -> None:
    valid = "/signed-1"

    def fault(_: int, reply: Reply) -> None:
        path = server.requests[-1].path
        if path == "/moved":
            reply.status, reply.headers["Location"], reply.body = 302, valid, b""
        elif path != valid:
            reply.status, reply.body = 403, b""

    content = server.objects["/b.zip"]
    server.objects |= {"/moved": content, "/signed-1": content, "/signed-2": content}
    server.fault = fault
    far = Bundle(server.address("/moved"))
    valid = "/signed-2"
    near = Bundle(built.fused)
    assert [answers(far, each) for each in QUERIES] == [answers(near, each) for each in QUERIES]


@pytest.mark.parametrize(
    "address",
    [
        "http://", "http:///b.zip", "http://user:secret@host/b.zip", "http://host:99999/b.zip",
        "http://host/a b", "https://höst/b", "s3://bucket", "s3:///key", "http://[::1/b",
        "http://a..b/b", f"http://{'a' * 70}/b", "http://[::1%25lo]/b",
    ],
)  # fmt: skip
def test_malformed_addresses_are_refused(address: str) -> None:
    with pytest.raises(InputError) as raised:
        Bundle(address)
    assert "secret" not in str(raised.value)


# --------------------------------------------------------------------------------------- changes


def test_an_object_that_was_replaced_is_an_error_and_is_opened_again(
    server: RangeServer, built: "Built", by_blocks: None, tmp_path: Path
) -> None:
    far = load(server.address())
    far.rank("dough", k=1)
    server.objects["/b.zip"] = zipped(built.indexed, tmp_path / "other.zip")
    with pytest.raises(RemoteError, match="was replaced after it had been opened"):
        [far.rank(query, k=20) for query in QUERIES]
    again = load(server.address())
    assert again is not far
    assert answers(again, QUERIES[0]) == answers(Bundle(built.indexed), QUERIES[0])


@pytest.mark.parametrize("shorter", [False, True])
def test_a_server_that_ignores_if_match_is_caught_by_the_etag(
    shorter: bool, server: RangeServer, by_blocks: None
) -> None:
    far = Bundle(server.address())
    content = bytearray(server.objects["/b.zip"])
    content[len(content) // 2] ^= 1
    server.objects["/b.zip"] = bytes(content[:9] if shorter else content)

    original = server._answer
    server._answer = lambda path, headers: original(  # type: ignore[method-assign]
        path, {"Range": headers.get("Range", "")}
    )
    with pytest.raises(RemoteError, match="was replaced"):
        far.rank("dough", k=20)
    assert not far.files.is_current(look=False)


def test_load_looks_again_after_a_while(
    server: RangeServer, built: "Built", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = load(server.address())
    assert load(server.address()) is first
    server.objects["/b.zip"] = zipped(built.indexed, tmp_path / "other.zip")
    assert load(server.address()) is first
    monkeypatch.setattr(ranking, "LOOK_AGAIN", -1.0)
    second = load(server.address())
    assert second is not first
    assert load(server.address()) is second
    server.fault = lambda _, reply: broken(reply)
    assert load(server.address()) is second  # what cannot be looked up stays in use


def test_a_bundle_pickles_as_its_address(server: RangeServer) -> None:
    bundle = load(server.address())
    assert pickle.loads(pickle.dumps(bundle)) is bundle  # noqa: S301
    assert str(bundle.path) == server.address()
    assert bundle.path.name == "b.zip"


# ------------------------------------------------------------------------------------ bad objects


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x05\x06" + bytes(18)])
def test_an_object_that_is_no_bundle_is_reported(content: bytes) -> None:
    with RangeServer({"/b.zip": content}) as server, pytest.raises(RankletError) as raised:
        Bundle(server.address())
    assert "\n" not in str(raised.value)


def test_a_page_for_missing_files_is_no_list_of_additions(
    server: RangeServer, built: "Built"
) -> None:
    server.objects["/b.zip.additions/list.json"] = b"<html>Not found</html>"
    assert answers(Bundle(server.address()), "dough") == answers(Bundle(built.fused), "dough")


def test_a_file_that_differs_from_its_sha256_is_refused_and_read_again(
    server: RangeServer, built: "Built"
) -> None:
    healthy = server.objects["/b.zip"]
    with zipfile.ZipFile(built.zipped) as archive:
        member = archive.getinfo("text/forms.npy")
    at = member.header_offset + 30 + len(member.filename) + 300
    changed = bytearray(healthy)
    changed[at] ^= 1
    # The same ETag for both, as a server has that makes it of time and size.
    server.fault = lambda _, reply: reply.headers.update({"ETag": '"same"'})
    original = server._answer
    server._answer = lambda path, headers: original(  # type: ignore[method-assign]
        path, {"Range": headers.get("Range", "")}
    )
    server.objects["/b.zip"] = bytes(changed)
    with pytest.raises(BundleError, match="arrived changed"):
        Bundle(server.address()).rank("dough")
    server.objects["/b.zip"] = healthy
    assert answers(Bundle(server.address()), "dough") == answers(Bundle(built.fused), "dough")
