from pathlib import Path
from typing import TYPE_CHECKING

from tests.commands.running import Capture, fails, succeeds
from tests.updates import WHOLE, documents_of, first_records, indexed, seeded

if TYPE_CHECKING:
    from tests.conftest import Built


def test_bundles_are_joined(built: "Built", tmp_path: Path, capsys: Capture) -> None:
    records = first_records(seeded(0), 5)
    for name, own in (("a", records[:3]), ("b", records[2:])):
        indexed(built.exported, own, tmp_path / name, WHOLE)
    target = tmp_path / "merged"
    arguments = ("merge", tmp_path / "a", tmp_path / "b", "-o", target)
    assert "pass --prefer first or last" in fails(capsys, *arguments)
    assert succeeds(capsys, *arguments, "--prefer", "last") == f"5 documents → {target}\n"
    assert [each.id for each in documents_of(target)] == [each["id"] for each in records]
    assert "exists" in fails(capsys, *arguments, "--prefer", "last")
    succeeds(capsys, *arguments, "--prefer", "first", "--force")
