import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.commands.running import Capture, fails, succeeds

if TYPE_CHECKING:
    from tests.conftest import Built


def test_verify_reports_correct_parts_and_damage(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    text = succeeds(capsys, "verify", built.fused)
    assert "ok  ranker model1_pieces\n" in text
    damaged = Path(shutil.copytree(built.fused, tmp_path / "damaged"))
    raw = bytearray((damaged / "text/forms.npy").read_bytes())
    raw[-1] ^= 1
    (damaged / "text/forms.npy").write_bytes(raw)
    assert "text/forms.npy was changed after export" in fails(capsys, "verify", damaged)
