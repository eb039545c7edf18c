"""Serve a bundle over HTTP for ranking, reranking and explanations, with a web page to try it."""

import argparse
import os
from dataclasses import dataclass, replace
from typing import Any

from ranklet.commands.arguments import add_options, options_from
from ranklet.commands.rank import COLLECTION
from ranklet.runtime.ground.options import LAST_PORT, Checked, integer, text


@dataclass(frozen=True, kw_only=True)
class ServeOptions(Checked):
    """Where a server listens, what it ranks, and by how many processes."""

    GROUP = "options"

    collection: str = text(
        "", f"{COLLECTION} (default: $RANKLET_COLLECTION, else the bundle's own)"
    )
    host: str = text("127.0.0.1", "address to listen on")
    port: int | None = integer(
        None, "port to listen on, or 0 to let the system choose (default: $PORT, else 8080)", 0,
        LAST_PORT,
    )  # fmt: skip
    workers: int | None = integer(
        None, "number of processes (default: $RANKLET_WORKERS, else one per processor, at most 8)",
        1,
    )  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder, .zip or address")
    add_options(lambda _: parser, ServeOptions())


def run(options: argparse.Namespace) -> None:
    """Serve until SIGTERM or Ctrl-C; docs/serving.md lists the variables for other settings."""
    from ranklet.handlers.server.settings import ServerSettings
    from ranklet.handlers.server.uvicorn_server import serve
    from ranklet.runtime import load
    from ranklet.runtime.ground.variables import Variable

    own = options_from(ServeOptions(), vars(options))
    given = {Variable.BUNDLE: options.bundle, "HOST": own.host}
    settings = ServerSettings.from_environment({**os.environ, **given})
    changed: dict[str, Any] = {**vars(own), "host": None}
    changed = {name: value for name, value in changed.items() if value is not None}
    settings = replace(settings, **changed)
    load(options.bundle, collection=settings.collection or None)  # reports a wrong path at once
    serve(settings)
