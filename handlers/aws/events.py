"""Recognise Lambda's events by their shape, and build the reply that each shape needs.

direct      the caller's own JSON object (invoke, Step Functions)
rest        API Gateway, REST API (payload 1.0)
http        API Gateway, HTTP API (payload 2.0), and function URLs, which send the same
alb         Application Load Balancer, with or without multi-value headers
"""

import base64
import json
import os
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.limits import Room
from ranklet.handlers.api.reading import check_coding

Shape = Literal["direct", "rest", "http", "alb"]

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


def detect_shape(event: Any) -> Shape:
    """Return the shape of an event.

    Raises:
        RequestError: 400: it is no object, or it is a batch of records.
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
    if "Records" in event:
        raise RequestError(
            400, "batches of records, such as SQS's, are not served; send each as an event"
        )
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
