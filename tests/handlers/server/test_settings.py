from pathlib import Path
from typing import Any

import pytest

from ranklet.handlers.server import settings as server_settings
from ranklet.handlers.server.settings import ServerSettings
from ranklet.runtime.ground.errors import InputError

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
        *[("RANKLET_PREFIX", text) for text in ("suche", "/a b", "//evil.example", "/a?b", "/")],
        ("RANKLET_LANGUAGE", "tlh"),
        ("RANKLET_PLAIN", "yes"),
        ("RANKLET_DEVICE", "tpu"),
        ("RANKLET_QUEUE", "-1"),
        ("RANKLET_API_KEY_FILTERS", "c"),
        ("RANKLET_API_KEY_FILTERS", "{}"),
        ("RANKLET_API_KEY_FILTERS", '{"a": {"tenant": "x"}}'),
        ("RANKLET_QUEUE", "9" * 5000),
        ("RANKLET_POOL", "٣"),
        ("RANKLET_MAX_K", "x"),
        *[
            (name, blank)
            for name in (
                "RANKLET_BUNDLE",
                "RANKLET_API_KEY",
                "RANKLET_API_KEY_FILTERS",
                "RANKLET_CHECK",
                "RANKLET_COLLECTION",
                "RANKLET_HOSTS",
                "RANKLET_ORIGINS",
                "RANKLET_PREFIX",
                "RANKLET_TITLE",
                "RANKLET_KEY_REQUESTS",
                "RANKLET_MAX_K",
                "RANKLET_WORKERS",
                "RANKLET_DEVICE",
                "RANKLET_CACHE",
                "HOST",
                "PORT",
            )
            for blank in ("", " ", "\n", "\t \r\n")
        ],
        *[("RANKLET_API_KEY", text) for text in (",", " , ,", "a b", "a\nb", "a,b\0", "a\u2028b")],
        ("RANKLET_API_KEY_FILTERS", '{"c d": {"tenant": "x"}}'),
        ("RANKLET_API_KEYS", "c"),
        ("RANKLET_ORIGINS", "app.example"),
        ("RANKLET_MAX_BODIES_BYTES", "1000"),
        ("RANKLET_KEY_REQUESTS", "-1"),
        ("RANKLET_KEY_PER_MINUTE", "many"),
        ("RANKLET_APIKEY", "c"),
        ("RANKLET_HOST", "127.0.0.1"),
        ("RANKLET_PORT", "80"),
        ("RANKLET_MAX_DOCS", "5"),
        ("RANKLET_WORKER", "2"),
        *[
            ("RANKLET_HOSTS", text)
            for text in ("http://a", "a:80", "a b", "a,,b", "a/b", "*.a", "ä", "::1", "-", "a@b")
        ],
    ],
)
def test_a_variable_that_cannot_be_used_is_named(name: str, value: str) -> None:
    with pytest.raises(InputError, match=name):
        ServerSettings.from_environment({**GOOD, name: value})


@pytest.mark.parametrize("name", ["RANKLET_KEY_REQUESTS", "RANKLET_KEY_PER_MINUTE"])
def test_bounds_of_keys_need_keys(name: str) -> None:
    given = {key: value for key, value in GOOD.items() if "API_KEY" not in key}
    with pytest.raises(InputError, match=f"{name} is set, but there is no API key"):
        ServerSettings.from_environment({**given, name: "5"})


def test_one_of_several_keys_has_half_of_what_a_server_holds() -> None:
    given = {
        "RANKLET_BUNDLE": "b",
        "RANKLET_POOL": "2",
        "RANKLET_QUEUE": "6",
        "RANKLET_WORKERS": "3",
    }
    for keys, most in (("a", 0), ("a,b", 12)):
        settings = ServerSettings.from_environment({**given, "RANKLET_API_KEY": keys})
        assert settings.key_requests == most


def test_a_larger_body_makes_more_room_for_bodies() -> None:
    settings = ServerSettings.from_environment({**GOOD, "RANKLET_MAX_BODY_BYTES": str(100 << 20)})
    assert settings.bodies_bytes == 100 << 20


def test_hosts_are_read_in_one_form() -> None:
    given = {**GOOD, "RANKLET_HOSTS": "Search.Example., [2001:DB8:0::1],10.0.0.1"}
    hosts = ServerSettings.from_environment(given).hosts
    assert hosts == ("search.example", "2001:db8::1", "10.0.0.1")


def test_without_a_key_none_is_needed() -> None:
    assert ServerSettings.from_environment({"RANKLET_BUNDLE": "b"}).api_keys == ()
    line = {**GOOD, "RANKLET_API_KEY": "from-a-file\n"}
    assert ServerSettings.from_environment(line).api_keys == ("from-a-file",)


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
