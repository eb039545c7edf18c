"""A checkout's ranklet in one folder, for Pythons that have none of their own."""

import subprocess
import sys
from pathlib import Path


def install(tree: Path, folder: Path) -> Path:
    """Install a checkout's ranklet alone into a folder; return the folder, for PYTHONPATH.

    Args:
        tree: the checkout, of any age.
        folder: may hold an older copy, which is replaced.
    """
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--no-deps"]
    subprocess.run(
        [*command, "--no-build-isolation", "--target", str(folder), str(tree)], check=True
    )
    return folder
