"""The layout keeps its promises: same stems in every layer, one idea a file, a whole wheel."""

import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from benchmarks import BENCHMARKS
from tests.product_imports import LAYERS, PRODUCT, ROOT, Graph, cycles, import_graph

from ranklet.corpus.building.indexer import Indexer, indexer
from ranklet.export.exporter import Exporter, exporter
from ranklet.runtime.call.protocol import Ranker, Retriever
from ranklet.runtime.ground.errors import RankletError
from ranklet.runtime.kinds import KINDS, ranker_module
from ranklet.training.imported.importing import list_forms

INNER = ("commands", "integrations", "workflows")  # what src/ranklet has itself


@pytest.mark.parametrize("layer", ["runtime", "corpus", "training", "export"])
def test_every_kind_has_one_module_or_package_of_its_name_in_every_layer(layer: str) -> None:
    folder = ROOT / layer / "rankers"
    for kind in KINDS:
        assert (folder / f"{kind}.py").is_file() != (folder / kind / "__init__.py").is_file(), kind
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert packages <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_modules_of_a_kind_have_the_same_shape(kind: str) -> None:
    module = ranker_module(kind)
    assert hasattr(module.SETTINGS, "from_json")
    assert callable(module.RANKER.open)
    assert issubclass(module.RANKER, Ranker)
    assert issubclass(module.RANKER, Retriever) == KINDS[kind].retrieves
    assert isinstance(indexer(kind), Indexer)
    assert isinstance(exporter(kind), Exporter)


def test_kinds_that_import_models_say_which() -> None:
    having = {path.parent.name for path in (ROOT / "training/rankers").glob("*/forms.py")}
    assert having == {kind for kind in KINDS if KINDS[kind].imported}
    assert having == {
        path.parent.name for path in (ROOT / "training/rankers").glob("*/importing.py")
    }
    for kind in having:
        assert {form.kind for form in list_forms(kind)} == {kind}
        assert list_forms(kind)[0].settings == {}  # the first fits every checkpoint of the kind


@pytest.mark.parametrize("kind", ["../evil", "os", "", "__init__"])
def test_no_other_module_can_be_named_as_a_kind(kind: str) -> None:
    with pytest.raises(RankletError, match="known are"):
        ranker_module(kind)
    with pytest.raises(RankletError, match="known are"):
        indexer(kind)
    with pytest.raises(RankletError, match="known are"):
        exporter(kind)


# Tests that no single module answers for, and why they stand where they do.
CROSSING = {
    "handlers/test_remote_collection.py": "a server and a function, on a collection in Milvus",
    "handlers/playground/test_playground.py": "HTML and JavaScript, in a browser",
    "handlers/server/test_prefix.py": "the page and the server, behind a proxy",
    "handlers/server/test_clients.py": "other makers' clients against the whole server",
}


def mirrored(test: Path) -> bool:
    """Return whether a test stands where its code does: a module, a package, or its __init__."""
    top, *folders = test.parts[:-1]
    code = ROOT.joinpath(f"src/ranklet/{top}" if top in INNER else top, *folders)
    stem = test.stem.removeprefix("test_")
    places = [code / f"{stem}.py", code / stem / "__init__.py"]
    if code.name == stem:
        places.append(code / "__init__.py")
    return any(place.is_file() for place in places)


def test_tests_stand_where_their_code_does() -> None:
    tests = [
        path.relative_to(ROOT / "tests")
        for layer in (*LAYERS, *INNER, "benchmarks")
        for path in (ROOT / "tests" / layer).rglob("test_*.py")
    ]
    assert len(tests) > 80
    assert {path.as_posix() for path in tests if not mirrored(path)} <= set(CROSSING)


def test_every_benchmark_stands_in_the_package_that_its_list_names() -> None:
    for name, package in BENCHMARKS.items():
        source = ROOT / "benchmarks" / package / f"{name}.py"
        assert source.is_file(), name
        # A run of hours ends with a line of the packages' versions.
        assert "\nPACKAGES" in source.read_text("utf-8"), name


def test_the_walks_for_newcomers_name_files_and_enter_no_folder_twice() -> None:
    page = (ROOT / "docs/maintainers/design.md").read_text("utf-8").replace("\\_", "_")
    section = page.split("## A newcomer's four walks")[1].split("\n## ")[0]
    walks = section.split("\n**")[1:]
    assert len(walks) == 4
    for walk in walks:
        entered: list[str] = []
        folder = ""
        for step in re.findall(r"^\d+\. (.*?\.py): ", walk, re.M):
            for name in step.split(", "):
                folder = name.rpartition("/")[0] or folder
                assert (ROOT / folder / name.rpartition("/")[2]).is_file(), name
                entered += [folder] if [folder] != entered[-1:] else []
        twice = {each for each in entered if entered.count(each) > 1}
        assert len(entered) > 5
        assert twice == ({"runtime"} if walk.startswith("A query") else set())


# ------------------------------------------------------------------------------ who imports whom


@pytest.fixture(scope="module")
def graph() -> Graph:
    return import_graph(PRODUCT)


def test_no_modules_import_each_other(graph: Graph) -> None:
    assert len(graph) > 200
    assert "ranklet.runtime.bundles.files" in graph["ranklet.runtime.bundle"]
    assert cycles(graph) == []


def test_a_planted_circle_is_found(tmp_path: Path) -> None:
    files = {
        "p/__init__.py": "",
        "p/a.py": "from p import b\n",
        "p/b.py": "def f():\n    from p.q.c import x\n",
        "p/q/__init__.py": "",
        "p/q/c.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.a\n",
        "p/alone.py": "from p import a\nimport os\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    assert cycles(import_graph({"p": tmp_path / "p"})) == [["p.a", "p.b", "p.q.c"]]


# Kinds that are built on another one, whose modules they may import.
BUILT_ON = {
    "tk": {"conformer_kernel"},  # the same terms, layers and training
    "neural_model1": {"model1"},  # the same formula, with another table
    "cross_encoder": {"neural_model1"},  # the head of BERT-Model1
    "srm": {"colbert"},  # MaxSim, tokens, and the oracle
}


def test_only_a_kind_imports_its_modules(graph: Graph) -> None:
    strangers = [
        f"{module} imports {imported}"
        for module, imports in graph.items()
        for imported in sorted(imports)
        if (kind := detect_kind(imported))
        and kind not in {detect_kind(module), *BUILT_ON.get(detect_kind(module), ())}
        # Training takes its negatives from BM25.
        and imported != "ranklet.runtime.rankers.bm25"
    ]
    assert strangers == []


# Places that speak of certain kinds by name, in the order of the folders.
NAMING = (
    "runtime/kinds.py",  # the table
    "src/ranklet/workflows/learn/candidates.py",  # which kinds `learn` tries
)


def test_no_code_outside_of_a_kind_names_it() -> None:
    # BM25 is what every build has and what every training compares with.
    words = set(KINDS) - {"bm25", "dense"}  # "dense" is an adjective in longer texts
    name = re.compile(rf"^dense$|(?<![\w.])({'|'.join(words)})(?![\w.=])")
    named = [
        f"{place}:{node.lineno} has {node.value!r}"
        for top in (*LAYERS, *(f"src/ranklet/{folder}" for folder in INNER))
        for path in sorted((ROOT / top).rglob("*.py"))
        if not (place := path.relative_to(ROOT).as_posix()).startswith(NAMING)
        and not detect_kind("ranklet." + place.removesuffix(".py").replace("/", "."))
        for node in strings(ast.parse(path.read_text("utf-8")))
        if name.search(str(node.value))
    ]
    assert named == []


def strings(tree: ast.Module) -> list[ast.Constant]:
    """Return the texts in a module, without its docstrings."""
    lone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in lone
    ]


def detect_kind(module: str) -> str:
    """Return the kind that a module belongs to; empty for a module that none owns."""
    parts = module.split(".")
    owned = len(parts) > 3 and parts[2] == "rankers" and parts[3] in KINDS
    return parts[3] if owned else ""


# ------------------------------------------------------------------------------- what is installed


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a clone as Windows makes it, without symbolic links."""
    if (git := shutil.which("git")) is None:
        pytest.skip("needs git")
    folder = tmp_path_factory.mktemp("clone") / "ranklet"
    command = [git, "clone", "--quiet", "-c", "core.symlinks=false", str(ROOT), str(folder)]
    subprocess.run(command, check=True)
    return folder


@pytest.mark.slow
def test_the_wheel_holds_all_the_code_and_nothing_else(clone: Path, tmp_path: Path) -> None:
    # A build that finds no code ends well, too: only looking inside tells. By way of the sdist.
    build = [sys.executable, "-m", "build", "--no-isolation", "-o", str(tmp_path), str(clone)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == {
        f"{package.replace('.', '/')}/{path.relative_to(folder).as_posix()}"
        for package, place in PRODUCT.items()
        for folder in [clone / place.relative_to(ROOT)]
        for path in folder.rglob("*")
        if path.suffix in {".py", ".txt", ".md", ".html", ".css", ".js", ".json", ".svg", ".typed"}
    }


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["pip", "uv pip"])
def test_an_editable_install_imports_the_folders_of_a_clone(
    clone: Path, tmp_path: Path, tool: str
) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path)], check=True)
    python, (site,) = str(tmp_path / "bin" / "python"), tmp_path.glob("lib/*/site-packages")
    (site / "others.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")  # setuptools, pip
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--editable", str(clone)]
    install = [python, "-m", *tool.split(), "install", *options]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["VIRTUAL_ENV"] = str(tmp_path)
    subprocess.run(install, check=True, env=environment)
    code = "import ranklet.runtime.ground.errors, ranklet.commands; print(ranklet.runtime.__file__)"
    done = subprocess.run(
        [python, "-c", code], check=True, env=environment, cwd="/", capture_output=True, text=True
    )
    assert Path(done.stdout.strip()) == clone / "runtime" / "__init__.py"
