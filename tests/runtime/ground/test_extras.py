"""Installation hints name the smallest extra that suffices, and pyproject.toml has all of them."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ranklet.commands import main
from ranklet.runtime.ground.errors import MissingPackageError
from ranklet.runtime.ground.extras import EXTRAS, INCLUDED, install, sufficient
from ranklet.workflows.build import build

if TYPE_CHECKING:
    from tests.conftest import Built

ROOT = Path(__file__).resolve().parents[3]
FOR_DEVELOPERS = {"dev", "docs", "clients", "bench"}
IMPORTED_AS = {
    "opentelemetry_api": "opentelemetry",
    "faiss_cpu": "faiss",
    "haystack_ai": "haystack",
    "llama_index_core": "llama_index",
}


def test_the_table_is_that_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    packages: dict[str, set[str]] = {}
    included: dict[str, tuple[str, ...]] = {}
    for extra, requirements in project["optional-dependencies"].items():
        for requirement in () if extra in FOR_DEVELOPERS else requirements:
            if match := re.match(r"ranklet\[([\w,]+)\]", requirement):
                included[extra] = tuple(match[1].split(","))
            else:
                name = re.match(r"[\w.-]+", requirement)
                assert name is not None
                if extra == "export" and name[0] == "onnxruntime":  # of a newer version
                    continue
                package = name[0].removesuffix("-py").removesuffix("-gpu").replace("-", "_")
                packages.setdefault(extra, set()).add(IMPORTED_AS.get(package, package))
    ours = {extra: {name.removesuffix("_py") for name in names} for extra, names in EXTRAS.items()}
    assert ours == packages
    assert included == INCLUDED


def test_every_extra_in_a_message_or_in_the_documentation_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    ours = ("runtime", "corpus", "training", "export", "handlers", "src/ranklet/commands")
    for folder in (*ours, "src/ranklet/integrations", "docs"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".md"):
                named = re.findall(r"ranklet\[([a-z0-9_,]+)\]", path.read_text("utf-8"))
                assert {each for name in named for each in name.split(",")} <= extras, path


def test_what_a_command_needs_in_all_is_installed_at_once() -> None:
    assert sufficient("torch", "train") == "train"
    assert sufficient("torch", "onnx") == "train"
    assert sufficient("onnxruntime", "train") == "train"
    assert sufficient("uvicorn", "export") == "http"
    assert sufficient("unknown", "export") == ""


def test_commands_name_the_smallest_extra(
    built: "Built",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    collection, bundle, out = str(built.collection.path), str(built.fused), str(tmp_path / "out")
    for missing, extra, arguments in (
        ("torch", "train", ["train", "dense", collection, "-o", out]),
        ("uvicorn", "http", ["serve", bundle]),
    ):
        with monkeypatch.context() as patch:
            for name in [
                each for each in sys.modules if each.startswith("ranklet.handlers.server")
            ]:
                patch.delitem(sys.modules, name)
            patch.setitem(sys.modules, missing, None)
            assert main(arguments) == 1, arguments
        error = capsys.readouterr().err
        assert error.endswith(f"{missing!r} is not installed; run: {install(extra)}\n"), arguments


def test_python_callers_get_the_hint_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "py3langid", None)
    with pytest.raises(MissingPackageError, match="run: pip install py3langid"):
        build(["Das ist ein Text"], tmp_path / "out")


def test_the_server_as_a_program_says_what_it_needs() -> None:
    code = (
        "import sys; sys.modules['starlette'] = None; sys.modules['uvicorn'] = None; "
        "from ranklet.handlers.http import main; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith(f"is not installed; run: {install('http')}\n")


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        ("", "pip install 'ranklet[onnx]'"),
        ('{"url": "file:///my%20clone", "dir_info": {"editable": true}}',
         "pip install --editable '/my clone[onnx]'"),
        ('{"url": "file:///w/ranklet.whl", "archive_info": {}}',
         "pip install '/w/ranklet.whl[onnx]'"),
        ('{"url": "https://host.example/r", "vcs_info": {"vcs": "git"}}',
         "pip install 'ranklet[onnx] @ git+https://host.example/r'"),
    ],
)  # fmt: skip
def test_an_extra_comes_from_where_ranklet_came_from(
    origin: str, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.Distribution.read_text", lambda *_: origin)
    monkeypatch.setattr("importlib.metadata.PathDistribution.read_text", lambda *_: origin)
    assert install("onnx") == wanted
