"""Ranges of an object in S3 by boto3, which is imported when it is used."""

import os
import re
from threading import Lock
from typing import Any

from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.ground.extras import install
from ranklet.runtime.object_storage.transport import CONNECTIONS, BrokenRangeError, Part, Transport
from ranklet.runtime.storage.address import Address

_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")


class S3Ranges(Transport):
    """Reads ranges from S3, or from another storage with its protocol.

    boto3 finds region, endpoint and credentials itself.

    Args:
        address: ``s3://bucket/key``.

    Raises:
        InputError: the address has no bucket or no key.
        BundleError: boto3 is not installed.
    """

    FORBIDDEN = "; a role needs s3:GetObject on it, and kms:Decrypt on its key if it is encrypted"

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        bucket, _, key = address.raw.partition("://")[2].partition("/")
        if not bucket or not key:
            raise InputError(f"{str(address)[:200]!r} is no address; give s3://bucket/key")
        self._place = {"Bucket": bucket, "Key": key}
        self._client: Any = None
        self._lock, self._process = Lock(), os.getpid()

    def _read(self, wanted: str, most: int, etag: str | None) -> Part:
        condition = {} if etag is None else {"IfMatch": etag}
        with self._lock:
            # Two processes must not share connections.
            if self._client is None or self._process != os.getpid():
                self._process = os.getpid()
                self._client = s3_client(CONNECTIONS, attempts=1)
        try:
            answer = self._client.get_object(**self._place, Range=wanted, **condition)
            span = _CONTENT_RANGE.fullmatch(answer.get("ContentRange", ""))
            data: bytes = b"" if span is None else answer["Body"].read(most + 1)
        except Exception as error:  # boto3, urllib3 and the network raise many kinds
            status = read_status(error)
            if status is not None:
                raise self.status(status) from error
            name = type(error).__name__
            reason = f"{name}: {' '.join(str(error).split())}"
            if "Credentials" in name or "Validation" in name:  # there are none, or no such bucket
                raise self.refused(reason) from error
            raise BrokenRangeError(reason) from error
        if span is None:
            raise self.status(200)
        begin, last, size = map(int, span.groups())
        if len(data) != last + 1 - begin:
            raise BrokenRangeError(f"{len(data):,} bytes arrived of {last + 1 - begin:,}")
        return Part(data, begin, size, answer["ETag"])

    def close(self) -> None:
        """Close the connections; the next range opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = None


def s3_client(connections: int, *, attempts: int = 4) -> Any:
    """Return an S3 client.

    Args:
        connections: how many it keeps.
        attempts: how often boto3 itself tries a call.

    Raises:
        BundleError: boto3 is not installed, or finds no region.
    """
    try:
        from boto3.session import Session
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise BundleError(
            f"an address s3://… needs boto3; run {install('s3')}, or give a path"
        ) from error
    config = Config(
        connect_timeout=5,
        read_timeout=30,
        max_pool_connections=connections,
        retries={"mode": "standard", "total_max_attempts": attempts},
    )
    try:
        return Session().client("s3", config=config)
    except (BotoCoreError, ValueError) as error:  # no region, a malformed endpoint
        raise BundleError(f"S3 cannot be used: {error}") from error


def read_status(error: Exception) -> int | None:
    """Return the HTTP status of S3's refusal, None for any other error."""
    response = getattr(error, "response", None)
    metadata = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
    status = metadata.get("HTTPStatusCode")
    return status if isinstance(status, int) else None
