from pathlib import Path
from typing import Any

import numpy as np

from ranklet.corpus.building.resumable import BlockCache


def test_blocks_are_cached_by_all_that_they_depend_on(tmp_path: Path) -> None:
    made: list[int] = []

    def make() -> Any:
        made.append(1)
        return {"values": np.array([len(made)], np.int64)}

    def block(model: str, what: str, *depends: Any) -> int:
        arrays = tuple(np.array(each) for each in depends)
        kept = BlockCache(tmp_path, model, np.arange(3))
        return int(kept.block(what, arrays, {"values": np.int64}, make)["values"][0])

    assert block("a", "x", [1, 2]) == block("a", "x", [1, 2]) == 1
    assert block("a", "x", [1], [2]) == 2
    assert block("a", "x", [1.0, 2.0]) == 3
    assert block("a", "y", [1, 2]) == 4
    assert block("b", "x", [1, 2]) == 5
    other_type = BlockCache(tmp_path, "a", np.arange(3))
    other_type.block("x", (np.array([1, 2]),), {"values": np.float32}, make)
    assert len(made) == 6
