"""Exports are kept under a digest of all that they depend on, and are never trusted blindly."""

import logging
import os
from pathlib import Path

import pytest

from ranklet.export.options import ExportOptions
from ranklet.workflows import kept

INT8 = ExportOptions(variants=("int8",))


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "export.zip"
    path.write_bytes(b"an export")
    return path


def test_the_key_depends_on_files_choices_options_code_and_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "1_Pooling").mkdir()
    pooling, card = tmp_path / "1_Pooling" / "config.json", tmp_path / "README.md"
    pooling.write_text("{}")
    keys = [kept.key_of(tmp_path, {}, INT8)]
    card.write_text("nothing of this is in an export")
    assert kept.key_of(tmp_path, {}, INT8) == keys[0]
    keys.append(kept.key_of(tmp_path, {"label": "1"}, INT8))
    keys.append(kept.key_of(tmp_path, {}, ExportOptions(variants=("fp32",))))
    keys.append(kept.key_of(tmp_path, {}, ExportOptions(("int8",), settings={"stored": "int8"})))
    pooling.write_text("{ }")
    keys.append(kept.key_of(tmp_path, {}, INT8))
    for name in ("_code", "_processor"):
        monkeypatch.setattr(kept, name, lambda: "another")
        keys.append(kept.key_of(tmp_path, {}, INT8))
    assert len({*keys}) == len(keys) == 7


def test_what_is_kept_is_found_and_what_is_damaged_is_removed(export: Path) -> None:
    assert kept.find("k") is None
    kept.keep("k", export)
    found = kept.find("k")
    assert found is not None
    assert found.read_bytes() == export.read_bytes()
    assert kept.find("other") is None
    found.write_bytes(b"something else")
    assert kept.find("k") is None
    assert not found.exists()


def test_the_export_that_was_used_longest_ago_leaves(
    export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export.write_bytes(bytes(range(256)) * 256)
    for at, key in enumerate("abc"):
        kept.keep(key, export)
        found = kept.find(key)
        assert found is not None
        os.utime(found, (at, at))
    assert kept.find("a") is not None  # so that b is the oldest
    # A file system may allot more than a file's bytes, so room is counted as it counts.
    assert found is not None
    held = [path.stat().st_blocks * 512 for path in found.parent.iterdir()]
    monkeypatch.setenv("RANKLET_CACHE_GB", f"{(sum(held) + min(held) / 2) / 1e9:.9f}")
    kept.keep("d", export)
    assert [key for key in "abcd" if kept.find(key)] == ["a", "c", "d"]


def test_where_nothing_can_be_kept_a_warning_says_so(
    export: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setenv("RANKLET_CACHE", str(export))  # no folder
    kept.keep("k", export)
    assert "is not kept, so the next build takes as long" in caplog.text
    assert kept.find("k") is None
