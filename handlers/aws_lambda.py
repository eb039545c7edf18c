"""The handler of AWS Lambda: ``ranklet.handlers.aws_lambda.handler``. See docs/lambda.md.

Importing this module does nothing. The function starts when the attribute `handler` is read for the
first time: it loads the bundle and runs a first query. Lambda reads the attribute in its init
phase, in which time costs least and after which a snapshot is taken.
"""

import os
from typing import Any

from ranklet.handlers.aws.function import Function
from ranklet.handlers.aws.sigterm import on_sigterm


def __getattr__(name: str) -> Any:
    if name == "handler":
        globals()[name] = function = start()  # from now on reading it does not come here
        return function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def start() -> Function:
    """Start the function: read the environment, load the bundle, run a first query, set hooks.

    Raises:
        RankletError: a variable cannot be used, or there is no bundle although a version is being
            prepared (SnapStart, provisioned concurrency) that must not go live without one.
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
