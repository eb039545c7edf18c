"""The packages of each image serve a bundle with a network and HNSW, without a container."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import packages_distributions
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.damage import with_settings
from tests.handlers.conftest import MODULE, running
from tests.kinds import TinyRankers

from ranklet.corpus.index import index_bundle

INFRA = Path(__file__).resolve().parents[2] / "infra"
# It runs as Python starts, in each process of a server.
BLOCKED = """
import sys
class Seen:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {names!r}:
            return self.finder.find_spec(name, path, target)
sys.meta_path[:] = map(Seen, sys.meta_path)
"""


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower().removesuffix("-gpu")


@contextmanager
def only_packages(image: str, folder: Path, without: str = "") -> Iterator[dict[str, str]]:
    """Yield the environment of a Python that sees only the packages of an image's list."""
    lines = (INFRA / image / "requirements.txt").read_text("utf-8").splitlines()
    listed = {_canonical(line.partition("==")[0]) for line in lines if "==" in line} - {without}
    names = {
        module
        for module, owners in packages_distributions().items()
        if not {*map(_canonical, owners)} & {*listed, "ranklet"}
    }
    (folder / "sitecustomize.py").write_text(BLOCKED.format(names=names))
    with patch.dict(os.environ, {"PYTHONPATH": str(folder)}):
        yield dict(os.environ)


@pytest.fixture(scope="module")
def graph(tiny: TinyRankers, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bundle whose dense vectors hnswlib searches."""
    pytest.importorskip("hnswlib")
    folder = tmp_path_factory.mktemp("graph")
    with_settings(
        Path(shutil.copytree(tiny.exported("dense"), folder / "rankers")), "dense", search="hnsw"
    )
    return Path(index_bundle(folder / "rankers", tiny.data.collection, folder / "bundle"))


@pytest.mark.slow
@pytest.mark.parametrize("image", ["cloudrun", "gpu"])
def test_a_server_is_ready(image: str, graph: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", MODULE]
    with (
        only_packages(image, tmp_path),
        running(tmp_path, command, graph, ready=True, RANKLET_DEVICE="cpu") as server,
    ):
        body = {"query": "quiet stream", "k": 3, "pipeline": "dense"}
        assert len(server.post("/rank", body).json()["hits"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize("without", ["", "hnswlib"])
def test_a_function_is_ready(without: str, graph: Path, tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    http = {"method": "GET", "path": "/readyz"}
    event.write_text(
        json.dumps({"version": "2.0", "rawPath": "/readyz", "requestContext": {"http": http}})
    )
    command = [sys.executable, "-m", "ranklet.handlers.aws_lambda", str(event)]
    with only_packages("lambda", tmp_path, without) as environment:
        environment["RANKLET_BUNDLE"] = str(graph)
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if without:
        assert "the package 'hnswlib' is not installed" in done.stderr
    else:
        assert json.loads(done.stdout)["statusCode"] == 200
