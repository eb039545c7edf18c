import argparse

import pytest

from ranklet.commands.arguments import add_engine, engine_from
from ranklet.corpus.distributed.options import LOCAL, EngineOptions
from ranklet.runtime.ground.errors import InputError


def given(*arguments: str) -> EngineOptions:
    parser = argparse.ArgumentParser()
    add_engine(parser)
    return engine_from(parser.parse_args(arguments))


def test_every_option_is_an_argument() -> None:
    assert given() == LOCAL == given("--engine", "local")
    found = given("--engine", "ray", "--address", "auto", "--num-actors", "2")
    assert found == EngineOptions(engine="ray", address="auto", num_actors=2)
    assert given("--engine", "ray", "--gpus-per-actor", "0.5").gpus_per_actor == 0.5
    for wrong in (["--num-actors", "2"], ["--address", "auto"], ["--gpus-per-actor", "0"]):
        with pytest.raises(InputError, match=f"{wrong[0]} has no effect"):
            given(*wrong)
