"""Bundles from S3, against a server that speaks its protocol: faults, replacements, processes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Built
from tests.handlers.runtime_api import Function, RuntimeAPI

from ranklet.handlers.aws import bundle_download as bundle_source
from ranklet.handlers.aws import s3
from ranklet.handlers.aws.bundle_download import fetch, open_bundle
from ranklet.handlers.aws.sqs import Results
from ranklet.runtime.errors import BundleError, InputError

boto3 = pytest.importorskip("boto3")
moto_server = pytest.importorskip("moto.server")

ADDRESS = "s3://bundles/team/search.zip"
PLACE = {"Bucket": "bundles", "Key": "team/search.zip"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Return a client of an empty bucket; what is downloaded goes to a folder of the test's."""
    given = {
        "AWS_ENDPOINT_URL_S3": endpoint,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "TMPDIR": str(tmp_path),
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", None)  # so that TMPDIR is read
    monkeypatch.setattr(s3, "FIRST_PAUSE", 0.001)
    client = s3.client()
    client.create_bucket(Bucket="bundles")
    yield client
    for each in client.list_objects_v2(Bucket="bundles").get("Contents", []):
        client.delete_object(Bucket="bundles", Key=each["Key"])
    client.delete_bucket(Bucket="bundles")
    client.close()


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def left(folder: Path) -> list[str]:
    """Return the suffixes of what a download left behind."""
    return sorted(path.suffix for path in folder.rglob("*") if path.is_file())


class Watched:
    """A client that counts what it is asked for, and may do something before it answers."""

    def __init__(self, client: Any, before: Callable[[str, int], None] | None = None) -> None:
        self._client, self._before = client, before
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)

        def watched(*given: Any, **options: Any) -> Any:
            self.calls.append(name)
            if self._before is not None:
                self._before(name, self.calls.count(name))
            return call(*given, **options)

        return watched if name in ("get_object", "head_object") else call


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Watched]:
    def watched(before: Callable[[str, int], None] | None = None) -> Watched:
        made = Watched(s3.client(), before)
        monkeypatch.setattr(s3, "client", lambda: made)
        return made

    return watched


def test_a_path_is_opened_where_it_lies(
    built: Built, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for path in (built.fused, built.zipped):
        monkeypatch.setenv("RANKLET_BUNDLE", str(path))
        assert open_bundle().rank("dough")[0].id == "bread"
        assert open_bundle(str(path)) is open_bundle()
    monkeypatch.delenv("RANKLET_BUNDLE")
    with pytest.raises(InputError, match=r"set RANKLET_BUNDLE to a path or to s3://bucket/key"):
        open_bundle()


@pytest.mark.parametrize("address", ["s3://", "s3://bundles", "s3://bundles/", "s3:///key"])
def test_an_address_has_a_bucket_and_a_key(address: str) -> None:
    with pytest.raises(InputError, match="give s3://bucket/key"):
        fetch(address)


def test_an_object_is_downloaded_once_and_served(
    bucket: Any, built: Built, watch: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = built.zipped.read_bytes()
    bucket.put_object(**PLACE, Body=data, Metadata={"sha256": digest(data)})
    monkeypatch.setattr(s3, "PART_BYTES", 16 << 10)
    monkeypatch.setenv("RANKLET_BUNDLE", ADDRESS)
    seen = watch()
    assert open_bundle().rank("dough")[0].id == "bread"
    parts = -(-len(data) // (16 << 10))
    assert seen.calls.count("get_object") == parts > 4
    source = fetch(ADDRESS)
    assert source.path.read_bytes() == data
    assert source.proven
    assert open_bundle() is open_bundle()
    assert seen.calls.count("get_object") == parts  # the ETag is the same, so nothing is read
    assert left(tmp_path) == [".lock", ".zip"]
    assert source.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_new_version_is_a_new_file_and_the_old_one_stays_mapped(
    bucket: Any, built: Built, tmp_path: Path
) -> None:
    old = built.zipped.read_bytes()
    bucket.put_object(**PLACE, Body=old)
    loaded = open_bundle(ADDRESS)
    first = fetch(ADDRESS).path
    bucket.put_object(**PLACE, Body=old + b"\0" * 5)
    second = fetch(ADDRESS).path
    assert first != second
    assert first.exists()  # another process may be about to map it
    os.utime(first, (time.time() - 7200,) * 2)
    assert fetch(ADDRESS).path == second
    assert not first.exists()
    assert loaded.rank("dough")[0].id == "bread"


def test_a_file_that_was_cut_is_downloaded_again(bucket: Any, tmp_path: Path) -> None:
    bucket.put_object(**PLACE, Body=b"0123456789")
    path = fetch(ADDRESS).path
    path.write_bytes(b"0123")
    assert fetch(ADDRESS).path.read_bytes() == b"0123456789"


@pytest.mark.parametrize("published", ["metadata", "sibling", "variable"])
def test_an_object_that_is_not_what_was_published_is_removed_and_told(
    bucket: Any, published: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    right, wrong = digest(b"what was meant"), digest(b"something else")
    metadata = {"sha256": right} if published == "metadata" else {}
    bucket.put_object(**PLACE, Body=b"something else", Metadata=metadata)
    if published == "sibling":
        key = PLACE["Key"] + ".sha256"
        bucket.put_object(Bucket="bundles", Key=key, Body=f"{right}  search.zip\n".encode())
    if published == "variable":
        monkeypatch.setenv("RANKLET_BUNDLE_SHA256", right.upper())
    with pytest.raises(BundleError, match=f"has the sha256 {wrong}, and {right} was published"):
        open_bundle(ADDRESS)
    assert left(tmp_path) == [".lock"]
    bucket.put_object(**PLACE, Body=b"what was meant", Metadata=metadata)
    with pytest.raises(BundleError, match="neither a bundle's folder nor a zip"):
        open_bundle(ADDRESS)  # it is what was published, which was no bundle


def test_what_is_no_digest_is_told(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket.put_object(**PLACE, Body=b"x", Metadata={"sha256": "abc"})
    with pytest.raises(InputError, match=r"the metadata sha256 of s3://bundles/team/search.zip is"):
        fetch(ADDRESS)
    with pytest.raises(InputError, match="RANKLET_BUNDLE_SHA256 is 'xyz'"):
        fetch(ADDRESS, "xyz")


def test_without_a_published_digest_the_bundles_own_are_checked(bucket: Any, built: Built) -> None:
    data = bytearray(built.zipped.read_bytes())
    at = data.index(b"knead")  # in a document's text: no rule but its digest can tell
    data[at : at + 5] = b"KNEAD"
    bucket.put_object(**PLACE, Body=bytes(data))
    with pytest.raises(BundleError, match="its sha256 differs"):
        open_bundle(ADDRESS)


def test_an_object_replaced_while_it_is_read_is_read_anew_and_whole(
    bucket: Any, watch: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old, new = os.urandom(50_000), os.urandom(60_000)
    bucket.put_object(**PLACE, Body=old)
    monkeypatch.setattr(s3, "PART_BYTES", 1000)

    def replace(name: str, count: int) -> None:
        if name == "get_object" and count == 20:
            bucket.put_object(**PLACE, Body=new)

    seen = watch(replace)
    assert fetch(ADDRESS).path.read_bytes() == new
    assert seen.calls.count("head_object") == 2
    assert left(tmp_path) == [".lock", ".zip"]


def test_an_object_that_never_stands_still_is_given_up(
    bucket: Any, watch: Any, tmp_path: Path
) -> None:
    bucket.put_object(**PLACE, Body=b"version 0")

    def replace(name: str, count: int) -> None:
        if name == "get_object":
            bucket.put_object(**PLACE, Body=f"version {count}".encode())

    watch(replace)
    with pytest.raises(BundleError, match="was replaced 3 times while it was being read"):
        fetch(ADDRESS, digest(b"any"))
    assert left(tmp_path) == [".lock"]


def test_parts_that_break_off_are_read_again(
    bucket: Any, watch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = os.urandom(20_000)
    bucket.put_object(**PLACE, Body=data)
    monkeypatch.setattr(s3, "PART_BYTES", 1000)
    failing = iter([ConnectionResetError("reset"), TimeoutError("slow"), OSError("cut")] * 2)

    def fail(name: str, count: int) -> None:
        if name == "get_object" and count % 4 == 2:
            with suppress(StopIteration):
                raise next(failing)

    seen = watch(fail)
    assert fetch(ADDRESS, digest(data)).path.read_bytes() == data
    assert seen.calls.count("get_object") == 20 + 6


def test_a_network_that_stays_away_is_told_and_leaves_nothing(
    bucket: Any, watch: Any, tmp_path: Path
) -> None:
    bucket.put_object(**PLACE, Body=b"x" * 100)

    def fail(name: str, count: int) -> None:
        if name == "get_object":
            raise ConnectionResetError("reset by peer")

    watch(fail)
    with pytest.raises(BundleError, match="ConnectionResetError: reset by peer"):
        fetch(ADDRESS, digest(b"any"))
    assert left(tmp_path) == [".lock"]


def test_what_is_not_there_is_told(bucket: Any, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="there is no such object; upload the bundle's zip"):
        fetch(ADDRESS)
    with pytest.raises(BundleError, match="no such object"):
        fetch("s3://no-such-bucket/key")
    assert left(tmp_path) == [".lock", ".lock"]


def test_what_may_not_be_read_is_told(bucket: Any, watch: Any) -> None:
    from botocore.exceptions import ClientError, NoCredentialsError

    bucket.put_object(**PLACE, Body=b"x")
    refused = {"Error": {"Code": "403"}, "ResponseMetadata": {"HTTPStatusCode": 403}}

    def deny(name: str, count: int) -> None:
        raise ClientError(refused, name)

    seen = watch(deny)
    with pytest.raises(BundleError, match=r"access denied .*the role needs s3:GetObject"):
        fetch(ADDRESS)
    assert seen.calls == ["head_object"]  # no second try

    def nobody(name: str, count: int) -> None:
        raise NoCredentialsError

    seen = watch(nobody)
    with pytest.raises(BundleError, match="Unable to locate credentials"):
        fetch(ADDRESS)
    assert seen.calls == ["head_object"]


def test_a_bucket_that_may_not_be_listed_hides_that_no_digest_is_there(
    bucket: Any, watch: Any
) -> None:
    from botocore.exceptions import ClientError

    bucket.put_object(**PLACE, Body=b"x")
    refused = {"Error": {"Code": "403"}, "ResponseMetadata": {"HTTPStatusCode": 403}}

    def deny(name: str, count: int) -> None:
        if name == "get_object" and count == 1:  # the .sha256 beside it
            raise ClientError(refused, name)

    watch(deny)
    assert not fetch(ADDRESS).proven


def test_a_full_disk_is_told_before_anything_is_read(
    bucket: Any, watch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put_object(**PLACE, Body=b"x" * 1000)

    class Usage:
        free = 999

    monkeypatch.setattr(bundle_source, "disk_usage", lambda _: Usage)
    seen = watch()
    with pytest.raises(
        BundleError, match=r"1,000 bytes and .* has room for 999; give the function"
    ):
        fetch(ADDRESS, digest(b"any"))
    assert seen.calls == ["head_object"]


def test_a_folder_that_others_can_write_is_refused(bucket: Any, tmp_path: Path) -> None:
    folder = tmp_path / f"ranklet-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(BundleError, match="only this user can write"):
        fetch(ADDRESS)
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(BundleError, match="only this user can write"):
        fetch(ADDRESS)


def test_without_boto3_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3.session", None)
    with pytest.raises(BundleError, match=r"pip install 'ranklet\[s3\]'"):
        fetch(ADDRESS)


DOWNLOAD = """
import sys
from ranklet.handlers.aws import s3
from ranklet.handlers.aws.bundle_download import open_bundle
s3.PART_BYTES = 4096
calls = []
client = s3.client
def watched():
    made = client()
    get = made.get_object
    made.get_object = lambda **given: calls.append(1) or get(**given)
    return made
s3.client = watched
print(open_bundle(sys.argv[1]).rank("dough")[0].id, len(calls))
"""


@pytest.mark.slow
def test_of_several_processes_one_downloads_and_all_serve(
    bucket: Any, built: Built, tmp_path: Path
) -> None:
    data = built.zipped.read_bytes()
    bucket.put_object(**PLACE, Body=data, Metadata={"sha256": digest(data)})
    command = [sys.executable, "-W", "error", "-c", DOWNLOAD, ADDRESS]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    printed = [each.communicate(timeout=60)[0].split() for each in running]
    assert [each[0] for each in printed] == ["bread"] * 3
    parts = -(-len(data) // 4096)
    assert sorted(int(each[1]) for each in printed) == [0, 0, parts]
    assert left(tmp_path) == [".lock", ".zip"]


def test_answers_to_a_queue_are_written_beside_one_another(bucket: Any) -> None:
    results = Results("s3://bundles/answers/today/")
    results.put("a-message", '{"query": "é"}')
    results.close()
    results.put("../other", "{}")
    results.close()
    found = bucket.get_object(Bucket="bundles", Key="answers/today/a-message.json")
    assert found["Body"].read() == '{"query": "é"}'.encode()
    assert found["ContentType"] == "application/json"
    keys = [each["Key"] for each in bucket.list_objects_v2(Bucket="bundles")["Contents"]]
    assert keys == ["answers/today/..%2Fother.json", "answers/today/a-message.json"]


@pytest.mark.slow
def test_workers_of_a_function_share_a_download_and_write_a_queues_answers(
    bucket: Any, built: Built, tmp_path: Path
) -> None:
    pytest.importorskip("awslambdaric")
    data = built.zipped.read_bytes()
    bucket.put_object(**PLACE, Body=data, Metadata={"sha256": digest(data)})
    event = (Path(__file__).parent.parent / "events" / "sqs.json").read_bytes()
    variables = {
        "RANKLET_BUNDLE": ADDRESS,
        "RANKLET_RESULTS": "s3://bundles/answers",
        "AWS_LAMBDA_MAX_CONCURRENCY": "2",
    }
    with RuntimeAPI() as api, Function(api, tmp_path, **variables) as function:
        function.wait_for("ready", 2)
        invocations = [api.send(event) for _ in range(4)]
        for each in invocations:
            (failed,) = each.answer["batchItemFailures"]
            assert failed["itemIdentifier"].startswith("22222222")
    assert left(tmp_path / f"ranklet-{os.getuid()}") == [".lock", ".zip"]
    found = bucket.list_objects_v2(Bucket="bundles", Prefix="answers/")["Contents"]
    assert [each["Key"][:16] for each in found] == ["answers/11111111", "answers/33333333"]
    answer = bucket.get_object(Bucket="bundles", Key=found[0]["Key"])["Body"].read()
    assert json.loads(answer)["hits"][0]["id"] == "bread"


def test_what_a_role_may_not_read_is_told(bucket: Any, endpoint: str) -> None:
    bucket.put_object(**PLACE, Body=b"x")

    def unasked(count: str) -> None:
        """Let the server ask who calls after so many requests; it knows nobody."""
        connection = HTTPConnection(endpoint.removeprefix("http://"))
        connection.request("POST", "/moto-api/reset-auth", count, {"Content-Type": "text/plain"})
        assert connection.getresponse().status == 200
        connection.close()

    unasked("0")
    try:
        with pytest.raises(BundleError, match="access denied"):
            fetch(ADDRESS)
    finally:
        unasked("inf")
