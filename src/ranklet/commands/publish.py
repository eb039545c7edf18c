"""Write a bundle's collection into Milvus, with the vectors of its rankers.

Texts, metadata, dense vectors and impacts are stored. `ranklet rank --collection ADDRESS`
ranks them, with the models of this bundle.
"""

import argparse
import os

from ranklet.commands.output import say
from ranklet.runtime.ground.variables import Variable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", metavar="BUNDLE", help="an indexed bundle, or its address")
    parser.add_argument(
        "uri", metavar="ADDRESS",
        help="milvus://HOST:PORT/NAME, https://HOST:PORT/NAME, or FILE.db#NAME for Milvus Lite; "
        f"{Variable.MILVUS_TOKEN} of the environment is what it asks for, such as user:password",
    )  # fmt: skip
    parser.add_argument("--name", help="collection, if the address has none (the bundle's name)")
    parser.add_argument(
        "--ranker", action="append", default=[], metavar="NAME",
        help="ranker to publish; repeat it for several (default: all with vectors or impacts)",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace an earlier collection")


def run(options: argparse.Namespace) -> None:
    """Publish the collection."""
    from ranklet.runtime.storage.address import shown
    from ranklet.workflows.feeds.publishing import publish

    name = publish(
        options.bundle,
        options.uri,
        index=options.name or "",
        rankers=options.ranker,
        token=os.environ.get(Variable.MILVUS_TOKEN, ""),
        overwrite=options.force,
    )
    say(f"published as {name!r} → {shown(options.uri)}")
