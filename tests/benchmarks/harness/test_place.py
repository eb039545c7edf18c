from pathlib import Path

import pytest
from benchmarks.all_systems import bundles, choosing, measuring
from benchmarks.built import trained
from benchmarks.harness import place

from ranklet.runtime.kinds import KINDS


@pytest.mark.parametrize("code", [place.CODE, bundles.WRITING, choosing.CODE, measuring.CODE])
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
