"""What is built block by block is the same as at once, and BM25's impacts may have fewer bits."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from ranklet.corpus.updating.merge import merge
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.bm25 import BM25
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.workflows.build import build

WORDS = [
    f"{first}{second}" for first in ("ba", "do", "ki", "le", "mu") for second in "bdfgklmnprst"
]
QUERIES = ["bab dod kif", "leg muk", "bab bab mut the kin"]


def documents(count: int) -> list[dict[str, Any]]:
    random = Random(1)
    return [
        {
            "id": f"d{at * 7919 % 1000}",
            "title": " ".join(random.choices(WORDS, k=random.randint(0, 3))),
            "text": " ".join(random.choices(WORDS, k=random.randint(1, 30))),
        }
        for at in range(count)
    ]


def test_the_form_is_a_setting_that_is_stated_where_it_is_not_the_default(tmp_path: Path) -> None:
    rows = documents(5)
    plain = Path(build(rows, tmp_path / "plain.ranklet"))
    assert "impacts" not in BundleFiles(plain).manifest.rankers["bm25"].settings
    wide = Path(build(rows, tmp_path / "wide.ranklet", impacts="float32"))
    for path, form in ((plain, "uint8"), (wide, "float32")):
        bundle = BundleFiles(path)
        assert bundle.manifest.rankers["bm25"].settings.get("impacts", "uint8") == form
        ranker = open_ranker(bundle, "bm25")
        assert isinstance(ranker, BM25)
        assert ranker.index.impacts.dtype == np.dtype(form)
    with pytest.raises(InputError, match="its settings differ"):
        merge(
            [plain, Path(build(documents(9)[5:], tmp_path / "o", impacts="float16"))],
            tmp_path / "no",
        )
