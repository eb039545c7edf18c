"""The package runs from a zip, as zipapp, PEX and Spark use it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.product_imports import ROOT

from ranklet.runtime.storage import package_files
from ranklet.runtime.storage.package_files import package_bytes, package_text
from ranklet.workflows.build import build

READERS = """
import ranklet
assert "app.zip" in ranklet.__file__, ranklet.__file__
from ranklet.commands.demo.questions import QUESTIONS
from ranklet.corpus.collections.neutral_texts import neutral_queries
from ranklet.handlers.judge import service as judge
from ranklet.handlers.playground.explained_page import FOLDER
from ranklet.runtime.storage.package_files import package_text
from ranklet.handlers.server import service
assert QUESTIONS and neutral_queries(1)
assert all(package_text(FOLDER / name) for name in ("explained.html", "index.html"))
for place, media in judge.FILES.values():
    judge.page_file(place, media)
for name, media in service.FILES.values():
    service.page_file(service.PLAYGROUND / name, media)
"""


def test_a_file_beside_a_module_is_read() -> None:
    place = Path(package_files.__file__)
    assert package_bytes(place) == place.read_bytes()
    assert package_text(place).startswith('"""Read data files')
    with pytest.raises(OSError, match="missing"):
        package_bytes(place.with_name("missing.txt"))


@pytest.mark.slow
def test_the_package_runs_from_a_zip(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    package = [
        sys.executable,
        "setup.py",
        "--quiet",
        "build_py",
        "--build-lib",
        str(tmp_path / "app"),
    ]
    subprocess.run(package, cwd=ROOT, check=True)
    shutil.make_archive(str(tmp_path / "app"), "zip", tmp_path / "app")
    build([{"id": "1", "text": "Knead the dough."}], tmp_path / "x.ranklet")

    def run(*arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "app.zip")}
        return subprocess.run(
            [sys.executable, "-B", *arguments], cwd=tmp_path, env=environment, check=True,
            capture_output=True, text=True,
        ).stdout  # fmt: skip

    assert "Knead the dough" in run("-m", "ranklet", "rank", "x.ranklet", "the dough")
    assert "usage" in run("-m", "ranklet", "build", "-h")
    run("-c", READERS)
