from typing import Any

import pytest

from ranklet.corpus.distributed.driver import Actors, actors
from ranklet.corpus.distributed.options import EngineOptions
from ranklet.runtime.ground.errors import InputError


def on_ray(**options: Any) -> EngineOptions:
    return EngineOptions(engine="ray", **options)


def test_a_processor_is_left_to_ray() -> None:
    assert actors(on_ray(), {"CPU": 4.0}) == Actors(3, 1.0, 0.0)
    assert actors(on_ray(num_actors=2), {"CPU": 4.0}) == Actors(2, 1.0, 0.0)
    with pytest.raises(InputError, match=r"--num-actors is 4, but the cluster has room for 3"):
        actors(on_ray(num_actors=4), {"CPU": 4.0})
    assert actors(on_ray(), {"CPU": 1.0}) == Actors(1, 0.5, 0.0)
    with pytest.raises(InputError, match="no processor"):
        actors(on_ray(), {})


def test_gpus_limit_the_actors() -> None:
    cluster = {"CPU": 16.0, "GPU": 2.0}
    assert actors(on_ray(gpus_per_actor=0.5), cluster) == Actors(4, 1.0, 0.5)
    with pytest.raises(InputError, match="room for 4"):
        actors(on_ray(gpus_per_actor=0.5, num_actors=5), cluster)
    with pytest.raises(InputError, match="the cluster has 2 GPUs"):
        actors(on_ray(gpus_per_actor=4.0), cluster)
