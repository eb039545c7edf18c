"""Which requests come from another site's page, and are refused."""

from typing import TYPE_CHECKING

import pytest
from starlette.datastructures import Headers

from ranklet.handlers.server.hosts import Hosts

if TYPE_CHECKING:
    from tests.handlers.conftest import Server, Start

EVERYWHERE = "0.0.0.0"  # noqa: S104  # what is tested
FOREIGN = [
    "",
    "evil.example",
    "evil.example:8080",
    "127.0.0.1.evil.example:8080",
    "localhost.evil.example",
    "evil.example.:80",
    "notlocalhost",
    "10.0.0.1:8080",
    "0.0.0.0:8080",
    "[2001:db8::1]:8080",
    "[::ffff:10.0.0.1]",
    "::1",
    "localhost:80:80",
    "localhost:x",
    "localhost:²",
    "localhost@evil.example",
    "evil.example@localhost",
    "localhost, evil.example",
    "localhost evil.example",
    "localhost/evil.example",
    "http://localhost",
    "127.1",
    "2130706433",
]
OWN = [
    "localhost",
    "LocalHost:8080",
    "localhost.:8080",
    "127.0.0.1:1",
    "127.0.0.1",
    "127.1.2.3:99",
    "[::1]:8080",
    "[0:0:0:0:0:0:0:1]",
    "[::FFFF:127.0.0.1]:80",
]


def refused(hosts: Hosts, host: str, **more: str) -> bool:
    return bool(hosts.refusal(Headers({"host": host, **more})))


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "localhost", "127.9.9.9"])
def test_on_this_machine_only_its_own_names_are_answered(address: str) -> None:
    hosts = Hosts(address)
    assert [host for host in FOREIGN if not refused(hosts, host)] == []
    assert [host for host in OWN if refused(hosts, host)] == []
    assert hosts.refusal(Headers({}))
    for name in ("x-forwarded-host", "forwarded", "x-host"):
        assert hosts.refusal(Headers({"host": "evil.example", name: "localhost"}))


@pytest.mark.parametrize("address", [EVERYWHERE, "::", "192.168.1.5", "search.example", ""])
def test_on_another_address_every_name_is_answered_unless_there_are_some(address: str) -> None:
    assert not refused(Hosts(address), "evil.example", origin="http://other.example")
    named = Hosts(address, ("search.example",))
    assert refused(named, "evil.example")
    assert not any(refused(named, host) for host in ("search.example:443", "localhost:8080"))


def test_names_are_allowed_in_addition() -> None:
    hosts = Hosts("127.0.0.1", ("search.example", "10.0.0.1"))
    for host in ("search.example", "SEARCH.example.:443", "10.0.0.1:80", *OWN):
        assert not refused(hosts, host), host
    for host in ("a.search.example", "search.example.evil.example", "10.0.0.2"):
        assert refused(hosts, host), host
    assert not any(refused(Hosts("127.0.0.1", ("*",)), host) for host in FOREIGN)
    assert not refused(Hosts("192.168.1.5", ("a.example",)), "192.168.1.5:8080")


def test_a_page_of_another_site_is_refused_by_its_origin() -> None:
    hosts = Hosts("127.0.0.1", ("search.example",))
    for origin in ("http://localhost:80", "http://LOCALHOST.", "https://search.example:444"):
        assert not refused(hosts, "localhost", origin=origin), origin
    for origin in (
        "null", "", "http://evil.example", "http://localhost:81", "https://localhost",
        "file://localhost", "http://127.0.0.1", "localhost", "http://localhost/",
    ):  # fmt: skip
        assert refused(hosts, "localhost", origin=origin), origin


def test_a_server_on_this_machine_hides_its_documents_from_other_sites(server: "Server") -> None:
    body, evil = {"query": "dough"}, f"evil.example:{server.port}"
    for headers in ({"Host": evil}, {"Host": evil, "Origin": f"http://{evil}"},
                    {"Origin": "http://evil.example"}):  # fmt: skip
        reply = server.post("/rank", body, headers)
        assert (reply.status, reply.json()["error_type"]) == (403, "forbidden")
        for path in ("/", "/info", "/metrics", "/openapi.json", "/rank?query=dough"):
            assert server.ask("GET", path, headers=headers).status == 403
        # What asks for the state of a server, asks by an address of its own choice.
        for path in ("/healthz", "/readyz"):
            assert server.ask("GET", path, headers=headers).status == 200
    own = {"Host": f"LOCALHOST:{server.port}", "Origin": f"http://LOCALHOST:{server.port}"}
    assert server.post("/rank", body, own).status == 200


@pytest.mark.parametrize(
    ("path", "there"),
    [("/rank/", True), ("/info/", True), ("/healthz/", True), ("/docs/", False), ("//rank", False)],
)
def test_no_path_leads_to_the_host_that_a_caller_named(
    server: "Server", path: str, there: bool
) -> None:
    for method in ("GET", "POST"):
        reply = server.ask(method, path, {} if method == "POST" else None)
        assert (reply.status != 404, "location" in reply.headers) == (there, False)


@pytest.mark.slow
def test_a_server_for_others_warns_if_it_has_no_key(start: "Start") -> None:
    with start(HOST=EVERYWHERE) as server:
        (warning,) = [line for line in server.log() if line["severity"] == "WARNING"]
        assert "there is no API key; set RANKLET_API_KEY" in warning["message"]
        assert server.post("/rank", {"query": "dough"}, {"Host": "search.example"}).status == 200
    with start(HOST=EVERYWHERE, RANKLET_API_KEY="open", RANKLET_HOSTS="search.example") as server:
        assert not [line for line in server.log() if line["severity"] == "WARNING"]
        known = {"x-api-key": "open", "Host": "search.example"}
        assert server.post("/rank", {"query": "dough"}, known).status == 200
        known["Host"] = "evil.example"
        assert server.post("/rank", {"query": "dough"}, known).status == 403
