"""Serve a bundle over HTTP for ranking, reranking and explanations, with a web page to try it."""

import argparse
import os
from dataclasses import dataclass, replace
from typing import Any

from ranklet.commands.arguments import add_options, options_from
from ranklet.commands.rank import COLLECTION, ENDPOINT
from ranklet.handlers.playground.words import LANGUAGES
from ranklet.runtime.ground.options import LAST_PORT, Checked, integer, switch, text


@dataclass(frozen=True, kw_only=True)
class ServeOptions(Checked):
    """Where a server listens, what it ranks, and by how many processes."""

    GROUP = "options"

    collection: str = text(
        "", f"{COLLECTION} (default: $RANKLET_COLLECTION, else the bundle's own)"
    )
    query_endpoint: str | None = text(None, ENDPOINT)
    host: str = text("127.0.0.1", "address to listen on")
    port: int | None = integer(
        None, "port to listen on, or 0 to let the system choose (default: $PORT, else 8080)", 0,
        LAST_PORT,
    )  # fmt: skip
    workers: int | None = integer(
        None, "number of processes (default: $RANKLET_WORKERS, else one per processor, at most 8)",
        1,
    )  # fmt: skip
    title: str | None = text(None, "the page's name (default: $RANKLET_TITLE, else ranklet)")
    plain: bool = switch(False, "a page without scores, ids and explanations ($RANKLET_PLAIN=1)")
    language: str | None = text(
        None, f"language of the page: {', '.join(LANGUAGES)} (default: $RANKLET_LANGUAGE, else "
        "that of the documents or the browser)",
    )  # fmt: skip
    link: str | None = text(None, "field whose address a hit leads to ($RANKLET_LINK)")
    image: str | None = text(None, "field with the address of a picture ($RANKLET_IMAGE)")
    show: str | None = text(
        None, "fields that hits show, in this order, such as price,brand ($RANKLET_SHOW)"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder, .zip or address")
    add_options(lambda _: parser, ServeOptions())


def run(options: argparse.Namespace) -> None:
    """Serve until SIGTERM or Ctrl-C; docs/serving.md lists the variables for other settings."""
    from ranklet.handlers.server.settings import ServerSettings
    from ranklet.handlers.server.uvicorn_server import serve
    from ranklet.runtime import load
    from ranklet.runtime.dense.endpoint import use_endpoint
    from ranklet.runtime.ground.variables import Variable

    own = options_from(ServeOptions(), vars(options))
    use_endpoint(own.query_endpoint)
    given = {Variable.BUNDLE: options.bundle, "HOST": own.host}
    changed: dict[str, Any] = {**vars(own), "host": None, "query_endpoint": None}
    for name in ("title", "plain", "language", "link", "image", "show"):
        if value := changed.pop(name):
            given[getattr(Variable, name.upper())] = "1" if value is True else value
    settings = ServerSettings.from_environment({**os.environ, **given})
    changed = {name: value for name, value in changed.items() if value is not None}
    settings = replace(settings, **changed)
    bundle = load(options.bundle, collection=settings.collection or None)  # reports a wrong path
    settings.look.check(bundle.metadata)
    serve(settings)
