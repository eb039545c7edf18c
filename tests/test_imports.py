"""What an import loads, checked in a fresh process: serving BM25 must not load PyTorch."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from ranklet.runtime.kinds import KINDS
from ranklet.workflows.build import build

# What a server must not pay for: frameworks, science, and the tools of training.
FORBIDDEN = (
    "torch", "transformers", "scipy", "onnx", "onnxruntime", "tokenizers",
    "snowballstemmer", "py3langid", "markdown_it", "stop_words",
    "ir_measures", "tqdm", "pandas", "sklearn", "nltk", "ranklet.training", "ranklet.export",
    "ranklet.handlers", "ranklet.commands",
)  # fmt: skip
NEURAL = {"torch", "transformers", "safetensors", "huggingface_hub"}
SLOW_STANDARD_LIBRARY = {
    "asyncio", "concurrent.futures", "ctypes.util", "email", "hashlib", "http.client",
    "importlib.resources", "multiprocessing", "shutil", "socket", "sqlite3", "ssl", "subprocess",
    "tempfile", "unittest", "xml", "zipfile",
}  # fmt: skip
ALLOWED_PACKAGES = {"numpy", "ranklet"}


@cache
def loaded_by(statement: str) -> set[str]:
    """Return the modules that a statement loads in a fresh process."""
    code = (
        "import sys; before = set(sys.modules)\n"
        f"{statement}\n"
        "print('\\n'.join(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_the_runtime_loads_numpy_and_the_standard_library_only() -> None:
    loaded = loaded_by("from ranklet.runtime import *")
    assert not [name for name in FORBIDDEN if name in loaded]
    foreign = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert {name for name in foreign if not name.startswith("_")} <= ALLOWED_PACKAGES


@pytest.mark.slow
def test_imports_of_heavy_packages_would_be_noticed() -> None:
    assert "ranklet.corpus.collections.collection" in loaded_by(
        "import ranklet.corpus.collections.collection"
    )
    assert "tqdm" in loaded_by("import tqdm")
    assert "torch" in loaded_by("import ranklet.training.learning.loop")


def test_importing_the_package_itself_loads_nothing() -> None:
    loaded = {name for name in loaded_by("import ranklet") if name.startswith("ranklet")}
    assert loaded == {"ranklet", "ranklet.version"}


@pytest.mark.parametrize("package", ["ranklet.runtime", "ranklet.training", "ranklet.export"])
def test_importing_writes_nothing_and_sets_up_no_logging(package: str) -> None:
    code = (
        f"import logging, {package}\n"
        "assert not logging.getLogger().handlers\n"
        f"assert not logging.getLogger('{package}').handlers"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == done.stderr == ""


def test_the_runtime_is_not_also_importable_as_a_top_level_package() -> None:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    code = "import ranklet.runtime, sys; assert 'runtime' not in sys.modules"
    subprocess.run([sys.executable, "-P", "-c", code], check=True, env=environment)


def test_importing_loads_few_modules_beyond_those_of_numpy() -> None:
    # What they cost in milliseconds is measured in benchmarks/RESULTS.md; here they are counted,
    # since a busy machine loads no more of them. On Python 3.11 54, 32 of them ranklet's.
    # Some versions of numpy import inspect themselves.
    assert {each for each in loaded_by("import ranklet.runtime") if "ranklet." in each} == {
        "ranklet.runtime", "ranklet.version",
    }  # fmt: skip
    loaded = loaded_by("from ranklet.runtime import load") - loaded_by("import numpy, inspect")
    assert len(loaded) < 58
    assert len([each for each in loaded if each.startswith("ranklet")]) < 36
    assert not loaded & SLOW_STANDARD_LIBRARY


def test_a_search_by_words_loads_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    build([{"id": "1", "title": "Bread", "text": "knead the dough"}], tmp_path / "b.ranklet")
    search = f"import ranklet; ranklet.load({str(tmp_path / 'b.ranklet')!r}).rank('dough')[0].text"
    loaded = loaded_by(search)
    unused = (
        "bundles.location", "completion", "contexts", "display", "execution.explained_fusion",
        "explanation", "extras", "highlight", "lexical.synonyms", "metadata", "milvus",
        "object_storage", "onnx", "relevance", "search.boosting", "search.matches",
        "search.parted", "search.texts", "search.whole_document", "signals",
        "syntax.query_syntax", "text.classes", "text.common_words", "text.known_words",
        "text.pairing", "text.searchable", "text.stems", "text.tokenizing", "text.word_pieces",
        "verification", "writing",
    )  # fmt: skip
    assert not [each for each in unused if f"ranklet.runtime.{each}" in loaded]
    assert {each for each in loaded if each.startswith("ranklet.runtime.rankers.")} <= {
        f"ranklet.runtime.rankers.{each}" for each in ("bm25", "opening")
    }
    assert len(loaded - loaded_by("import numpy, inspect")) < 94  # on Python 3.11 88
    assert not loaded & SLOW_STANDARD_LIBRARY


def test_a_kind_of_ranker_is_loaded_only_with_a_bundle_that_has_it() -> None:
    kinds = {f"ranklet.runtime.rankers.{kind}" for kind in KINDS}
    assert not kinds & loaded_by("from ranklet.runtime import load")


def test_lexical_training_does_without_pytorch() -> None:
    modules = (
        "ranklet.training", "ranklet.training.pretrained.backbone", "ranklet.training.checkpoint",
        "ranklet.training.learning.options", "ranklet.training.sampling.batches",
        "ranklet.training.encoders.text_pairs", "ranklet.training.rankers.bm25.training",
        "ranklet.training.rankers.model1.training", "ranklet.commands.train",
    )  # fmt: skip
    assert not loaded_by(f"import {', '.join(modules)}") & NEURAL
