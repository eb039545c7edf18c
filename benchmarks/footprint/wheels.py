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
SOURCE = {"hnsw"}  # extras whose package is published as source
AT_ONCE = 4  # uv mostly waits for the index
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
    return " ".join(done.stderr.split())


def run(place: Place) -> str:  # noqa: ARG001
    """Resolve every extra for every system and version."""
    names = [each for each in extras() if each not in SOURCE]
    places = list(product(PLATFORMS, PYTHONS))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        together = dict(zip(places, pool.map(lambda at: refusal(names, *at), places), strict=True))
        alone = [(name, *at) for at, reason in together.items() if reason for name in names]
        reasons = dict(
            zip(alone, pool.map(lambda at: refusal([at[0]], *at[1:]), alone), strict=True)
        )
    rows = [
        [
            f"`{name}`" if name else "none",
            *(_cell(name, platform, reasons) for platform in PLATFORMS),
        ]
        for name in names
    ]
    lacking = [
        f"- `{name}`, {system}, Python {python}: {why}"
        for (name, system, python), why in reasons.items()
        if why
    ]
    about = (
        f"A cell names the versions of Python, of {', '.join(PYTHONS)}, that need no source "
        f"package. Not listed: {', '.join(f'`{each}`' for each in sorted(SOURCE))}, whose package "
        "is published as source."
    )
    return "\n\n".join(
        [table(["extra", *PLATFORMS], rows), about, *filter(None, ["\n".join(lacking)])]
    )


def _cell(name: str, platform: str, reasons: dict[tuple[str, str, str], str]) -> str:
    fit = [each for each in PYTHONS if not reasons.get((name, platform, each))]
    return "all" if len(fit) == len(PYTHONS) else ", ".join(fit) or "none"


PACKAGES = ("uv",)
