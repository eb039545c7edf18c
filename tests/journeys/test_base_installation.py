"""With nothing but the hard dependencies, a search is built, ranked, explained and updated."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from tests.docs.pages import ROOT
from tests.models import tokenizer

# Runs commands in a process that can import the standard library and the hard dependencies only.
CODE = """
import importlib.abc, sys
ALLOWED = set(sys.stdlib_module_names) | {"ranklet", *sys.argv[1].split(",")}
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ALLOWED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
from importlib import util
found = util.find_spec
util.find_spec = lambda name: found(name) if name.partition(".")[0] in ALLOWED else None
from ranklet.commands import main
import json
for words in json.loads(sys.argv[2]):
    print("$", *words, flush=True)
    if main(words):
        sys.exit(1)
"""


def run(*commands: list[str]) -> subprocess.CompletedProcess[str]:
    """Run commands without any package of an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = [each.split(">")[0].replace("-", "_") for each in project["dependencies"]]
    allowed = [each.replace("it_py", "it") for each in named] + ["mdurl"]  # which markdown_it reads
    return subprocess.run(
        [sys.executable, "-c", CODE, ",".join(allowed), json.dumps(commands)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.csv"
    path.write_text(
        "id,text,year\n1,The quick fox jumps over lazy dogs,2001\n2,Cats sleep all day,2002\n"
    )
    (tmp_path / "new.md").write_text("# Title\n\nA text.\n")
    (tmp_path / "new.jsonl").write_text('{"id": "3", "text": "Jumping cats"}\n')
    return path


@pytest.mark.slow
def test_a_search_by_words(texts: Path) -> None:
    bundle = str(texts.with_name("search.ranklet"))
    done = run(
        ["build", str(texts), "-o", bundle],
        ["update", bundle, "--add", str(texts.with_name("new.jsonl"))],
        ["update", bundle, "--add", str(texts.with_name("new.md"))],
        ["rank", bundle, "jumped", "--where", '{"year": 2001}'],
        ["explain", bundle, "jumps", "-k", "2"],
        ["verify", bundle],
    )
    assert done.returncode == 0, done.stderr
    assert "2001" in done.stdout
    assert "valid" in done.stdout


@pytest.mark.slow
def test_a_search_by_vectors_of_tokens(texts: Path, tmp_path: Path) -> None:
    model, bundle = tmp_path / "static", str(tmp_path / "hybrid.ranklet")
    model.mkdir()
    tokenizer().backend_tokenizer.save(str(model / "tokenizer.json"))
    table = np.random.default_rng(0).normal(size=(len(tokenizer()), 16)).astype(np.float32)
    save_file({"embeddings": table}, model / "model.safetensors")
    (model / "config.json").write_text('{"architectures": ["StaticModel"], "normalize": true}')
    done = run(
        ["build", str(texts), "-o", bundle, "--model", str(model)],
        ["update", bundle, "--add", str(texts.with_name("new.jsonl"))],
        ["rank", bundle, "dogs and cats", "--pipeline", "static"],
        ["explain", bundle, "dogs and cats", "-k", "1"],
        ["verify", bundle],
    )
    assert done.returncode == 0, done.stderr
    assert "static" in done.stdout
    assert "valid" in done.stdout
