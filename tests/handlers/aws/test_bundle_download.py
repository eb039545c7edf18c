"""Bundles from S3, against a server that speaks its protocol: faults, replacements, processes."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Built
from tests.handlers.aws.conftest import ADDRESS, PLACE, digest, left
from tests.handlers.runtime_api import PATIENCE

from ranklet.handlers.aws import bundle_download
from ranklet.handlers.aws.bundle_download import fetch
from ranklet.handlers.aws.opening import open_bundle
from ranklet.runtime.errors import BundleError, InputError, RemoteError
from ranklet.runtime.object_storage import transport


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
    monkeypatch.setattr(transport, "COPIED", 16 << 10)
    monkeypatch.setenv("RANKLET_BUNDLE", ADDRESS)
    seen = watch()
    assert open_bundle().rank("dough")[0].id == "bread"
    parts = -(-len(data) // (16 << 10))
    assert len(seen.calls) == 1 + parts > 5
    source = fetch(ADDRESS)
    assert source.path.read_bytes() == data
    assert source.proven
    assert open_bundle() is open_bundle()
    assert len(seen.calls) == 4 + parts  # the ETag is the same, so nothing more is read
    assert left(tmp_path) == [".lock", ".zip"]
    assert source.path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_file_that_was_cut_is_downloaded_again(bucket: Any, tmp_path: Path) -> None:
    bucket.put_object(**PLACE, Body=b"0123456789")
    path = fetch(ADDRESS).path
    path.write_bytes(b"0123")
    assert fetch(ADDRESS).path.read_bytes() == b"0123456789"


@pytest.mark.slow
@pytest.mark.parametrize("published", ["metadata", "sibling", "variable"])
def test_an_object_with_another_digest_is_removed_and_reported(
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
    with pytest.raises(BundleError, match=f"has the sha256 {wrong}, but {right} was published"):
        open_bundle(ADDRESS)
    assert left(tmp_path) == [".lock"]
    bucket.put_object(**PLACE, Body=b"what was meant", Metadata=metadata)
    with pytest.raises(BundleError, match="neither a bundle's folder nor a zip"):
        open_bundle(ADDRESS)  # it is what was published, which was no bundle


@pytest.mark.slow
def test_a_malformed_digest_is_reported(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket.put_object(**PLACE, Body=b"x", Metadata={"sha256": "abc"})
    with pytest.raises(InputError, match=r"the metadata sha256 of s3://bundles/team/search.zip is"):
        fetch(ADDRESS)
    monkeypatch.setenv("RANKLET_BUNDLE_SHA256", "xyz")
    with pytest.raises(InputError, match="RANKLET_BUNDLE_SHA256 is 'xyz'"):
        open_bundle(ADDRESS)


def test_a_digest_of_what_is_no_object_is_refused(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKLET_BUNDLE_SHA256", "0" * 64)
    for where in (str(built.zipped), "https://example.org/a.zip"):
        with pytest.raises(InputError, match="compared only with what s3://bucket/key has"):
            open_bundle(where)


@pytest.mark.slow
def test_without_a_published_digest_the_bundles_own_are_checked(bucket: Any, built: Built) -> None:
    data = bytearray(built.zipped.read_bytes())
    at = data.index(b"knead")  # in a document's text: no rule but its digest can tell
    data[at : at + 5] = b"KNEAD"
    bucket.put_object(**PLACE, Body=bytes(data))
    with pytest.raises(BundleError, match="its sha256 differs"):
        open_bundle(ADDRESS)


@pytest.mark.slow
def test_an_object_replaced_while_it_is_read_is_read_anew_and_whole(
    bucket: Any, watch: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old, new = os.urandom(50_000), os.urandom(60_000)
    bucket.put_object(**PLACE, Body=old)
    monkeypatch.setattr(transport, "COPIED", 1000)

    def replace(name: str, count: int) -> None:
        if name == "get_object" and count == 20:
            bucket.put_object(**PLACE, Body=new)

    watch(replace)
    assert fetch(ADDRESS).path.read_bytes() == new
    assert left(tmp_path) == [".lock", ".zip"]


@pytest.mark.slow
def test_an_object_that_never_stands_still_is_given_up(
    bucket: Any, watch: Any, tmp_path: Path
) -> None:
    bucket.put_object(**PLACE, Body=b"version 0")

    def replace(name: str, count: int) -> None:
        bucket.put_object(**PLACE, Body=f"version {count}".encode())

    watch(replace)
    with pytest.raises(BundleError, match="was replaced 3 times while it was being read"):
        fetch(ADDRESS, digest(b"any"))
    assert left(tmp_path) == [".lock"]


@pytest.mark.slow
def test_a_full_disk_is_reported_before_the_download(
    bucket: Any, watch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put_object(**PLACE, Body=b"x" * 1000)

    class Usage:
        free = 999

    monkeypatch.setattr(bundle_download, "disk_usage", lambda _: Usage)
    seen = watch()
    with pytest.raises(
        BundleError, match=r"1,000 bytes, but .* has room for 999; give the function"
    ):
        fetch(ADDRESS, digest(b"any"))
    assert len(seen.calls) == 1


@pytest.mark.slow
def test_a_folder_that_others_can_write_is_refused(bucket: Any, tmp_path: Path) -> None:
    folder = tmp_path / f"ranklet-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(BundleError, match="others can write to it"):
        fetch(ADDRESS)
    folder.rename(tmp_path / "theirs")
    folder.symlink_to(tmp_path / "theirs")
    with pytest.raises(BundleError, match="others can write to it"):
        fetch(ADDRESS)


DOWNLOAD = """
import sys
from ranklet.handlers.aws.opening import open_bundle
from ranklet.runtime.object_storage import s3_ranges, transport
transport.COPIED = 4096
calls = []
client = s3_ranges.s3_client
def watched(*given, **options):
    made = client(*given, **options)
    get = made.get_object
    made.get_object = lambda **given: calls.append(1) or get(**given)
    return made
s3_ranges.s3_client = watched
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
    printed = [each.communicate(timeout=PATIENCE)[0].split() for each in running]
    assert [each[0] for each in printed] == ["bread"] * 3
    parts = -(-len(data) // 4096)
    assert sorted(int(each[1]) for each in printed) == [1, 1, 1 + parts]
    assert left(tmp_path) == [".lock", ".zip"]


@pytest.mark.slow
def test_parts_that_break_off_are_read_again(
    bucket: Any, watch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = os.urandom(20_000)
    bucket.put_object(**PLACE, Body=data)
    monkeypatch.setattr(transport, "COPIED", 1000)
    failing = iter([ConnectionResetError("reset"), TimeoutError("slow"), OSError("cut")] * 2)

    def fail(name: str, count: int) -> None:
        if count % 4 == 2:
            with suppress(StopIteration):
                raise next(failing)

    seen = watch(fail)
    assert fetch(ADDRESS, digest(data)).path.read_bytes() == data
    assert len(seen.calls) == 1 + 20 + 6


@pytest.mark.slow
def test_a_lasting_network_failure_is_reported_and_leaves_no_file(
    bucket: Any, watch: Any, tmp_path: Path
) -> None:
    bucket.put_object(**PLACE, Body=b"x" * 100)

    def fail(name: str, count: int) -> None:
        if count > 1:
            raise ConnectionResetError("reset by peer")

    watch(fail)
    with pytest.raises(RemoteError, match="ConnectionResetError: reset by peer"):
        fetch(ADDRESS, digest(b"any"))
    assert left(tmp_path) == [".lock"]


@pytest.mark.slow
def test_a_missing_object_is_reported(bucket: Any, tmp_path: Path) -> None:
    for address in (ADDRESS, "s3://no-such-bucket/key"):
        with pytest.raises(RemoteError, match="there is no such object"):
            fetch(address)
    assert left(tmp_path) == [".lock", ".lock"]


@pytest.mark.slow
def test_a_refused_access_is_reported_at_once(bucket: Any, watch: Any) -> None:
    from botocore.exceptions import ClientError, NoCredentialsError

    bucket.put_object(**PLACE, Body=b"x")
    refused = {"Error": {"Code": "403"}, "ResponseMetadata": {"HTTPStatusCode": 403}}
    for error, message in (
        (ClientError(refused, "GetObject"), "access denied .*; a role needs s3:GetObject"),
        (NoCredentialsError(), "Unable to locate credentials"),
    ):

        def deny(name: str, count: int, error: Exception = error) -> None:
            raise error

        seen = watch(deny)
        with pytest.raises(RemoteError, match=message):
            fetch(ADDRESS)
        assert len(seen.calls) == 1


@pytest.mark.slow
def test_a_bucket_that_may_not_be_listed_hides_that_no_digest_is_there(
    bucket: Any, watch: Any
) -> None:
    from botocore.exceptions import ClientError

    bucket.put_object(**PLACE, Body=b"x")
    refused = {"Error": {"Code": "403"}, "ResponseMetadata": {"HTTPStatusCode": 403}}

    def deny(name: str, count: int) -> None:
        if count == 2:  # the object with .sha256
            raise ClientError(refused, name)

    watch(deny)
    assert not fetch(ADDRESS).proven


def test_without_boto3_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3.session", None)
    with pytest.raises(BundleError, match=r"pip install 'ranklet\[s3\]'"):
        fetch(ADDRESS)
