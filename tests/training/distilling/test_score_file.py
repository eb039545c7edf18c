"""The file of scores comes back as it was written, and nothing else is taken for one."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklet.runtime.errors import InputError
from ranklet.training.distilling.score_file import NAMES, ScoreFile, checksum, read_scores

HELD = ScoreFile(
    teacher="cross",
    digest="abc",
    titles=True,
    facts={"depth": 2},
    queries=["q1", "q'\n", "ü"],
    documents=["a", "b\ud800", "c"],
    texts=np.array([checksum(text) for text in "uvwxyz"], np.uint32),
    offsets=np.array([0, 2, 2, 5], np.int64),
    numbers=np.array([0, 2, 0, 1, 2], np.int32),
    scores=np.array([1.5, -2, 0, 3, 1e-3], np.float32),
)


def test_a_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    found = read_scores(HELD.save(tmp_path / "scores.npz"))
    for name, expected in vars(HELD).items():
        if isinstance(expected, np.ndarray):
            assert getattr(found, name).dtype == expected.dtype
            np.testing.assert_array_equal(getattr(found, name), expected)
        else:
            assert getattr(found, name) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["scores.npz"]


def test_the_form_can_be_read_with_numpy_alone(tmp_path: Path) -> None:
    with np.load(HELD.save(tmp_path / "scores.npz"), allow_pickle=False) as held:
        assert json.loads(bytes(held["queries"])) == list(HELD.queries)
        assert json.loads(bytes(held["about"]))["version"] == 1


def test_an_interrupted_write_leaves_the_earlier_file(tmp_path: Path) -> None:
    path = HELD.save(tmp_path / "scores.npz")
    before = path.read_bytes()
    broken: Any = replace(HELD, facts={"x": object()})
    with pytest.raises(TypeError):
        broken.save(path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_every_truncated_file_is_refused(tmp_path: Path) -> None:
    path = HELD.save(tmp_path / "scores.npz")
    whole = path.read_bytes()
    for length in (0, 1, 10, 100, len(whole) // 2, len(whole) - 30, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="cannot be read"):
            read_scores(path)


def test_a_changed_byte_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    path = HELD.save(tmp_path / "scores.npz")
    whole = path.read_bytes()
    refused = 0
    for place in range(0, len(whole), 7):
        changed = bytearray(whole)
        changed[place] ^= 0x55
        path.write_bytes(changed)
        try:
            found = read_scores(path)
        except InputError:
            refused += 1
        else:  # a byte of a zip's header that nobody reads
            np.testing.assert_array_equal(found.scores, HELD.scores)
    assert refused > 100


def packed(value: Any) -> Any:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("scores", lambda it: it * np.nan, "infinite or not a number"),
        ("scores", lambda it: it[:-1], "scores is float32 of shape"),
        ("scores", lambda it: it.astype(np.float64), "scores is float64"),
        ("offsets", lambda it: it[::-1].copy(), "do not rise from 0"),
        ("offsets", lambda it: it[:-1], "offsets is int64 of shape"),
        ("numbers", lambda it: it + 1, "no document of the file"),
        ("numbers", lambda it: it - 1, "no document of the file"),
        ("numbers", lambda it: it * 0, "a candidate twice"),
        ("texts", lambda it: it[1:], "texts is uint32 of shape"),
        ("queries", lambda _: packed({"q": 1}), "not a list of ids"),
        ("queries", lambda _: packed(["q", "q", "r"]), "occurs twice"),
        ("documents", lambda it: it.astype(np.int64), "not an array of bytes"),
        ("documents", lambda it: it[:-1], "cannot be read"),
        ("about", lambda _: packed([]), "its format is not"),
        ("about", lambda _: packed({"format": "other"}), "its format is not"),
        (
            "about",
            lambda _: packed({"format": "ranklet scores", "version": 2}),
            "version 2 of the format of scores, and this ranklet reads version 1",
        ),
        ("about", lambda _: packed({"format": "ranklet scores", "version": 1}), "teacher is None"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, name: str, change: Callable[[Any], Any], words: str
) -> None:
    path = HELD.save(tmp_path / "scores.npz")
    with np.load(path) as held:
        arrays: dict[str, Any] = {each: held[each] for each in NAMES}
    arrays[name] = change(arrays[name])
    np.savez(path, **arrays)
    with pytest.raises(InputError, match=words):
        read_scores(path)


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    with pytest.raises(InputError, match="no scores at"):
        read_scores(path)
    path.write_text("q1\tdocument\t0.5\n")
    with pytest.raises(InputError, match="cannot be read"):
        read_scores(path)
    np.savez(path, scores=np.zeros(3, np.float32))
    with pytest.raises(InputError, match="it has no 'about'"):
        read_scores(path)
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(InputError, match="it is no"):
        read_scores(path)
    with path.open("wb") as file:
        np.savez(file, allow_pickle=True, **dict.fromkeys(NAMES, np.array([{}], object)))
    with pytest.raises(InputError, match="cannot be read"):
        read_scores(path)
