"""One object of S3, read as it was when first looked at; boto3 is imported here only, when used."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn

from ranklet.runtime.errors import BundleError

PART_BYTES = 8 << 20  # one request; also what is lost where one breaks off
PARTS_AT_ONCE = 4
ATTEMPTS = 4  # for each part
FIRST_PAUSE = 0.2  # seconds, doubled each time
MOST_SIBLING_BYTES = 4096


class MovedError(Exception):
    """The object is no longer the one that was looked at."""


@dataclass(frozen=True)
class Object:
    """What S3 says about an object: `digest` is its metadata ``sha256``."""

    etag: str
    size: int  # bytes
    digest: str | None


class Store:
    """An object's place in S3.

    Args:
        bucket, key: where it is. Region, endpoint and credentials are boto3's own business.
    """

    def __init__(self, bucket: str, key: str) -> None:
        self.address = f"s3://{bucket}/{key}"
        self._place = {"Bucket": bucket, "Key": key}

    def __enter__(self) -> "Store":
        """Open connections; they are closed at the end, so no snapshot or fork shares one."""
        self._client = client()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def head(self) -> Object:
        """Look at the object.

        Raises:
            BundleError: it is not there, may not be read, or S3 cannot be reached.
        """
        found = self._call(lambda: self._client.head_object(**self._place))
        digest = found.get("Metadata", {}).get("sha256")
        return Object(found["ETag"], int(found["ContentLength"]), digest)

    def sibling(self, suffix: str) -> str | None:
        """Return the text of a small object beside this one, None where there is none."""
        place = {**self._place, "Key": self._place["Key"] + suffix}
        try:
            answer = self._client.get_object(**place, Range=f"bytes=0-{MOST_SIBLING_BYTES - 1}")
            return str(answer["Body"].read().decode("utf-8", "replace"))
        except Exception as error:
            # Who may not list a bucket is told 403 of an object that is not there.
            if _status(error) in (403, 404):
                return None
            self._fail(error)

    def download(self, head: Object, descriptor: int) -> None:
        """Write the object to a file, some parts at once; a part that breaks off is read again.

        Raises:
            MovedError: it was replaced since `head`.
            BundleError: it cannot be read.
        """
        os.truncate(descriptor, head.size)
        begins = range(0, head.size, PART_BYTES)
        with ThreadPoolExecutor(PARTS_AT_ONCE) as pool:
            parts = [pool.submit(self._part, head, begin, descriptor) for begin in begins]
            try:
                for part in parts:
                    part.result()
            finally:
                pool.shutdown(cancel_futures=True)  # one failed: the rest is in vain

    def _part(self, head: Object, begin: int, descriptor: int) -> None:
        end = min(begin + PART_BYTES, head.size)

        def read() -> bytes:
            # IfMatch: two halves of two versions would be a bundle that never was.
            answer = self._client.get_object(
                **self._place, IfMatch=head.etag, Range=f"bytes={begin}-{end - 1}"
            )
            data: bytes = answer["Body"].read()
            if len(data) != end - begin:
                raise OSError(f"{len(data)} bytes came of {end - begin}")
            return data

        data = self._call(read)
        written = 0
        while written < len(data):
            written += os.pwrite(descriptor, data[written:], begin + written)

    def _call(self, call: Callable[[], Any]) -> Any:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return call()
            except Exception as error:  # boto3, urllib3 and the network raise many kinds
                status = _status(error)
                if status == 412:  # IfMatch
                    raise MovedError from error
                final = status is not None and 400 <= status < 500 and status not in (408, 429)
                if final or not _may_pass(error) or attempt == ATTEMPTS:
                    self._fail(error)
                time.sleep(FIRST_PAUSE * 2 ** (attempt - 1))
        raise BundleError(f"{self.address} cannot be read")  # for the type checker: never reached

    def _fail(self, error: Exception) -> NoReturn:
        status = _status(error)
        if status == 404:
            told = "there is no such object; upload the bundle's zip, or correct RANKLET_BUNDLE"
        elif status == 403:
            told = (
                "access denied (S3 also says so of an object that is not there, to who may not "
                "list the bucket): the role needs s3:GetObject on it, and kms:Decrypt of its key"
            )
        else:
            told = f"{type(error).__name__}: {error}"
        raise BundleError(f"{self.address} cannot be read: {told}") from error


def client() -> Any:
    """Return an S3 client.

    Raises:
        BundleError: boto3 is not installed.
    """
    try:
        from boto3.session import Session
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise BundleError(
            "an address s3://… needs boto3: pip install 'ranklet[s3]', or give a path"
        ) from error
    config = Config(
        connect_timeout=5,
        read_timeout=30,
        max_pool_connections=PARTS_AT_ONCE,
        retries={"mode": "standard", "max_attempts": 3},
    )
    try:
        return Session().client("s3", config=config)
    except (BotoCoreError, ValueError) as error:  # no region, a malformed endpoint
        raise BundleError(f"S3 cannot be used: {error}") from error


def _status(error: Exception) -> int | None:
    """Return the HTTP status that S3 refused with, None for any other error."""
    response = getattr(error, "response", None)
    found = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
    status = found.get("HTTPStatusCode")
    return status if isinstance(status, int) else None


def _may_pass(error: Exception) -> bool:
    """Return whether an error may be gone a moment later; missing credentials never are."""
    return "Credentials" not in type(error).__name__
