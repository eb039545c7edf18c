"""infra/lambda says what the code does, and its tools find no fault with it."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.product_imports import PRODUCT, modules

from ranklet.runtime.ground.variables import VARIABLES

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "infra" / "lambda"
DOCKERFILE = (FOLDER / "Dockerfile").read_text("utf-8")
TEMPLATE = (FOLDER / "template.yaml").read_text("utf-8")
REQUIREMENTS = "".join(path.read_text("utf-8") for path in FOLDER.glob("*.txt"))


def tool(name: str) -> str:
    """Return the path of a program, next to this Python or on the PATH; skip if there is none."""
    installed = Path(sys.executable).parent / name
    path = str(installed) if installed.exists() else shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def checked(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, cwd=FOLDER)


def test_hadolint_finds_no_fault(tmp_path: Path) -> None:
    hadolint = tool("hadolint")
    found = checked(hadolint, "Dockerfile")
    assert (found.returncode, found.stdout) == (0, "")
    bad = tmp_path / "Dockerfile"
    bad.write_text("FROM debian\nRUN cd /tmp\n")
    assert checked(hadolint, str(bad)).returncode == 1  # it can


def test_shellcheck_finds_no_fault() -> None:
    scripts = [str(path) for path in sorted((ROOT / "infra").rglob("*.sh"))]
    assert scripts
    found = checked(tool("shellcheck"), *scripts)
    assert (found.returncode, found.stdout) == (0, "")


@pytest.mark.slow
def test_cfn_lint_finds_no_fault(tmp_path: Path) -> None:
    found = checked(tool("cfn-lint"), "template.yaml")
    assert (found.returncode, found.stdout) == (0, "")
    bad = tmp_path / "template.yaml"
    bad.write_text(TEMPLATE.replace("MinValue: 128", "MinValue: many"))
    assert checked(tool("cfn-lint"), str(bad)).returncode != 0


@pytest.mark.slow
def test_sam_finds_the_template_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAM_CLI_TELEMETRY", "0")
    sam = tool("sam")
    found = checked(sam, "validate", "--lint", "--region", "eu-central-1", "-t", "template.yaml")
    assert found.returncode == 0, found.stderr


def test_the_image_starts_the_handler_that_there_is() -> None:
    (handler,) = re.findall(r'^CMD \["(.*)"\]$', DOCKERFILE, re.MULTILINE)
    module = handler.rpartition(".")[0]
    assert handler.endswith(".handler")
    assert module in modules(PRODUCT)


def test_the_image_holds_all_that_serving_imports_in_versions_that_are_allowed() -> None:
    pinned = dict(re.findall(r"^([\w-]+)==([\d.]+) ", REQUIREMENTS, re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [each for each in project["dependencies"] if each.startswith("numpy")]
    for extra in ("onnx", "hnsw", "lambda"):
        wanted += project["optional-dependencies"][extra]
    for requirement in wanted:
        if requirement.startswith("ranklet["):  # boto3 is in AWS's base image
            continue
        name, least = requirement.split(">=")
        version = tuple(map(int, pinned[name].split(".")))
        assert version >= tuple(map(int, least.split("."))), name


def test_every_variable_that_is_set_is_read() -> None:
    set_there = set(re.findall(r"\bRANKLET_\w+", DOCKERFILE + TEMPLATE))
    assert set_there
    assert set_there <= {*VARIABLES}
