from importlib import import_module
from pathlib import Path

import pytest
from benchmarks import BENCHMARKS
from benchmarks.all_systems import bundles, choosing, measuring, timing
from benchmarks.built import trained
from benchmarks.harness import place

from ranklet.runtime.kinds import KINDS

SHARED = (place.CODE, bundles.WRITING, choosing.CODE, measuring.CODE, timing.CODE)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_can_be_imported_and_names_code_that_exists(name: str) -> None:
    module = import_module(f"benchmarks.{BENCHMARKS[name]}.{name}")
    code = (*getattr(module, "CODE", ()), *getattr(module, "_OWN", ()))
    assert [each for each in code if not (place.ROOT / each).exists()] == []


@pytest.mark.parametrize("code", SHARED)
def test_the_code_that_a_kept_thing_depends_on_exists(code: tuple[str, ...]) -> None:
    assert [each for each in code if not (place.ROOT / each).exists()] == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_code_that_a_training_depends_on_exists(kind: str) -> None:
    code = trained.code_of(kind)
    assert f"training/rankers/{kind}" in code
    assert [each for each in code if not (place.ROOT / each).exists()] == []


def test_a_name_that_matches_nothing_is_reported(tmp_path: Path) -> None:
    here = place.Place(tmp_path, tmp_path)
    with pytest.raises(FileNotFoundError, match=r"training/gone\.py is no file or folder"):
        here.keep("thing", lambda path: path.write_text(""), ("training/gone.py",))


def test_a_thing_is_built_again_when_what_it_depends_on_changes(tmp_path: Path) -> None:
    here, built = place.Place(tmp_path, tmp_path), []

    def build(path: Path) -> None:
        built.append(path.write_text(""))

    code = ("benchmarks/harness/place.py",)
    for given in ("200 steps", "200 steps", "400 steps", "400 steps"):
        here.keep("thing", build, code, given)
    assert len(built) == 2
