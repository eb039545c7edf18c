"""Arguments that say where a command computes; see `EngineOptions`."""

import argparse

from ranklet.export.distributed.options import EngineOptions
from ranklet.runtime.options import options_of


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    group = parser.add_argument_group(EngineOptions.GROUP, "docs/ray.md says how.")
    for (name,), _, default, option in options_of(EngineOptions()):
        group.add_argument(
            f"--{name.replace('_', '-')}",
            dest=name,
            type=option.kind,
            choices=option.allowed or None,
            default=default or None,
            help=option.about,
        )


def engine_from(given: argparse.Namespace) -> EngineOptions:
    """Return the options that were given.

    Raises:
        InputError: a value is not allowed, or has no effect.
    """
    chosen = {path[0]: getattr(given, path[0]) for path, *_ in options_of(EngineOptions())}
    return EngineOptions(**{name: each for name, each in chosen.items() if each is not None})
