from pathlib import Path
from typing import Any

import pytest

from ranklet.handlers.server import settings as server_settings
from ranklet.handlers.server.settings import ServerSettings
from ranklet.runtime.errors import InputError

GOOD: dict[str, Any] = {"RANKLET_BUNDLE": "b", "PORT": "9", "RANKLET_API_KEY": " a,,b "}


def test_settings_come_from_the_environment_and_hide_the_keys() -> None:
    settings = ServerSettings.from_environment(GOOD)
    assert (settings.port, settings.api_keys) == (9, ("a", "b"))
    assert "api_keys" not in repr(settings)
    filters = {**GOOD, "RANKLET_API_KEY_FILTERS": '{"c": {"tenant": "x"}}'}
    settings = ServerSettings.from_environment(filters)
    assert settings.key_filters == {"c": {"tenant": "x"}}
    assert "tenant" not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "http"),
        ("PORT", "65536"),
        ("RANKLET_CHECK", "some"),
        ("RANKLET_DEVICE", "tpu"),
        ("RANKLET_QUEUE", "-1"),
        ("RANKLET_API_KEY_FILTERS", "c"),
        ("RANKLET_API_KEY_FILTERS", "{}"),
        ("RANKLET_API_KEY_FILTERS", '{"a": {"tenant": "x"}}'),
        ("RANKLET_QUEUE", "9" * 5000),
        ("RANKLET_POOL", "٣"),
        ("RANKLET_MAX_K", "x"),
        ("RANKLET_BUNDLE", ""),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(name: str, value: str) -> None:
    with pytest.raises(InputError, match=name):
        ServerSettings.from_environment({**GOOD, name: value})


@pytest.mark.parametrize(
    ("variables", "workers"),
    [
        ({}, 6),
        ({"RANKLET_THREADS": "2"}, 3),
        ({"RANKLET_THREADS": "9"}, 1),
        ({"RANKLET_DEVICE": "cuda"}, 1),
        ({"RANKLET_WORKERS": "4"}, 4),
    ],
)
def test_there_is_a_worker_per_processor(
    variables: dict[str, str], workers: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(server_settings, "processors", lambda: 6)
    monkeypatch.setattr(server_settings, "NVIDIA", tmp_path / "none")
    assert ServerSettings.from_environment({**GOOD, **variables}).workers == workers
    monkeypatch.setattr(server_settings, "NVIDIA", tmp_path)
    expected = workers if "RANKLET_WORKERS" in variables else 1
    assert ServerSettings.from_environment({**GOOD, **variables}).workers == expected


def test_a_large_machine_has_no_more_workers_than_is_sensible(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(server_settings, "processors", lambda: 96)
    monkeypatch.setattr(server_settings, "NVIDIA", tmp_path / "none")
    assert ServerSettings.from_environment(GOOD).workers == server_settings.MOST_WORKERS
