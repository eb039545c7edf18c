"""One object of S3: parts that break off, networks that stay away, and what may not be read."""

import os
import sys
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from tests.handlers.aws.conftest import ADDRESS, PLACE, digest, left

from ranklet.handlers.aws import s3
from ranklet.handlers.aws.bundle_download import fetch
from ranklet.runtime.errors import BundleError


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_lasting_network_failure_is_reported_and_leaves_no_file(
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


@pytest.mark.slow
def test_a_missing_object_is_reported(bucket: Any, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="there is no such object; upload the bundle's zip"):
        fetch(ADDRESS)
    with pytest.raises(BundleError, match="no such object"):
        fetch("s3://no-such-bucket/key")
    assert left(tmp_path) == [".lock", ".lock"]


@pytest.mark.slow
def test_a_refused_access_is_reported(bucket: Any, watch: Any) -> None:
    from botocore.exceptions import ClientError, NoCredentialsError

    bucket.put_object(**PLACE, Body=b"x")
    refused = {"Error": {"Code": "403"}, "ResponseMetadata": {"HTTPStatusCode": 403}}

    def deny(name: str, count: int) -> None:
        raise ClientError(refused, name)

    seen = watch(deny)
    with pytest.raises(BundleError, match=r"access denied; the role needs s3:GetObject"):
        fetch(ADDRESS)
    assert seen.calls == ["head_object"]  # no second try

    def nobody(name: str, count: int) -> None:
        raise NoCredentialsError

    seen = watch(nobody)
    with pytest.raises(BundleError, match="Unable to locate credentials"):
        fetch(ADDRESS)
    assert seen.calls == ["head_object"]


@pytest.mark.slow
def test_a_bucket_that_may_not_be_listed_hides_that_no_digest_is_there(
    bucket: Any, watch: Any
) -> None:
    from botocore.exceptions import ClientError

    bucket.put_object(**PLACE, Body=b"x")
    refused = {"Error": {"Code": "403"}, "ResponseMetadata": {"HTTPStatusCode": 403}}

    def deny(name: str, count: int) -> None:
        if name == "get_object" and count == 1:  # the object with .sha256
            raise ClientError(refused, name)

    watch(deny)
    assert not fetch(ADDRESS).proven


def test_without_boto3_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3.session", None)
    with pytest.raises(BundleError, match=r"pip install 'ranklet\[s3\]'"):
        fetch(ADDRESS)


@pytest.mark.slow
def test_an_object_that_the_role_may_not_read_is_reported(bucket: Any, endpoint: str) -> None:
    bucket.put_object(**PLACE, Body=b"x")

    def allow_anonymous_calls(count: str) -> None:
        """Let the server check who calls only after so many requests, because it knows nobody."""
        connection = HTTPConnection(endpoint.removeprefix("http://"))
        connection.request("POST", "/moto-api/reset-auth", count, {"Content-Type": "text/plain"})
        assert connection.getresponse().status == 200
        connection.close()

    allow_anonymous_calls("0")
    try:
        with pytest.raises(BundleError, match="access denied"):
            fetch(ADDRESS)
    finally:
        allow_anonymous_calls("inf")
