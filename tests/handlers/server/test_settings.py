from typing import Any

import pytest

from ranklet.handlers.server.settings import ServerSettings
from ranklet.runtime.errors import InputError

GOOD: dict[str, Any] = {"RANKLET_BUNDLE": "b", "PORT": "9", "RANKLET_API_KEY": " a,,b "}


def test_settings_come_from_the_environment_and_hide_the_keys() -> None:
    settings = ServerSettings.from_environment(GOOD)
    assert (settings.port, settings.api_keys) == (9, ("a", "b"))
    assert "api_keys" not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "http"),
        ("PORT", "65536"),
        ("RANKLET_CHECK", "some"),
        ("RANKLET_DEVICE", "tpu"),
        ("RANKLET_QUEUE", "-1"),
        ("RANKLET_QUEUE", "9" * 5000),
        ("RANKLET_POOL", "٣"),
        ("RANKLET_MAX_K", "x"),
        ("RANKLET_BUNDLE", ""),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(name: str, value: str) -> None:
    with pytest.raises(InputError, match=name):
        ServerSettings.from_environment({**GOOD, name: value})
