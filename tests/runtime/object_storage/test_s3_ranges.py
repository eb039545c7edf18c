"""A bundle in S3, by a server that speaks its protocol."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.buckets import empty_bucket, s3_server, use_s3

from ranklet.runtime import Bundle, BundleError, RemoteError
from ranklet.runtime.object_storage import transport
from ranklet.runtime.object_storage.s3_ranges import s3_client

if TYPE_CHECKING:
    from tests.conftest import Built

pytest.importorskip("boto3")
ADDRESS = "s3://bundles/team/search.zip"
PLACE = {"Bucket": "bundles", "Key": "team/search.zip"}
QUERY = "how long to knead dough with water"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with s3_server() as address:
        yield address


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    use_s3(endpoint, monkeypatch)
    monkeypatch.setenv("RANKLET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(transport, "FIRST_PAUSE", 0.001)
    with empty_bucket(s3_client(2)) as client:
        yield client


@pytest.mark.slow
def test_it_answers_as_the_bundle_on_disk(bucket: Any, built: "Built") -> None:
    bucket.put_object(**PLACE, Body=built.zipped.read_bytes())
    far, near = Bundle(ADDRESS), Bundle(built.fused)
    assert list(far.rank(QUERY, explain=True)) == list(near.rank(QUERY, explain=True))


@pytest.mark.slow
def test_an_object_that_was_replaced_is_opened_again(bucket: Any, built: "Built") -> None:
    content = built.zipped.read_bytes()
    bucket.put_object(**PLACE, Body=content)
    far = Bundle(ADDRESS)
    assert far.files.is_current()
    bucket.put_object(**PLACE, Body=content + b"\0")
    assert not far.files.is_current()
    assert Bundle(ADDRESS).files.is_current()


def test_a_missing_object_is_an_error_of_one_line(bucket: Any) -> None:
    with pytest.raises(RemoteError, match="404") as raised:
        Bundle("s3://bundles/nothing.zip")
    assert "\n" not in str(raised.value)


def test_missing_credentials_are_an_error(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nothing")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nothing")
    with pytest.raises(RemoteError, match="Credentials"):
        Bundle(ADDRESS)


def test_without_boto3_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3.session", None)
    with pytest.raises(BundleError, match="boto3"):
        Bundle(ADDRESS)
