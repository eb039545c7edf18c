"""S3 for tests, by a server on this machine that speaks its protocol."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

BUCKET = "bundles"


@contextmanager
def s3_server() -> Iterator[str]:
    """Yield the address of a server; the test skips where the packages are missing."""
    pytest.importorskip("boto3")
    moto_server = pytest.importorskip("moto.server")
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def use_s3(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let boto3 call a server, with credentials that mean nothing."""
    given = {
        "AWS_ENDPOINT_URL_S3": endpoint,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)


@contextmanager
def empty_bucket(client: Any) -> Iterator[Any]:
    """Yield a client while there is an empty bucket, and close it."""
    client.create_bucket(Bucket=BUCKET)
    yield client
    for each in client.list_objects_v2(Bucket=BUCKET).get("Contents", []):
        client.delete_object(Bucket=BUCKET, Key=each["Key"])
    client.delete_bucket(Bucket=BUCKET)
    client.close()
