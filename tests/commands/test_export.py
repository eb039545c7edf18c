import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.commands.running import Capture, succeeds

if TYPE_CHECKING:
    from tests.conftest import Built


def test_a_path_with_an_equals_sign_is_a_path(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    path = shutil.copytree(built.checkpoints["bm25"], tmp_path / "k1=0.9" / "bm25")
    assert succeeds(capsys, "export", path, "-o", tmp_path / "a").startswith("bm25 →")
    assert succeeds(capsys, "export", f"x={path}", "-o", tmp_path / "b").startswith("x →")
