"""The Lambda function: one object that is called with each event."""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from ranklet.handlers import logs
from ranklet.handlers.api.answers import ANSWERS
from ranklet.handlers.api.errors import RequestError, panics_as_errors, shape_error
from ranklet.handlers.api.limits import Limits, whole_number
from ranklet.handlers.api.reading import IN_BODY, parse
from ranklet.handlers.api.trial import try_out
from ranklet.handlers.aws.events import (
    MOST_BYTES,
    Shape,
    check_size,
    detect_shape,
    http_reply,
    http_request,
)
from ranklet.handlers.aws.log_line import Outcome, log_request
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.errors import InputError, RankletError
from ranklet.runtime.ground.variables import Variable
from ranklet.runtime.ranking import load

MARGIN_MS = 200  # of an invocation's time, kept for writing the answer and the log
RETRY_SECONDS = 5  # between two attempts to load a bundle
# Variables of the server that would silently protect nothing here.
UNREAD = (
    Variable.API_KEY, Variable.API_KEY_FILTERS, Variable.KEY_REQUESTS, Variable.KEY_PER_MINUTE,
    Variable.HOSTS, Variable.ORIGINS, Variable.MAX_BODIES_BYTES, Variable.CHECK,
)  # fmt: skip
_, READY = HEALTH = ("/healthz", "/readyz")


class Context(Protocol):
    """The part of Lambda's context that is used here. Tests and local runners may give None."""

    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int:
        """Return the time that remains for the invocation."""
        ...


class InternalError(RankletError):
    """A fault of the function, as direct callers see it; only the log describes it."""


class Function:
    """A Lambda function that ranks.

    Raises:
        InputError: an environment variable cannot be used.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        limits = Limits.from_variables(variables)
        if unread := [each for each in UNREAD if each in variables]:
            raise InputError(
                f"{unread[0]} is set, but only a server reads it; who may call a function is "
                "decided in AWS"
            )
        self._limits = replace(limits, answer_bytes=min(limits.answer_bytes, MOST_BYTES))
        self._name = variables.get("AWS_LAMBDA_FUNCTION_NAME", "ranklet")
        self._margin_ms = whole_number(variables, Variable.MARGIN_MS, MARGIN_MS, 0, 999_999)
        self._bundle: Bundle | None = None
        self._tried_at = float("-inf")
        self._cold, self._busy = True, False

    def __call__(self, event: Any, context: Context | None) -> Any:
        """Answer an event of any shape."""
        self._busy = True
        try:
            shape = detect_shape(event)
            if shape == "direct":
                return self._direct(event, context)
            return self._http(event, shape, context)
        finally:
            self._busy = False

    def load(self, *, must: bool = False) -> None:
        """Load the bundle and run a first query.

        Unless it `must` succeed, a failure is only logged, and the function answers that it is not
        ready. If it ended, Lambda would start it for every request and give callers no reason.
        """
        self._tried_at, begin = time.monotonic(), time.perf_counter()
        try:
            with panics_as_errors():
                bundle = load(collection=os.environ.get(Variable.COLLECTION) or None)
                loaded = time.perf_counter()
                try_out(bundle)
        except Exception as error:
            trace = logs.describe_stack(error)
            logs.write("CRITICAL", "no bundle", error=str(error), exception=trace, pid=os.getpid())
            if must:
                raise
            return
        self._bundle = bundle
        logs.write(
            "INFO",
            "ready",
            documents=len(bundle),
            load_ms=round((loaded - begin) * 1e3, 3),
            first_query_ms=round((time.perf_counter() - loaded) * 1e3, 3),
            pid=os.getpid(),
        )

    def budget_ms(self, context: Context | None) -> float:
        """Return the milliseconds that ranking may take: the time left, less a margin."""
        most = self._limits.seconds * 1e3
        remaining = getattr(context, "get_remaining_time_in_millis", None)
        return max(0.0, min(remaining() - self._margin_ms, most)) if remaining else most

    def before_snapshot(self) -> None:
        """Close connections, because copies of this process must not share them."""
        if self._bundle is not None and (store := self._bundle.files.store):
            store.disconnect()

    def after_restore(self) -> None:
        """Count the first request after a restore as a cold start."""
        self._cold = True
        logs.write("INFO", "restored from a snapshot", pid=os.getpid())

    def stop(self) -> None:
        """End the process after the current answer. Called in a thread of its own."""
        answering = self._busy
        while self._busy:
            time.sleep(0.01)
        time.sleep(0.1 * answering)  # for the answer to be sent
        logs.write("INFO", "stopped by SIGTERM", pid=os.getpid())
        os._exit(0)  # the main thread cannot end the process while it waits in C code

    def _http(
        self, event: Mapping[str, Any], shape: Shape, context: Context | None
    ) -> dict[str, Any]:
        begin, path, allow = time.perf_counter(), "", ""
        try:
            request = http_request(event, shape)
            path = strip_base_path(request.path)
            allow = "GET, HEAD" if path in HEALTH else "POST"
            if request.method not in allow.split(", "):
                raise RequestError(405, f"{path} takes {allow}, not {request.method[:20]!r}")
            if request.in_url and path not in HEALTH:
                raise RequestError(422, IN_BODY)
            if (size := len(request.body)) > (most := self._limits.body_bytes):
                raise RequestError(413, f"the body has {size:,} bytes; at most {most:,}")
            if path in HEALTH:
                if path == READY:
                    self._ready()
                outcome = Outcome(200, {"status": "ok"})
            else:
                outcome = self._answer(path, parse(request.body), self.budget_ms(context))
            text = _json(outcome.body)
            reply = http_reply(event, shape, 200, text)
            check_size(reply, shape, len(text), self._limits.answer_bytes)
        except Exception as error:
            outcome = Outcome.of(error)
            reply = http_reply(
                event,
                shape,
                outcome.status,
                _json(shape_error(path, outcome.body)),
                allow * (outcome.status == 405),
            )
        self._log(outcome, begin, context, shape=shape, path=path)
        return reply

    def _direct(self, event: Mapping[str, Any], context: Context | None) -> Any:
        """Answer a direct event, or raise the error, as direct callers expect.

        Then Lambda marks the invocation as failed: Step Functions can catch the error by its type,
        and an asynchronous event goes to its dead-letter queue. The error carries no stack.
        """
        begin = time.perf_counter()
        try:
            outcome = self._answer(*_action(event), self.budget_ms(context))
            size = len(_json(outcome.body))
            check_size(outcome.body, "direct", size, self._limits.answer_bytes)
        except Exception as error:
            outcome = Outcome.of(error)
        self._log(outcome, begin, context, shape="direct")
        if outcome.error is None:
            return outcome.body
        if isinstance(outcome.error, RankletError) and outcome.status != 500:
            raise outcome.error.with_traceback(None) from None
        raise InternalError(outcome.body["error"])

    def _answer(self, path: str, body: Mapping[str, Any], budget_ms: float) -> Outcome:
        with panics_as_errors():
            return Outcome(200, *ANSWERS[path](self._ready(), body, self._limits, budget_ms))

    def _ready(self) -> Bundle:
        if self._bundle is not None and not self._bundle.files.is_current(look=False):
            self._bundle = None  # a query has noticed that the object was replaced
        if self._bundle is None and time.monotonic() - self._tried_at >= RETRY_SECONDS:
            self.load()
        if self._bundle is None:
            raise RequestError(503, "not ready: there is no bundle; the function's log says why")
        return self._bundle

    def _log(self, outcome: Outcome, begin: float, context: Context | None, **fields: Any) -> None:
        log_request(
            outcome,
            time.perf_counter() - begin,
            function=self._name,
            cold=self._cold,
            request_id=getattr(context, "aws_request_id", None),
            **fields,
        )
        self._cold = False


def strip_base_path(path: str) -> str:
    """Return a path without the stage or base path that API Gateway puts before it.

    Raises:
        RequestError: 404: there is no such path.
    """
    parts = path.rstrip("/").split("/")
    for at in range(1, len(parts)):
        end = "/" + "/".join(parts[at:])
        if end in ANSWERS or end in HEALTH:
            return end
    raise RequestError(404, f"no such path; there are {', '.join((*ANSWERS, *HEALTH))}")


def _action(body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the path that the `action` of an event stands for, and the other fields."""
    action = body.get("action")
    path = "/rank" if action is None else f"/{action}"
    if path not in ANSWERS:
        allowed = ", ".join(each.removeprefix("/") for each in ANSWERS)
        raise RequestError(422, f"'action' must be one of {allowed}")
    return path, {name: value for name, value in body.items() if name != "action"}


def _json(body: Any) -> str:
    return json.dumps(body, ensure_ascii=False, allow_nan=False)
