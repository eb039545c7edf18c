"""Strings in the order of a dictionary, in a base and what was added to it."""

from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.metadata_rows import plainly

import ranklet
from ranklet.runtime.metadata.columns import Texts
from ranklet.runtime.metadata.segments import joined
from ranklet.runtime.storage.strings import Strings

NAMES = [
    "Zebra",
    "apple",
    "Apple",
    "état",
    "Etat",
    "etat",
    "ziel",
    "Ångström",
    "Ärger",
    "arg",
    "Öl",
]


@pytest.mark.parametrize("seed", range(5))
def test_joined_strings_are_in_one_order(seed: int) -> None:
    random = Random(seed)
    parts = [sorted(random.sample(NAMES, random.randint(0, 8))) for _ in range(3)]
    columns = [Texts("x", np.arange(len(s)), None, Strings.pack(s)) for s in parts]
    column = joined(columns)
    assert isinstance(column, Texts)
    texts = list(column.distinct)
    found = [texts[at] for at in np.argsort(column.collated)]
    assert found == sorted({*chain(*parts)}, key=plainly)


def test_a_search_sorts_strings_as_a_dictionary_does(tmp_path: Path) -> None:
    rows = [{"id": name, "text": "x", "maker": name} for name in NAMES]
    ranklet.build([*rows[:6], {"id": "none", "text": "x"}], tmp_path / "b.ranklet")
    live: Any = ranklet.open(tmp_path / "b.ranklet", writable=True)
    live.add(rows[6:])
    bundle = ranklet.load(tmp_path / "b.ranklet")
    wanted = sorted(NAMES, key=plainly)
    for sort, order in (("maker", wanted), ("-maker", wanted[::-1])):
        assert [hit.id for hit in bundle.rank("x", k=20, sort=[sort])] == [*order, "none"]
    assert [hit.id for hit in bundle.rank("x", k=3, sort=["maker"])] == wanted[:3]
