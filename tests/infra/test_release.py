import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def workflow() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    text = (ROOT / ".github" / "workflows" / "publish.yml").read_text("utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def test_only_the_job_that_publishes_can_prove_who_it_is() -> None:
    jobs = workflow()["jobs"]
    assert workflow()["permissions"] == {"contents": "read"}
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["environment"] == "pypi"
    assert "permissions" not in jobs["build"]
    assert all("run" not in step for step in jobs["publish"]["steps"])
    assert "secrets." not in str(jobs)


def test_what_it_runs_exists_and_the_tag_must_be_the_version() -> None:
    steps = [step.get("run", "") for step in workflow()["jobs"]["build"]["steps"]]
    targets = re.findall(r"make (\w+)", " ".join(steps))
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert targets
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    assert any("GITHUB_REF_NAME" in step and "version.py" in step for step in steps)
