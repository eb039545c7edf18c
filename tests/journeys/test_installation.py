"""The README's first blocks, the installation included, in an environment that has nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, blocks

UNREACHABLE = (
    "No matching distribution",
    "Could not find a version",
    "ConnectionError",
    "timed out",
)


@pytest.mark.slow
def test_the_first_lines_of_the_readme_install_and_search(tmp_path: Path) -> None:
    git, bash = shutil.which("git"), shutil.which("bash")
    if git is None or bash is None:
        pytest.skip("needs git and bash")
    first, second, third = blocks((ROOT / "README.md").read_text("utf-8"))[:3]
    assert [first.language, second.language, third.language] == ["sh", "python", "sh"]
    install = first.code
    # The blocks run where the clone and the table are, so the clone is copied, without its builds.
    tracked = subprocess.run(
        [git, "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    clone = tmp_path / "clone"
    for name in filter(None, tracked):
        if (ROOT / name).exists():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clone / name, follow_symlinks=False)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    environment["PATH"] = f"{tmp_path / 'venv' / 'bin'}:{environment['PATH']}"
    assert install.startswith("pip install ")
    installed = subprocess.run(
        [bash, "-c", install], cwd=clone, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if installed.returncode and any(each in installed.stderr for each in UNREACHABLE):
        pytest.skip("no package index can be reached")
    assert installed.returncode == 0, installed.stderr[-2000:]
    work = tmp_path / "work"
    work.mkdir()
    (work / "texts.csv").write_text("text\nKnead the dough for ten minutes.\nBoil the eggs.\n")
    python = tmp_path / "venv" / "bin" / "python"
    found = subprocess.run(
        [python, "-c", second.code], cwd=work, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout == "7\n"  # the text about cats
    ranked = subprocess.run(
        [bash, "-eu", "-c", third.code], cwd=work, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert ranked.returncode == 0, ranked.stderr[-2000:]
    assert "Knead the dough" in ranked.stdout
