"""Run benchmarks: ``python -m benchmarks [NAME …]``."""

import argparse
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import BENCHMARKS
from benchmarks.harness import report
from benchmarks.harness.place import ROOT, MissingDataError, Place, default_data
from benchmarks.harness.processes import ONE_THREAD

LOANS = "paper_trainings"  # takes names and a time
PLACE = "benchmarks"  # the only folder of the work folder that is written, or deleted


def main() -> int:
    """Run the benchmarks named; returns the exit status."""
    options = _options()
    if options.list:
        for name in BENCHMARKS:
            print(f"{name:16} {_title(name)}")
        return 0
    if options.section:
        print(_section(options.section, Place(options.data, options.work / PLACE), options))
        return 0
    if options.fresh:
        shutil.rmtree(options.work / PLACE, ignore_errors=True)
    failed = False
    for name in options.names or BENCHMARKS:
        begin = perf_counter()
        content = _run(name, options)
        took = f"({perf_counter() - begin:.0f} s)"
        if content is None:
            print(f"{name}: failed {took}", file=sys.stderr)
            failed = True
        elif content.startswith("skipped"):
            print(f"{name}: {content.strip()}", file=sys.stderr)
        elif options.print:
            print(content)
        else:
            page = report.write(name, content).relative_to(ROOT)
            print(f"{name}: in {page} {took}", file=sys.stderr)
    return int(failed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which ones (default: all)")
    parser.add_argument("--list", action="store_true", help="say what there is")
    parser.add_argument("--print", action="store_true", help="print, and leave the pages alone")
    parser.add_argument("--fresh", action="store_true", help="rebuild every bundle and index")
    parser.add_argument("--data", type=Path, default=default_data(), help="folder of collections")
    parser.add_argument("--work", type=Path, default=ROOT / "work", help="folder for what is built")
    parser.add_argument("--section", help=argparse.SUPPRESS, choices=BENCHMARKS)
    chosen = parser.add_argument_group(f"of {LOANS}")
    chosen.add_argument("--only", default="", metavar="NAME,…", help="which trainings")
    chosen.add_argument("--minutes", type=float, help="time in which trainings begin and end")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in BENCHMARKS]:
        parser.error(f"unknown benchmark {', '.join(unknown)}; known are {', '.join(BENCHMARKS)}")
    if _chosen(options) and LOANS not in (options.section, *options.names):
        parser.error(f"--only and --minutes are those of {LOANS}; name it")
    return options


def _run(name: str, options: argparse.Namespace) -> str | None:
    """Run a benchmark in a process of its own, on one thread; None where it failed."""
    command = [sys.executable, "-m", "benchmarks", "--section", name]
    command += ["--data", str(options.data), "--work", str(options.work)]
    if name == LOANS:
        command += [f"--only={options.only}"]
        command += [] if options.minutes is None else [f"--minutes={options.minutes}"]
    environment = {**os.environ, **ONE_THREAD}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    return done.stdout.rstrip() if done.returncode == 0 else None


def _chosen(options: argparse.Namespace) -> dict[str, Any]:
    """Return what was chosen of a benchmark's trainings."""
    only = [name.strip() for name in options.only.split(",") if name.strip()]
    minutes = {} if options.minutes is None else {"minutes": options.minutes}
    return {**({"only": only} if only else {}), **minutes}


def _section(name: str, place: Place, options: argparse.Namespace) -> str:
    module = import_module(f"benchmarks.{BENCHMARKS[name]}.{name}")
    try:
        body = module.run(place, **_chosen(options))
        return report.section(name, _title(name), body, module.PACKAGES)
    except MissingDataError as reason:
        return f"skipped: {reason}"


def _title(name: str) -> str:
    """Return the first line of a benchmark's docstring, read without importing its packages."""
    source = (Path(__file__).parent / BENCHMARKS[name] / f"{name}.py").read_text()
    return source.split('"""')[1].splitlines()[0].rstrip(".")


sys.exit(main())
