"""Verify fp16 and CUDA, and write results/gpu.md: `make bench-gpu`.

The exit status is 0 if every part was measured or skipped for want of time, 1 if a part or a row of
it failed (the section is written and says what), and 77 if there is no GPU or a package cannot use
it (nothing is written).
"""

import argparse
import sys
from collections.abc import Sequence

from benchmarks.gpu import gpu_checks
from benchmarks.gpu.setting import Setting
from benchmarks.harness import report
from benchmarks.harness.place import ROOT

NAME = "gpu_checks"
FAILED, NO_GPU = 1, 77  # exit statuses


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--print", action="store_true", help="print, and write no page")
    parser.add_argument("--minutes", type=float, default=gpu_checks.MINUTES, help="of all parts")
    options = parser.parse_args(arguments)
    try:
        gpu_checks.need_gpu()
    except gpu_checks.MissingGPUError as reason:
        print(f"bench-gpu: {reason}", file=sys.stderr)
        return NO_GPU
    with gpu_checks.work_folder(ROOT / "work") as work:
        return write(Setting(work), options.minutes, only_print=options.print)


def write(setting: Setting, minutes: float, *, only_print: bool) -> int:
    """Measure, and print the section or write its page; return the exit status."""
    outcomes = gpu_checks.measured(setting, minutes)
    title = (gpu_checks.__doc__ or "").splitlines()[0].rstrip(".")
    body = gpu_checks.report(outcomes)
    content = report.section(NAME, title, body, gpu_checks.PACKAGES).rstrip()
    if only_print:
        print(content)
    else:
        report.write(NAME, content)
    errors = [error for outcome in outcomes for error in outcome.errors]
    for error in errors:
        print(f"bench-gpu: failed: {error}", file=sys.stderr)
    return FAILED if errors else 0


if __name__ == "__main__":
    sys.exit(main())
