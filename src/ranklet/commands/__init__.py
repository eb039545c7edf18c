"""The command line ``ranklet COMMAND …``, with one file per command, imported when it is called."""

import argparse
import errno
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import FrameType

from ranklet.commands.output import complain, screened
from ranklet.commands.parser import OptionParser
from ranklet.runtime.ground.errors import ModelFolderError, RankletError, suggest
from ranklet.runtime.ground.extras import hint_packages
from ranklet.runtime.storage.address import hide_secrets, writable
from ranklet.version import __version__

GROUPS = {
    "search commands": {
        "build": "build a search from any texts, with nothing to train",
        "rank": "rank a bundle's collection for a query",
        "context": "print what of the documents fits into a prompt, with sources",
        "complete": "complete what a person types, by titles, fields and words",
        "serve": "serve a bundle over HTTP, with a web page to try it",
        "explain": "explain the scores of documents for a query",
        "update": "add, replace and delete documents of a bundle",
        "sync": "bring a bundle to the state of a folder of texts",
        "compact": "join a bundle with what was added to it",
        "log": "list the versions of a bundle",
        "restore": "bring back an earlier version of a bundle",
        "synonyms": "give a bundle a file of synonyms, at any time",
        "inspect": "show the contents of a bundle",
        "verify": "check every byte and number of a bundle",
        "merge": "join bundles with the same rankers",
        "mcp": "serve a bundle to assistants over the Model Context Protocol",
        "feed": "write documents and their vectors as one JSONL for another search engine",
        "publish": "write the collection into Milvus",
    },
    "measurement commands": {
        "irds": "write a dataset of ir_datasets as a folder of judged queries",
        "judge": "judge hits on a page, for learn, train and eval",
        "eval": "evaluate a bundle's pipelines on judged queries",
        "calibrate": "teach a bundle how likely its hits answer a query",
        "gaps": "list the queries that nothing is likely to answer, by the words that hits lack",
        "compare": "compare the hits of two bundles or pipelines, without judgements",
    },
    "training commands": {
        "learn": "learn the best search of a bundle's documents from judged queries",
        "train": "train a ranker on a collection and write a checkpoint",
        "export": "pack checkpoints into a bundle of rankers",
        "table": "let a table learn to encode queries as a model's network does",
        "index": "add a collection to a bundle's rankers and write a bundle that can rank it",
        "demo": "build a search of Python's own documentation, and ask it",
    },
}
COMMANDS = {name: about for group in GROUPS.values() for name, about in group.items()}

# What people type who know other programs.
ALSO = {
    "search": "rank", "query": "rank", "find": "rank", "diff": "compare",
    "evaluate": "eval", "add": "update", "delete": "update", "remove": "update", "info": "inspect",
    "show": "inspect", "check": "verify", "create": "build", "import": "build", "tune": "learn",
}  # fmt: skip
Parse = Callable[[OptionParser, Sequence[str]], argparse.Namespace]
OUTPUTS = ("output", "html", "runs", "letor")  # options that name what a command writes


def main(arguments: Sequence[str] | None = None, called: str = "") -> int:
    """Run a command and return the exit status.

    It is 0, 1 after a reported error, 2 for wrong usage and for a model's folder that cannot be
    imported, 3 where a command says so of its result, or 130 after Ctrl-C.

    Args:
        arguments: the command's name and what follows it; None for the process's.
        called: how the command was called, for messages; "" for ``ranklet COMMAND``.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    with screened():
        if not words or words[0] not in COMMANDS:
            parser = _parser()
            if words and not words[0].startswith("-"):
                parser.error(_unknown(words[0]))
            options = parser.parse_args(words)  # exits after --help, --version and mistakes
            if options.print_completion:
                from ranklet.commands.shell import completion_script

                sys.stdout.write(completion_script(options.print_completion, COMMANDS))
                return 0
            parser.print_help()
            return 2
        return _run(words[0], words[1:], called or f"ranklet {words[0]}")


def _unknown(command: str) -> str:
    """Return what is wrong with a command that there is not, and what may be meant."""
    meant = suggest(command, {each: each for each in COMMANDS} | ALSO)
    return f"there is no command {command[:40]!r}{meant}; the commands are {', '.join(COMMANDS)}"


def _run(command: str, arguments: Sequence[str], called: str) -> int:
    """Run one command by name with its own arguments; return the exit status.

    Args:
        command: the command's name.
        arguments: what follows it.
        called: how it was called, for messages.
    """
    module = import_module(f"{__name__}.{command}")
    # A command may need more than one package, and all of them should be installed at once.
    needs: Callable[[argparse.Namespace], str] = getattr(module, "needs", lambda _: "")
    parser = OptionParser(
        prog=called, description=module.__doc__, formatter_class=HelpWithDefaults,
        epilog=getattr(module, "EXAMPLE", None),
    )  # fmt: skip
    module.add_arguments(parser)
    parse: Parse = getattr(module, "read_arguments", OptionParser.parse_args)
    options = parse(parser, arguments)
    try:
        for name in OUTPUTS:  # refused before any work
            if place := getattr(options, name, None):
                writable(place)
        with _ended_as_by_ctrl_c(), hint_packages(lambda: needs(options)):
            status: int | None = module.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        complain(f"{called}: interrupted; no result was written")
        return 130
    except (RankletError, OSError) as error:  # a full disk or missing permissions, for example
        complain(f"{called}: {hide_secrets(str(error))}{_where_full(error)}")
        return 2 if isinstance(error, ModelFolderError) else 1
    return status or 0


def _where_full(error: Exception) -> str:
    """Return where to look for space, if an error does not say which disk is full."""
    if not isinstance(error, OSError) or error.errno != errno.ENOSPC or error.filename:
        return ""
    from tempfile import gettempdir

    return (
        " where the result is written, or where temporary files are, in "
        f"{gettempdir()!r}; free some, or name another folder by the variable TMPDIR"
    )


class HelpWithDefaults(argparse.HelpFormatter):
    """Help that states the default of every option that has one."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        has_default = action.default not in (None, False, argparse.SUPPRESS, [])
        return f"{action.help} (default: %(default)s)" if has_default else action.help


@contextmanager
def _ended_as_by_ctrl_c() -> Iterator[None]:
    """Let SIGTERM end a command like Ctrl-C, which removes partial files and saves a training."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):  # in a background process Ctrl-C is ignored
            raise KeyboardInterrupt
        handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # until now nothing could be undone
        signal.signal(signal.SIGINT, signal.default_int_handler)
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _parser() -> argparse.ArgumentParser:
    groups = (
        "\n".join([f"{title}:", *(f"  {name:9} {about}" for name, about in group.items())])
        for title, group in GROUPS.items()
    )
    lines = "\n\n".join(groups)
    parser = OptionParser(
        prog="ranklet",
        description="Train a text ranker, export it once, rank anywhere without PyTorch.",
        epilog=f"{lines}\n\n`ranklet COMMAND --help` lists the options of a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ranklet {__version__}")
    parser.add_argument(
        "--print-completion", choices=("bash", "zsh"), metavar="SHELL",
        help='complete commands and flags: eval "$(ranklet --print-completion bash)", or zsh',
    )  # fmt: skip
    parser.add_argument("command", metavar="COMMAND", choices=COMMANDS, nargs="?")
    return parser
