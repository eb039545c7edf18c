"""Which pages of other sites may ask, and what a browser is told about it."""

from typing import TYPE_CHECKING

import pytest
from starlette.datastructures import Headers

from ranklet.handlers.server.origins import Origins, read_origins
from ranklet.runtime.ground.errors import InputError

if TYPE_CHECKING:
    from tests.handlers.conftest import Server, Start

APP = "https://app.example"
ASKS = {"Origin": APP, "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,x-api-key"}  # fmt: skip


def test_equal_origins_are_allowed_and_no_others() -> None:
    origins = Origins(read_origins("https://app.example, http://localhost:3000"))
    for same in (APP, "https://APP.example:443", "http://localhost:3000"):
        assert origins.allow(same), same
    for other in ("http://app.example", "https://app.example:444", "https://app.example.evil",
                  "https://evil.example", "null", "", "*", "https://a.app.example"):  # fmt: skip
        assert not origins.allow(other), other
        headers = dict(origins.headers(Headers({"origin": other})))
        assert headers == {b"vary": b"origin"}
    kinds = "app://obsidian.md,chrome-extension://abcd,tauri://localhost/,https://b.example/"
    apps = Origins(read_origins(kinds))
    for same in kinds.replace("/,", ",").removesuffix("/").split(","):
        assert apps.allow(same), same
    assert not apps.allow("http://localhost")
    assert not Origins().allow(APP)
    assert Origins().headers(Headers({"origin": APP})) == []


@pytest.mark.parametrize(
    "text",
    ["app.example", "ftp://a", "file://", "file:///a", "https://a/b", "https://", "a,,b", "null",
     "https://*.a b", "https://*.example", "*.example", "https://*", "https://a:99999", "https://ü.example",
     "https://me@a", "https://a?b", "https://a//", "wss://a", "https://a.example https://b.example"],
)  # fmt: skip
def test_what_is_no_origin_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"give schemes and hosts, .* https://app\.example"):
        read_origins(text)


@pytest.mark.slow
def test_an_allowed_page_may_ask_and_read(start: "Start") -> None:
    with start(RANKLET_ORIGINS=APP, RANKLET_API_KEY="key") as server:
        may = server.ask("OPTIONS", "/rank", headers=ASKS)
        assert may.status == 204
        assert may.headers["access-control-allow-origin"] == APP
        assert "POST" in may.headers["access-control-allow-methods"]
        assert {"content-type", "x-api-key", "authorization"} <= set(
            may.headers["access-control-allow-headers"].split(", ")
        )
        for key, status in (("key", 200), ("", 401)):
            reply = server.post("/rank", {"query": "dough"}, {"Origin": APP, "x-api-key": key})
            assert reply.status == status
            assert reply.headers["access-control-allow-origin"] == APP
            assert reply.headers["vary"] == "origin"
            assert "x-request-id" in reply.headers["access-control-expose-headers"]
            assert "access-control-allow-credentials" not in reply.headers
        message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        assert server.post("/mcp", message, {"Origin": APP, "x-api-key": "key"}).status == 200
        for evil in ("https://evil.example", "null"):
            asked = server.ask("OPTIONS", "/rank", headers={**ASKS, "Origin": evil})
            assert asked.status in (403, 405)
            refused = server.post("/rank", {"query": "x"}, {"Origin": evil, "x-api-key": "key"})
            assert refused.status == 403
            for each in (asked, refused):
                assert "access-control-allow-origin" not in each.headers


@pytest.mark.slow
def test_every_site_may_ask_only_if_that_is_said(start: "Start", server: "Server") -> None:
    with start(RANKLET_ORIGINS="*") as everywhere:
        reply = everywhere.post("/rank", {"query": "dough"}, {"Origin": "https://any.example"})
        assert (reply.status, reply.headers["access-control-allow-origin"]) == (200, "*")
    reply = server.post("/rank", {"query": "dough"})
    assert not [name for name in reply.headers if name.startswith("access-control")]
