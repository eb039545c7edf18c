from typing import Any

import pytest

from ranklet.corpus.distributed.options import EngineOptions
from ranklet.runtime.ground.errors import InputError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"address": "a:1"}, r"^--address has no effect"),
        ({"num_actors": 2}, r"^--num-actors has no effect"),
        ({"gpus_per_actor": 0.0}, r"^--gpus-per-actor has no effect"),
        ({"engine": "spark"}, "allowed are local, ray"),
        ({"engine": "ray", "num_actors": 0}, "num_actors is 0"),
        ({"engine": "ray", "gpus_per_actor": -1.0}, "gpus_per_actor is -1"),
    ],
)
def test_options_that_are_wrong_or_do_nothing_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        EngineOptions(**options)


def test_all_nodes_run_models_on_the_same_device() -> None:
    assert EngineOptions().device == "auto"
    assert EngineOptions(engine="ray").device == "cpu"
    assert EngineOptions(engine="ray", gpus_per_actor=0.5).device == "cuda"
