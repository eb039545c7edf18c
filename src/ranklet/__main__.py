"""The command ``ranklet``, which ``python -m ranklet`` is, too."""

import signal
import sys


def main(called: str = "") -> int:
    """Run a command and return the exit status; see `ranklet.commands.main`.

    Until a command begins, there is nothing to undo, so Ctrl-C ends the process without a word.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ranklet.commands import main as run

    return run(called=called)


def export_onnx() -> int:
    """Run ``export-onnx``, an alias of ``ranklet export`` that people may look for."""
    sys.argv.insert(1, "export")
    return main("export-onnx")


if __name__ == "__main__":
    sys.exit(main())
