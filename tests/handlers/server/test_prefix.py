"""The page and the API behind a proxy that leads a path of its own to the server."""

import http.client
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import pytest

if TYPE_CHECKING:
    from tests.handlers.conftest import Server, Start

PREFIX = "/suche"


@contextmanager
def proxy(port: int, prefix: str, *, strips: bool) -> Iterator[str]:
    """Run a proxy that has nothing but the prefix; yield its address without a path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def answer(self) -> None:
            if not self.path.startswith(prefix):
                self.send_error(404)
                return
            path = self.path.removeprefix(prefix) or "/" if strips else self.path
            connection = http.client.HTTPConnection("127.0.0.1", port)
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            kinds = {"Content-Type": self.headers.get("content-type", "")} if body else {}
            connection.request(self.command, path, body or None, kinds)
            reply = connection.getresponse()
            self.send_response(reply.status)
            for name, value in reply.getheaders():
                if name.lower() not in ("date", "server", "connection", "transfer-encoding"):
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.read())
            connection.close()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


def get(address: str) -> tuple[int, dict[str, str], str]:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}" if parts.query else parts.path)
        reply = connection.getresponse()
        headers = {name.lower(): value for name, value in reply.getheaders()}
        return reply.status, headers, reply.read().decode()
    finally:
        connection.close()


def check_addresses(page: str) -> int:
    """Check all that a page leads to, and return how many addresses that are."""
    status, _, html = get(page)
    assert status == 200
    found = set(re.findall(r'(?:href|src|action)="([^"]*)"', html))
    for address in found:
        whole = urljoin(page, unescape(address))
        assert urlsplit(whole).path.startswith(f"{PREFIX}/"), address
        assert get(whole)[0] == 200, address
    return len(found)


@pytest.mark.slow
@pytest.mark.parametrize("strips", [True, False])
def test_every_address_stays_below_the_prefix(start: "Start", *, strips: bool) -> None:
    variables = {} if strips else {"RANKLET_PREFIX": f"{PREFIX}/"}
    with start(**variables) as server, proxy(server.port, PREFIX, strips=strips) as host:
        assert check_addresses(f"{host}{PREFIX}/?q=dough") > 8
        assert check_addresses(f"{host}{PREFIX}/docs") > 4
        assert check_addresses(f"{host}{PREFIX}/") > 4
        if strips:
            return
        status, headers, _ = get(f"{host}{PREFIX}?q=a+b")
        assert (status, headers["location"]) == (308, f"{PREFIX}/?q=a+b")
        described = server.ask("GET", f"{PREFIX}/openapi.json").json()
        assert described["servers"] == [{"url": "./"}]
        assert server.post(f"{PREFIX}/rank", {"query": "dough"}).json()["hits"]
        assert server.ask("GET", "/readyz").status == 200
        assert server.ask("GET", f"{PREFIX}x/readyz").status == 404
        assert f"POST {PREFIX}" not in server.metrics()


@pytest.mark.clients
@pytest.mark.slow
def test_the_script_stays_below_the_prefix(server: "Server", page: Any) -> None:
    with proxy(server.port, PREFIX, strips=True) as host:
        page.goto(f"{host}{PREFIX}/")
        page.get_by_label("Query").press_sequentially("dough")
        page.wait_for_selector(".hit")
        page.wait_for_url(f"{host}{PREFIX}/?q=dough*")
        page.locator(".hit").first.get_by_role("link", name="Why this score?").click()
        page.wait_for_selector(".why")
        assert urlsplit(page.url).path == f"{PREFIX}/"
