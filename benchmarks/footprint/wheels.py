"""Which systems and versions of Python install ranklet and its extras from wheels alone.

uv resolves each environment as pip would, with source packages forbidden, and installs nothing.
"""

import os
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

from benchmarks.harness.place import ROOT, MissingDataError, Place
from benchmarks.harness.report import table

PLATFORMS = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux arm64": "aarch64-manylinux_2_28",
    "macOS 14 arm64": "aarch64-apple-darwin",
    "Windows x86-64": "x86_64-pc-windows-msvc",
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
FOR_DEVELOPERS = {"dev", "docs", "clients", "bench"}
# Extras that some system or version lacks; the others are resolved together.
ALONE = ("hnsw", "japanese", "lambda", "openvino", "pyterrier")
AT_ONCE = 8  # uv mostly waits for the index
REFUSED = "No solution found"
UNREACHABLE = ("Failed to fetch", "dns error", "tcp connect error", "timed out", "Connection")


def extras() -> list[str]:
    """Return the extras for users, "" first, which stands for none."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return ["", *(each for each in project["optional-dependencies"] if each not in FOR_DEVELOPERS)]


def find_uv() -> str:
    """Return the path of uv.

    Raises:
        MissingDataError: it is not installed.
    """
    found = shutil.which("uv")
    if found is None:
        try:
            from uv import find_uv_bin

            return str(find_uv_bin())
        except ImportError:
            raise MissingDataError("uv is not installed; run: pip install uv") from None
    return found


def refusal(chosen: Iterable[str], platform: str, python: str) -> str:
    """Return why some extras cannot be installed together from wheels; "" if they can.

    Args:
        chosen: extras; "" for none.
        platform: one of `PLATFORMS`.
        python: a version, as 3.12.

    Raises:
        MissingDataError: uv is missing, or no index can be reached.
        RuntimeError: uv ends for another reason.
    """
    flags = [word for each in chosen if each for word in ("--extra", each)]
    done = subprocess.run(
        [
            find_uv(), "pip", "compile", "--quiet", "--no-header", "--only-binary", ":all:",
            "--python-platform", PLATFORMS[platform], "--python-version", python, *flags,
            str(Path("pyproject.toml")),
        ],
        cwd=ROOT, env={**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return ""
    if any(each in done.stderr for each in UNREACHABLE):
        raise MissingDataError(f"no index of packages can be reached: {done.stderr[-300:]}")
    if REFUSED not in done.stderr:
        raise RuntimeError(done.stderr)
    said = " ".join(done.stderr.partition("Because ")[2].split())
    return said.partition(" and ")[0] or REFUSED


def run(place: Place) -> str:  # noqa: ARG001
    """Resolve every extra for every system and version."""
    names = extras()
    usual = [each for each in names if each not in ALONE]
    places = list(product(PLATFORMS, PYTHONS))
    reasons: dict[tuple[str, str, str], str] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        together = list(pool.map(lambda at: refusal(usual, *at), places))
        single = [(name, *at) for at in places for name in ALONE]
        single += [
            (name, *at) for at, why in zip(places, together, strict=True) if why for name in usual
        ]
        found = pool.map(lambda at: refusal([at[0]], *at[1:]), single)
        reasons.update(zip(single, found, strict=True))
    rows = [
        [f"`{name}`" if name else "none", *(_cell(name, system, reasons) for system in PLATFORMS)]
        for name in names
    ]
    why = sorted({f"- `{name}`: {said}" for (name, *_), said in reasons.items() if said})
    about = (
        f"A cell names the versions of Python, of {', '.join(PYTHONS)}, that need no source "
        "package. uv says of the others:"
    )
    return f"{table(['extra', *PLATFORMS], rows)}\n\n{about}\n\n" + "\n".join(why)


def _cell(name: str, platform: str, reasons: dict[tuple[str, str, str], str]) -> str:
    fit = [each for each in PYTHONS if not reasons.get((name, platform, each))]
    return "all" if len(fit) == len(PYTHONS) else ", ".join(fit) or "none"


PACKAGES = ("uv",)
