"""A batch of SQS messages: each is answered alone, those that could not be go back to the queue."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.aws.s3 import client
from ranklet.runtime.errors import InputError

RESULTS_VARIABLE = "RANKLET_RESULTS"


class Results:
    """Where answers go: an object ``PREFIX/MESSAGE.json`` of S3 each.

    A message that is delivered twice writes the same object twice.

    Args:
        address: ``s3://bucket/prefix``, or "" where none is set.
    """

    def __init__(self, address: str) -> None:
        bucket, _, prefix = address.removeprefix("s3://").partition("/")
        if address and (not address.startswith("s3://") or not bucket):
            raise InputError(f"{RESULTS_VARIABLE} is {address!r}; it must be s3://bucket/prefix")
        self._bucket, self._prefix = bucket, f"{prefix.strip('/')}/".lstrip("/")
        self._client: Any = None

    def check(self) -> None:
        """Raise RequestError (503) where answers would go nowhere."""
        if not self._bucket:
            raise RequestError(
                503,
                f"answers to a queue's messages need a place: set {RESULTS_VARIABLE} to "
                "s3://bucket/prefix",
            )

    def put(self, message: str, answer: str) -> None:
        """Write the answer to a message."""
        if self._client is None:
            self._client = client()
        self._client.put_object(
            Bucket=self._bucket,
            Key=f"{self._prefix}{quote(message, safe='')}.json",
            Body=answer.encode("utf-8", "backslashreplace"),
            ContentType="application/json",
        )

    def close(self) -> None:
        """Close connections, which no snapshot may hold; the next answer opens new ones."""
        if self._client is not None:
            self._client.close()
            self._client = None


class Shares:
    """Splits the time that is left evenly among the messages that are left.

    Args:
        left_ms: gives the milliseconds that are left.
        count: of messages.
    """

    def __init__(self, left_ms: Callable[[], float], count: int) -> None:
        self._left_ms, self._count = left_ms, count

    def __iter__(self) -> Iterator[float]:
        """Yield the budget of each message; 0 where there is no time for it."""
        for at in range(self._count):
            yield self._left_ms() / (self._count - at)


def failures_of(
    records: Sequence[Mapping[str, Any]],
    left_ms: Callable[[], float],
    answer: Callable[[Mapping[str, Any], float], bool],
) -> dict[str, Any]:
    """Answer every message, and return what Lambda wants to know: which ones go back.

    A message that there is no time for goes back too: half an answer would be kept for good. In a
    queue that keeps an order, all that follow a failure go back.

    Args:
        records: of the event.
        left_ms: gives the milliseconds that are left.
        answer: answers a record within a budget in milliseconds; False where it failed.
    """
    failed: list[str] = []
    for record, budget_ms in zip(records, Shares(left_ms, len(records)), strict=True):
        identity = record.get("messageId")
        if not isinstance(identity, str):
            raise RequestError(400, "a record of the batch has no messageId: it is none of SQS's")
        ordered = str(record.get("eventSourceARN", "")).endswith(".fifo")
        if (failed and ordered) or budget_ms <= 0 or not answer(record, budget_ms):
            failed.append(identity)
    return {"batchItemFailures": [{"itemIdentifier": identity} for identity in failed]}
