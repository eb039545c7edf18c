"""A bundle is tried before it serves, on few documents."""

from typing import Any

import pytest
from tests.conftest import Built

from ranklet.handlers.api.trial import TRIAL_DEPTH, try_out
from ranklet.runtime import load
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.rankers.model1 import Model1


def test_every_ranker_is_tried_on_few_documents(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[int] = []
    real = Model1.score

    def counted(self: Model1, query: Any, candidates: Any) -> Any:
        scored.append(len(candidates))
        return real(self, query, candidates)

    monkeypatch.setattr(Model1, "score", counted)
    try_out(load(built.fused))
    assert scored
    assert 0 < max(scored) <= TRIAL_DEPTH


def test_rankers_that_need_a_collection_say_so(built: Built) -> None:
    with pytest.raises(BundleError, match="has no collection"):
        try_out(load(built.exported))
