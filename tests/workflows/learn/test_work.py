"""The folder of a learning has one owner, and loses only what learning has made."""

from contextlib import suppress
from pathlib import Path

import pytest

from ranklet.runtime.ground.errors import InputError
from ranklet.workflows.learn.work import STAMP, keep_work


@pytest.mark.parametrize("stamped", [True, False])
@pytest.mark.parametrize("name", ["my-judgements.tsv", "notes/a.txt", "collection/mine.md"])
def test_files_of_others_are_never_removed(tmp_path: Path, name: str, *, stamped: bool) -> None:
    mine = tmp_path / "b.learn" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("a week's work", "utf-8")
    if stamped:
        (tmp_path / "b.learn" / STAMP).write_text("{}", "utf-8")
    wanted = f"holds files that `ranklet learn` has not made: {name!r}"
    with pytest.raises(InputError, match=wanted), keep_work(tmp_path / "b", "digest"):
        pass
    assert mine.read_text("utf-8") == "a week's work"


def test_what_was_made_is_kept_until_the_end_and_belongs_to_its_digest(tmp_path: Path) -> None:
    made = iter([1, 2])
    for digest, found in (("one", 1), ("one", 1), ("two", 2)):
        with suppress(KeyboardInterrupt), keep_work(tmp_path / "b", digest) as work:
            assert work.number("m.steps", lambda: next(made)) == found
            raise KeyboardInterrupt
    with keep_work(tmp_path / "b", "two"):
        pass
    assert not list(tmp_path.iterdir())
