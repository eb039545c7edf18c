"""Explain documents' scores for a query, ranked high or not; as text, as JSON or as a page."""

import argparse
import contextlib
import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from ranklet.runtime.errors import InputError

if TYPE_CHECKING:
    from ranklet.runtime.hits import Hit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="a bundle: folder or .zip")
    parser.add_argument("query", help="what was asked")
    parser.add_argument(
        "document", nargs="*", help="ids of documents of the collection (default: the best -k)"
    )
    parser.add_argument("-k", type=int, default=5, help="how many hits (default: %(default)s)")
    parser.add_argument("--pipeline", help="a pipeline of the bundle (default: its default)")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="the trees as JSON, one a line")
    shape.add_argument(
        "--html", type=Path, metavar="FILE", help="write a page to look at, anew each time"
    )


def run(options: argparse.Namespace) -> None:
    """Explain, and print or write."""
    from ranklet.runtime import load

    if options.html:
        check_target(options.html)
    bundle = load(options.bundle)
    asked, pipeline = options.query, options.pipeline
    hits: list[Hit]
    if options.document:
        hits = [bundle.explained(asked, each, pipeline=pipeline) for each in options.document]
    else:
        hits = list(bundle.rank(asked, k=options.k, pipeline=pipeline, explain=True))
    if options.html:
        from ranklet.handlers.page.page import page

        manifest = bundle.manifest
        recipe = manifest.pipelines[pipeline or manifest.default_pipeline]
        write_page(options.html, page(bundle, asked, hits, str(recipe)))
        print(f"{len(hits)} explained → {options.html}")
        return
    alone = len(options.document) == 1
    for hit in hits:
        if options.json:
            print(as_json(hit, alone))
        else:
            print(hit.explanation if alone else f"{hit.id}  {hit.title}\n{hit.explanation}")
    if not hits and not options.json:
        print(f"no hits for {asked!r}")


def as_json(hit: "Hit", alone: bool) -> str:
    """Return a hit's tree as one line of JSON; its id with it, where it is not the only one."""
    tree = hit.explanation.to_json() if hit.explanation else {}
    return json.dumps(tree if alone else {"id": hit.id, **tree}, ensure_ascii=False)


def check_target(path: Path) -> None:
    """Raise InputError where a page cannot be written; a file that is there is replaced."""
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(
            f"no page can be written to {str(path)!r}: give a file, in a folder that is there"
        )


def write_page(path: Path, page: str) -> None:
    """Write a page under a temporary name beside the target, then rename it."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        partial.write_text(page, "utf-8")
        partial.replace(path)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
