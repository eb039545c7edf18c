"""Verify fp16 and CUDA, and write results/gpu.md: `make bench-gpu`.

The exit status is 0 if every part was measured or skipped for want of time, 1 if a part or a row of
it failed (the section is written and says what), and 77 if there is no GPU or a package cannot use
it (nothing is written).

On the first loan of a card, which has onnxruntime-gpu:

    python3 setup.py --quiet build_py --build-lib build/package
    ORT_DISABLE_TELEMETRY=1 PYTHONPATH=$PWD/build/package python3 -m benchmarks.gpu --keep $OUT/gpu

On the next one carry that folder and give it as `--keep` again: what it holds is not measured
anew. `--miniature` runs all parts on the processor in small, to see that none fails.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

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
    parser.add_argument("--keep", type=Path, help="folder of what earlier runs have measured")
    parser.add_argument("--miniature", action="store_true", help="small, on the processor; prints")
    parser.add_argument("--backbone", default="", help="folder of an encoder (default: MiniLM-L6)")
    options = parser.parse_args(arguments)
    if options.miniature:
        with gpu_checks.work_folder(ROOT / "work") as work:
            small = replace(miniature(work), backbone=options.backbone)
            return write(small, options.minutes, keep=options.keep, only_print=True)
    try:
        gpu_checks.need_gpu()
    except gpu_checks.MissingGPUError as reason:
        print(f"bench-gpu: {reason}", file=sys.stderr)
        return NO_GPU
    with gpu_checks.work_folder(ROOT / "work") as work:
        setting = Setting(work, backbone=options.backbone)
        return write(setting, options.minutes, keep=options.keep, only_print=options.print)


def miniature(work: Path) -> Setting:
    """Return the setting of a run on the processor that takes minutes."""
    return Setting(
        work, device="cpu", steps=2, probes=(4, 12), pair_probes=(3, 12), lengths=(16,),
        pair_tokens=(32,), batches=(1, 2), pair_batches=(1, 4), rounds=1, clients=(1, 2),
        client_seconds=0.3, many=64, passage_tokens=16,
    )  # fmt: skip


def write(setting: Setting, minutes: float, *, keep: Path | None = None, only_print: bool) -> int:
    """Measure, and print the section or write its page; return the exit status."""
    outcomes = gpu_checks.measured(setting, minutes, keep)
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
