"""List the versions of a bundle that was written to while it was read, the newest first.

`ranklet rank --at N` ranks one of them, and `ranklet restore` brings it back.
"""

import argparse
import json
from dataclasses import asdict

from ranklet.commands.output import say, show_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder, .zip or address")
    parser.add_argument("--json", action="store_true", help="print one JSON object per version")


def run(options: argparse.Namespace) -> None:
    """Print a line for each version."""
    from ranklet.runtime import load

    for each in load(options.bundle).log():
        if options.json:
            show_json(json.dumps(asdict(each)))
            continue
        counts = {"added": each.added, "replaced": each.replaced, "deleted": each.deleted}
        done = [f"{count:,} {name}" for name, count in counts.items() if count]
        if each.restored is not None:
            done = [f"version {each.restored:,} restored"]
        when, what = each.time.removesuffix("+00:00"), ", ".join(done) or "built"
        size = f"{each.documents:,} document{'s' * (each.documents != 1)}"
        say(f"{each.version:5,}  {when}  {size}: {what}")
