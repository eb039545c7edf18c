"""AWS Lambda's way in: the handler is ``ranklet.handlers.aws_lambda.handler``.

Importing this module does nothing. Lambda asks it for `handler` in its init phase, when time costs
least and a snapshot is still to be taken, and that starts the function: the bundle is loaded and
a first query run. See docs/lambda.md.
"""

import os
from typing import Any

from ranklet.handlers.aws.function import Function
from ranklet.handlers.aws.sigterm import on_sigterm


def __getattr__(name: str) -> Any:
    if name == "handler":
        globals()[name] = started = start()  # asked for once: it is found from now on
        return started
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def start() -> Function:
    """Start the function: read the environment, load the bundle, run a first query, set hooks.

    Raises:
        RankletError: a variable cannot be used; or there is no bundle, where a version is being
            prepared (SnapStart, provisioned concurrency), which must not go live without one.
    """
    variables = os.environ
    if "AWS_LAMBDA_MAX_CONCURRENCY" in variables:  # several processes share the processors
        variables.setdefault("RANKLET_THREADS", "1")
    function = Function(variables)
    initialization = variables.get("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand")
    function.load(must=initialization != "on-demand")
    if initialization == "snap-start":
        from snapshot_restore_py import register_after_restore, register_before_snapshot

        register_before_snapshot(function.before_snapshot)
        register_after_restore(function.after_restore)
    on_sigterm(function.stop)
    return function
