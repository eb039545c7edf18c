"""The folder of a learning has one owner, and loses only what learning has made."""

from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from ranklet.export.learning.work import STAMP, kept_work
from ranklet.runtime.errors import InputError


@pytest.mark.parametrize("stamped", [True, False])
@pytest.mark.parametrize("name", ["my-judgements.tsv", "notes/a.txt", "collection/mine.md"])
def test_files_of_others_are_never_removed(tmp_path: Path, name: str, *, stamped: bool) -> None:
    mine = tmp_path / "b.learn" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("a week's work", "utf-8")
    if stamped:
        (tmp_path / "b.learn" / STAMP).write_text("{}", "utf-8")
    wanted = f"holds files that `ranklet learn` has not made: {name!r}"
    with pytest.raises(InputError, match=wanted), kept_work(tmp_path / "b", "digest"):
        pass
    assert mine.read_text("utf-8") == "a week's work"


def test_a_file_that_is_put_there_meanwhile_stays(tmp_path: Path) -> None:
    with kept_work(tmp_path / "b", "digest") as work:
        assert work.number("m.steps", lambda: 3) == 3
        (work.folder / "mine.txt").write_text("mine", "utf-8")
    assert (tmp_path / "b.learn" / "mine.txt").exists()


def test_what_was_made_is_kept_until_the_end_and_belongs_to_its_digest(tmp_path: Path) -> None:
    made = iter([1, 2])
    for digest, found in (("one", 1), ("one", 1), ("two", 2)):
        with suppress(KeyboardInterrupt), kept_work(tmp_path / "b", digest) as work:
            assert work.number("m.steps", lambda: next(made)) == found
            raise KeyboardInterrupt
    with kept_work(tmp_path / "b", "two"):
        pass
    assert not list(tmp_path.iterdir())


def test_two_learnings_of_one_output_wait_for_each_other(tmp_path: Path) -> None:
    began, done = Event(), []

    def second() -> None:
        began.set()
        with kept_work(tmp_path / "b", "two"):
            done.append("second")

    other = Thread(target=second)
    with kept_work(tmp_path / "b", "one") as work:
        other.start()
        began.wait()
        other.join(0.1)
        assert work.number("m.steps", lambda: 1) == 1
        done.append("first")
    other.join()
    assert done == ["first", "second"]
