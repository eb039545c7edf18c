"""Recognise Lambda's events by their shape, and build the reply that each shape needs.

direct      the caller's own JSON object (invoke, Step Functions)
rest        API Gateway, REST API (payload 1.0)
http        API Gateway, HTTP API (payload 2.0), and function URLs, which send the same
alb         Application Load Balancer, with or without multi-value headers
sqs         a batch of messages from a queue

SQS messages are answered one by one, and those that failed return to the queue.
"""

import base64
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.limits import Room
from ranklet.handlers.api.reading import check_coding
from ranklet.runtime.errors import InputError
from ranklet.runtime.storage.address import shown
from ranklet.runtime.variables import Variable

Shape = Literal["direct", "rest", "http", "alb", "sqs"]

# Lambda's limits on an answer. Past them callers get an error that does not say what to change.
MOST_BYTES = 6_291_556
MOST_ALB_BYTES = 1_000_000
_LONGEST_ESCAPE = 12  # the most bytes of JSON that one character becomes: a pair of \uXXXX


class HTTPRequest(NamedTuple):
    """The HTTP request inside an event."""

    method: str
    path: str
    body: bytes
    in_url: bool  # whether its URL has fields


def shape_of(event: Any) -> Shape:
    """Return the shape of an event.

    Raises:
        RequestError: 400: it is not an object, or its records are not SQS's.
    """
    if not isinstance(event, Mapping):
        raise RequestError(400, f"the event must be a JSON object, not {type(event).__name__}")
    context = event.get("requestContext")
    context = context if isinstance(context, Mapping) else {}
    if "elb" in context:
        return "alb"
    if event.get("version") == "2.0" and isinstance(context.get("http"), Mapping):
        return "http"
    if "httpMethod" in event and "path" in event:
        return "rest"
    records = event.get("Records")
    if isinstance(records, list):
        sources = {
            str(each.get("eventSource", each.get("EventSource")))[:40]  # SNS has the latter
            for each in records
            if isinstance(each, Mapping)
        }
        if sources == {"aws:sqs"}:
            return "sqs"
        raise RequestError(400, f"records of {sorted(sources)[:5]} are not served; SQS's are")
    return "direct"


def http_request(event: Mapping[str, Any], shape: Shape) -> HTTPRequest:
    """Return the HTTP request that an event carries.

    Raises:
        RequestError: 400: the body is not a string, or not base64 although the event says so; 415:
            it is compressed, or not UTF-8.
    """
    if shape == "http":
        method, path = event["requestContext"]["http"].get("method"), event.get("rawPath")
    else:
        method, path = event.get("httpMethod"), event.get("path")
    text = event.get("body") or ""
    if not isinstance(text, str):
        raise RequestError(400, "the event's body must be a string")
    if text:
        check_coding(_header(event, "content-type"), _header(event, "content-encoding"))
    if event.get("isBase64Encoded"):
        try:
            body = base64.b64decode(text, validate=True)
        except ValueError as error:
            raise RequestError(400, "the body is not base64, though the event says so") from error
    else:
        body = text.encode("utf-8", "surrogatepass")  # `parse` refuses lone surrogates
    fields = ("rawQueryString", "queryStringParameters", "multiValueQueryStringParameters")
    in_url = any(event.get(name) for name in fields)
    return HTTPRequest(str(method or "").upper(), str(path or "/"), body, in_url)


def _header(event: Mapping[str, Any], name: str) -> str:
    """Return a header of the HTTP request, "" if it has none."""
    for headers in (event.get("headers"), event.get("multiValueHeaders")):
        for key, value in headers.items() if isinstance(headers, Mapping) else ():
            if key.lower() == name and value:
                return str(value[0] if isinstance(value, list) else value)
    return ""


def http_reply(
    event: Mapping[str, Any], shape: Shape, status: int, body: str, allow: str = ""
) -> dict[str, Any]:
    """Return the reply in the form that an HTTP shape needs."""
    headers = {"content-type": "application/json", "cache-control": "no-store"}
    if allow:
        headers["allow"] = allow
    reply: dict[str, Any] = {"statusCode": status, "body": body, "isBase64Encoded": False}
    if shape == "alb":
        reply["statusDescription"] = f"{status} {'OK' if status < 400 else 'Error'}"
    # A load balancer that sends multi-value headers accepts no others.
    if shape == "alb" and "multiValueHeaders" in event:
        reply["multiValueHeaders"] = {name: [value] for name, value in headers.items()}
    else:
        reply["headers"] = headers
    return reply


def check_size(reply: Any, shape: Shape, characters: int, allowed: int) -> None:
    """Raise RequestError (413) if a reply has more bytes than are allowed or Lambda delivers.

    A body of few `characters` need not be encoded to see that it fits.
    """
    most = min(allowed, MOST_ALB_BYTES if shape == "alb" else MOST_BYTES)
    if characters * _LONGEST_ESCAPE < most:
        return
    size = len(json.dumps(reply, ensure_ascii=_escapes()).encode("utf-8", "surrogatepass"))
    if size > most:
        raise RequestError(
            413, f"the answer has {size:,} bytes, and at most {most:,} can be sent; {Room.LESS}"
        )


def _escapes() -> bool:
    """Return whether Lambda's runtime client writes non-ASCII characters as escapes."""
    match = re.fullmatch(r"AWS_Lambda_python3\.(\d+)", os.environ.get("AWS_EXECUTION_ENV", ""))
    return match is None or int(match[1]) < 12


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
                f"{Variable.RESULTS} is {shown(address)!r}; it must be s3://bucket/prefix"
            )
        self._bucket, self._prefix = bucket, f"{prefix.strip('/')}/".lstrip("/")
        self._client: Any = None

    def check(self) -> None:
        """Raise RequestError (503) if there is no place for answers."""
        if not self._bucket:
            remedy = f"set {Variable.RESULTS} to s3://bucket/prefix"
            raise RequestError(503, f"answers to messages need a place: {remedy}")

    def put(self, message: str, answer: str) -> None:
        """Write the answer to a message."""
        if self._client is None:
            from ranklet.runtime.object_storage.s3_ranges import s3_client

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
