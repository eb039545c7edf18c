"""Serve a bundle over HTTP for ranking, reranking and explanations, with a web page to try it."""

import argparse
import os
from dataclasses import replace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder, .zip or address")
    parser.add_argument(
        "--collection",
        metavar="ADDRESS",
        help="collection in Milvus to rank (default: $RANKLET_COLLECTION, else the bundle's own)",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument(
        "--port",
        type=int,
        help="port to listen on, or 0 to let the system choose (default: $PORT, else 8080)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        help="number of processes (default: $RANKLET_WORKERS, else one per processor, at most 8)",
    )


def run(options: argparse.Namespace) -> None:
    """Serve until SIGTERM or Ctrl-C; docs/serving.md lists the variables for other settings."""
    from ranklet.handlers.server.settings import ServerSettings
    from ranklet.handlers.server.uvicorn_server import serve
    from ranklet.runtime import InputError, load
    from ranklet.runtime.variables import Variable

    if (options.workers is not None and options.workers < 1) or not 0 <= (
        options.port or 0
    ) <= 65_535:
        raise InputError("--workers must be at least 1, and --port from 0 to 65535")
    given = {Variable.BUNDLE: options.bundle, "HOST": options.host}
    settings = ServerSettings.from_environment({**os.environ, **given})
    port = settings.port if options.port is None else options.port
    workers = settings.workers if options.workers is None else options.workers
    collection = options.collection or settings.collection
    load(options.bundle, collection=collection or None)  # reports a wrong path at once
    serve(replace(settings, port=port, workers=workers, collection=collection))
