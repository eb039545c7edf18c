"""Answer a batch of SQS messages one by one, and return those that failed to the queue."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ranklet.handlers.api.errors import RequestError
from ranklet.runtime.errors import InputError
from ranklet.runtime.objects.s3_ranges import s3_client
from ranklet.runtime.storage.address import shown

RESULTS_VARIABLE = "RANKLET_RESULTS"


class Results:
    """The place of answers in S3, one object ``PREFIX/MESSAGE.json`` per message.

    A message that is delivered twice overwrites its own object.

    Args:
        address: ``s3://bucket/prefix``, or "" for no place.

    Raises:
        InputError: the address has another form.
    """

    def __init__(self, address: str) -> None:
        bucket, _, prefix = address.removeprefix("s3://").partition("/")
        if address and (not address.startswith("s3://") or not bucket):
            raise InputError(
                f"{RESULTS_VARIABLE} is {shown(address)!r}; it must be s3://bucket/prefix"
            )
        self._bucket, self._prefix = bucket, f"{prefix.strip('/')}/".lstrip("/")
        self._client: Any = None

    def check(self) -> None:
        """Raise RequestError (503) if there is no place for answers."""
        if not self._bucket:
            remedy = f"set {RESULTS_VARIABLE} to s3://bucket/prefix"
            raise RequestError(503, f"answers to messages need a place: {remedy}")

    def put(self, message: str, answer: str) -> None:
        """Write the answer to a message."""
        if self._client is None:
            self._client = s3_client(1)
        self._client.put_object(
            Bucket=self._bucket,
            Key=f"{self._prefix}{quote(message, safe='')}.json",
            Body=answer.encode("utf-8", "backslashreplace"),
            ContentType="application/json",
        )

    def close(self) -> None:
        """Close connections, because a snapshot must not hold any; the next answer opens others."""
        if self._client is not None:
            self._client.close()
            self._client = None


def failures_of(
    records: Sequence[Mapping[str, Any]],
    left_ms: Callable[[], float],
    answer: Callable[[Mapping[str, Any], float], bool],
) -> dict[str, Any]:
    """Answer every message, and return Lambda's list of those that go back to the queue.

    The remaining time is shared evenly among the remaining messages. A message goes back if no time
    is left for it, because half an answer would be final. In a FIFO queue all messages after a
    failed one go back, too.

    Args:
        records: the event's messages.
        left_ms: returns the milliseconds that remain.
        answer: answers a message within a budget in milliseconds; returns False if that failed.

    Raises:
        RequestError: 400: a record has no messageId.
    """
    failed: list[str] = []
    for at, record in enumerate(records):
        budget_ms = left_ms() / (len(records) - at)
        identity = record.get("messageId")
        if not isinstance(identity, str):
            raise RequestError(400, "a record of the batch has no messageId, so it is not from SQS")
        ordered = str(record.get("eventSourceARN", "")).endswith(".fifo")
        if (failed and ordered) or budget_ms <= 0 or not answer(record, budget_ms):
            failed.append(identity)
    return {"batchItemFailures": [{"itemIdentifier": identity} for identity in failed]}
