"""The command line: ``ranklet COMMAND …``; one command a file, imported when it is called."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from types import FrameType

from ranklet import __version__
from ranklet.runtime.errors import RankletError

COMMANDS = {
    "pretrain": "train a backbone on a collection's texts; writes a folder for --backbone",
    "train": "train a ranker on a collection; writes a checkpoint",
    "export": "pack checkpoints into a bundle of rankers",
    "index": "add a collection to a bundle's rankers; writes a bundle that ranks",
    "fuse": "learn the weights that fuse a bundle's rankers",
    "rank": "rank a bundle's collection for a query",
    "explain": "explain one document's score for a query",
    "eval": "evaluate a bundle's pipelines on judged queries",
    "inspect": "show what is in a bundle",
    "serve": "answer over HTTP, with a page to try it",
    "bench": "measure a bundle: milliseconds by stage, cold and warm",
    "verify": "check every byte and number of a bundle",
    "demo": "the whole way once, on Python's own documentation",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status: 0, 1 for an error that is told, 2 for wrong usage."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    if not given or given[0] not in COMMANDS:
        parser.parse_args(given)  # --help, --version and mistakes end here
        parser.print_help()
        return 2
    return run(given[0], given[1:])


def run(command: str, arguments: Sequence[str]) -> int:
    """Run one command by name with its own arguments."""
    module = import_module(f"{__name__}.{command}")
    parser = argparse.ArgumentParser(
        prog=f"ranklet {command}", description=module.__doc__, allow_abbrev=False
    )
    module.add_arguments(parser)
    options = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):  # what a terminal cannot show must not end a command
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with _ended_as_by_ctrl_c():
            status: int | None = module.run(options)
        sys.stdout.flush()
    except RankletError as error:
        print(f"ranklet {command}: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("ranklet"):
            raise
        extra = "http" if command == "serve" else "train"
        print(
            f"ranklet {command}: the package {error.name!r} is not installed; "
            f"pip install 'ranklet[{extra}]' has all that this needs",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        print(f"ranklet {command}: interrupted; no result was written", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # no room, no right to write
        print(f"ranklet {command}: {error}", file=sys.stderr)
        return 1
    return status or 0


@contextmanager
def _ended_as_by_ctrl_c() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does: what is half-written goes, a training is saved."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):  # started in the background, where Ctrl-C is ignored
            raise KeyboardInterrupt
        handler(number, frame)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def export_onnx() -> int:
    """Run ``export-onnx``, which is ``ranklet export`` under the name that people look for."""
    return run("export", sys.argv[1:])


def _parser() -> argparse.ArgumentParser:
    lines = "\n".join(f"  {name:9} {purpose}" for name, purpose in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="ranklet",
        description="Train a text ranker, export it once, rank anywhere without PyTorch.",
        epilog=f"commands:\n{lines}\n\n`ranklet COMMAND --help` tells the options of one.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"ranklet {__version__}")
    parser.add_argument("command", metavar="COMMAND", choices=COMMANDS, nargs="?")
    return parser
