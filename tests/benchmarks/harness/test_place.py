from pathlib import Path

import pytest
from benchmarks.built import epic_bundles, trained
from benchmarks.conformer import conformer_quality
from benchmarks.harness import place
from benchmarks.speed import splade_speed


@pytest.mark.parametrize("module", [conformer_quality, epic_bundles, place, splade_speed, trained])
def test_the_code_that_a_kept_thing_depends_on_exists(module: object) -> None:
    lists = [
        value
        for value in vars(module).values()
        if isinstance(value, tuple) and any(str(each).startswith("training") for each in value)
    ]
    assert lists
    missing = [each for names in lists for each in names if not (place.ROOT / each).exists()]
    assert missing == []


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
