"""What indexing needs is named at once, before any text is read."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ranklet.corpus.index import index_bundle
from ranklet.corpus.updating.update import update
from ranklet.runtime.ground.errors import MissingPackageError

if TYPE_CHECKING:
    from tests.kinds import TinyRankers


@pytest.mark.slow
def test_all_missing_packages_are_named_at_once(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported, indexed = tiny.exported("dense"), tiny.indexed("dense")
    for package in ("tokenizers", "onnxruntime"):
        monkeypatch.setitem(sys.modules, package, None)
    needed = r"'onnxruntime', 'tokenizers' are not installed; run: .*\[onnx\]"
    with pytest.raises(MissingPackageError, match=needed):
        index_bundle(exported, tiny.data.collection, tmp_path / "target")
    with pytest.raises(MissingPackageError, match=needed):
        update(indexed, ["A text."], target=tmp_path / "target")
    assert not (tmp_path / "target").exists()
