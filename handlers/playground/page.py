"""Explained hits as one HTML file, which needs no server and no network.

The file holds the JSON of POST /rank, and the playground's style and code, which draw it.
"""

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template

from ranklet.handlers.api.answers import shown_hit
from ranklet.handlers.api.limits import Room
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.hits import Hit
from ranklet.runtime.html import GENERATOR
from ranklet.runtime.storage.package_files import package_text

PARTS = Path(__file__).parent
SCRIPTS = ("highlight.js", "results.js", "explained.js")  # each after those that it imports
LARGEST = 1 << 30  # bytes; a file may be larger than the answer of a server
_MODULE = re.compile(r"^(import .*;\n|export )", re.MULTILINE)  # what one script needs no more


def page(bundle: Bundle, query: str, hits: Sequence[Hit], pipeline: str) -> str:
    """Return an HTML page that explains hits of one query; `pipeline` is a description.

    Raises:
        BundleError: the bundle is damaged.
        RequestError: the page would be larger than `LARGEST`.
    """
    room = Room(LARGEST)
    shown = [shown_hit(bundle, hit, room) for hit in hits]
    answer = json.dumps({"query": query, "pipeline": pipeline, "hits": shown}, allow_nan=False)
    script = "".join(_MODULE.sub("", _part(name)) for name in SCRIPTS)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return Template(_part("explained.html")).substitute(
        generator=GENERATOR,
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        title=escape(query.encode("utf-8", "replace").decode()),
        style=_part("style.css"),
        answer=answer.replace("<", "\\u003c"),  # no text of a document can end the script
        script=script,
    )


def _part(name: str) -> str:
    return package_text(PARTS / name)
