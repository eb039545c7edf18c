"""Read one version of an object in S3, whole."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NoReturn

from ranklet.runtime.errors import BundleError
from ranklet.runtime.objects.s3_ranges import s3_client, status_of

PART_BYTES = 8 << 20  # per request; a request that fails repeats this much
PARTS_AT_ONCE = 4
ATTEMPTS = 4  # per part
FIRST_PAUSE = 0.2  # seconds before the second attempt; doubled before each further one
MOST_SIBLING_BYTES = 4096


class MovedError(Exception):
    """The object was replaced after `head` had looked at it."""


@dataclass(frozen=True)
class Object:
    """A version of an object in S3.

    Attributes:
        etag: the version's name.
        size: the size in bytes.
        digest: the metadata entry ``sha256``, None if there is none.
    """

    etag: str
    size: int
    digest: str | None


class Store:
    """The place of an object in S3; a context manager that holds the connections.

    boto3 finds region, endpoint and credentials itself.
    """

    def __init__(self, bucket: str, key: str) -> None:
        self.address = f"s3://{bucket}/{key}"
        self._place = {"Bucket": bucket, "Key": key}

    def __enter__(self) -> "Store":
        """Open connections. They are closed at the end, so that no snapshot or fork shares them."""
        self._client = client()
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def head(self) -> Object:
        """Return the current version of the object.

        Raises:
            BundleError: it does not exist, may not be read, or S3 cannot be reached.
        """
        answer = self._call(lambda: self._client.head_object(**self._place))
        digest = answer.get("Metadata", {}).get("sha256")
        return Object(answer["ETag"], int(answer["ContentLength"]), digest)

    def sibling(self, suffix: str) -> str | None:
        """Return the text of the small object at this key plus a suffix, None if it is missing."""
        place = {**self._place, "Key": self._place["Key"] + suffix}
        try:
            answer = self._client.get_object(**place, Range=f"bytes=0-{MOST_SIBLING_BYTES - 1}")
            return str(answer["Body"].read().decode("utf-8", "replace"))
        except Exception as error:
            # S3 answers 403 for a missing object if the caller may not list the bucket.
            if status_of(error) in (403, 404):
                return None
            self._fail(error)

    def download(self, head: Object, descriptor: int) -> None:
        """Write a version of the object to a file, several parts at a time.

        Raises:
            MovedError: the object was replaced.
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
                pool.shutdown(cancel_futures=True)  # after a failure the other parts are useless

    def _part(self, head: Object, begin: int, descriptor: int) -> None:
        end = min(begin + PART_BYTES, head.size)

        def read() -> bytes:
            # IfMatch, so that the parts of two versions are never mixed.
            answer = self._client.get_object(
                **self._place, IfMatch=head.etag, Range=f"bytes={begin}-{end - 1}"
            )
            data: bytes = answer["Body"].read()
            if len(data) != end - begin:
                raise OSError(f"{len(data)} bytes arrived of {end - begin}")
            return data

        data = self._call(read)
        written = 0
        while written < len(data):
            written += os.pwrite(descriptor, data[written:], begin + written)

    def _call(self, call: Callable[[], Any]) -> Any:
        attempt = 1
        while True:
            try:
                return call()
            except Exception as error:  # boto3, urllib3 and the network raise many kinds
                status = status_of(error)
                if status == 412:  # IfMatch
                    raise MovedError from error
                final = status is not None and 400 <= status < 500 and status not in (408, 429)
                final = final or "Credentials" in type(error).__name__  # there are none
                if final or attempt == ATTEMPTS:
                    self._fail(error)
                time.sleep(FIRST_PAUSE * 2 ** (attempt - 1))
            attempt += 1

    def _fail(self, error: Exception) -> NoReturn:
        status = status_of(error)
        if status == 404:
            reason = "there is no such object; upload the bundle's zip, or correct RANKLET_BUNDLE"
        elif status == 403:
            reason = (
                "access denied; the role needs s3:GetObject on it and kms:Decrypt on its key. S3 "
                "denies access to a missing object, too, if the role may not list the bucket"
            )
        else:
            reason = f"{type(error).__name__}: {error}"
        raise BundleError(f"{self.address} cannot be read: {reason}") from error


def client() -> Any:
    """Return an S3 client.

    Raises:
        BundleError: boto3 is not installed.
    """
    return s3_client(PARTS_AT_ONCE)
