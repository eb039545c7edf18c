import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.commands.running import Capture, fails, succeeds

from ranklet.runtime.bundle import Bundle

if TYPE_CHECKING:
    from tests.conftest import Built

pytest.importorskip("milvus_lite")


@pytest.mark.slow
def test_a_collection_is_published_and_found(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    place = tmp_path / "m.db"
    arguments = ("publish", built.indexed, place, "--name", "household", "--ranker", "bm25")
    assert succeeds(capsys, *arguments) == f"published as 'household' → {place}\n"
    assert "replace it by --force" in fails(capsys, *arguments)
    succeeds(capsys, *arguments, "--force")
    found = succeeds(
        capsys, "rank", built.indexed, "bread", "--pipeline", "bm25", "--json",
        "--collection", f"{place}#household",
    )  # fmt: skip
    with Bundle(built.indexed, collection=f"{place}#household") as bundle:
        expected = bundle.rank("bread", pipeline="bm25")
        assert [hit["id"] for hit in json.loads(found)["hits"]] == [hit.id for hit in expected]
        assert len(expected) > 0


def test_what_is_no_address_is_refused(built: "Built", capsys: Capture) -> None:
    assert "give one" in fails(capsys, "publish", built.indexed, "m.db#books", "--name", "other")
    assert "is no address of Milvus" in fails(capsys, "publish", built.indexed, "books")


def test_without_its_package_the_extra_is_named(
    built: "Built", capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pymilvus", "grpc"):
        monkeypatch.setitem(sys.modules, name, None)
    assert "[milvus]'" in fails(capsys, "publish", built.indexed, "m.db#books")
