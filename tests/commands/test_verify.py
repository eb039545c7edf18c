import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.commands.running import Capture, fails, succeeds

from ranklet.commands import main

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


def test_a_canary_notices_other_answers(built: "Built", tmp_path: Path, capsys: Capture) -> None:
    bundle = Path(shutil.copytree(built.fused, tmp_path / "search.ranklet"))
    kept = tmp_path / "search.ranklet.canary.json"
    assert f"→ {kept}" in succeeds(capsys, "verify", bundle, "--canary")
    text = succeeds(capsys, "verify", bundle, "--canary")
    assert "changed" not in text
    assert "20 of 20 queries have the same first hits; a score differs by at most 0.00%" in text
    told = json.loads(kept.read_text("utf-8"))
    first = next(query for query, hits in told["answers"].items() if len(hits) > 1)
    told["answers"][first].reverse()
    told["facts"]["processor"] = "an abacus"
    kept.write_text(json.dumps(told), "utf-8")
    assert main(["verify", str(bundle), "--canary"]) == 3
    text = capsys.readouterr().out
    assert "changed  processor: an abacus, now " in text
    assert f"other hits  {first[:80]}" in text
    assert "19 of 20 queries have the same first hits" in text


def test_a_canary_that_cannot_be_read_is_explained(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    bundle = Path(shutil.copytree(built.fused, tmp_path / "b"))
    for text in ("", "{}", '{"format": "ranklet canary", "facts": {}, "answers": {"q": [1]}}'):
        (tmp_path / "b.canary.json").write_text(text, "utf-8")
        assert "remove it to keep today's answers" in fails(capsys, "verify", bundle, "--canary")
    assert "download the bundle" in fails(capsys, "verify", "http://127.0.0.1:9/b.zip", "--canary")
