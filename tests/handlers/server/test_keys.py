"""API keys with filters: what a tenant sees, and every way around it that we can think of."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.server.keys import ApiKeys, open_part, read_filters, read_keys
from ranklet.runtime import BundleError, InputError
from ranklet.runtime.ground.variables import Variable
from ranklet.workflows.build import build

if TYPE_CHECKING:
    from tests.conftest import Described
    from tests.handlers.conftest import Server, Start

OURS, THEIRS, ALL = "key-of-us", "key-of-them", "key-of-all"
FILTERS = {OURS: {"tenant": "us"}, THEIRS: {"tenant": "them"}}
QUERY = "plan budget secret"


def rows() -> list[dict[str, Any]]:
    texts = ["Our plan for the budget.", "A secret budget.", "The plan is no secret."]
    shared = [{"id": "public", "text": "A plan without a tenant."}]
    return shared + [
        {
            "id": f"{tenant}-{number}", "tenant": tenant, "title": f"{tenant} {number}",
            "text": f"{text} Of {tenant}.", "number": number, "owners": [tenant, "both"],
        }
        for tenant in ("us", "them")
        for number, text in enumerate(texts)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(build(rows(), tmp_path_factory.mktemp("tenants") / "tenants.ranklet"))


def asked(server: "Server", path: str, body: Any, key: str = OURS) -> tuple[int, Any, str]:
    reply = server.post(path, body, {"x-api-key": key})
    return reply.status, reply.json(), reply.body.decode()


@pytest.mark.slow
def test_a_tenant_cannot_see_anothers_documents(start: "Start", path: Path) -> None:
    variables = {"RANKLET_API_KEY": ALL, Variable.API_KEY_FILTERS: json.dumps(FILTERS)}
    with start(path, **variables) as server:
        # The key of all sees all, so that what the others do not see is there.
        _, everything, _ = asked(server, "/rank", {"query": QUERY, "k": 100}, ALL)
        assert len(everything["hits"]) == 7
        for key, tenant, other in ((OURS, "us", "them"), (THEIRS, "them", "us")):
            _ranks_only(server, key, tenant, other)
            _filters_do_not_widen(server, key, tenant, other)
            _ids_of_others_are_unknown(server, key, tenant, other)
            _info_counts_only(server, key, tenant, other)
            _completes_and_suggests_only(server, key, tenant, other)
        assert server.post("/rank", {"query": QUERY}).status == 401
        assert asked(server, "/rank", {"query": QUERY}, "key-of-us,")[0] == 401
        assert server.ask("GET", "/metrics", headers={"x-api-key": OURS}).status == 403
        assert server.ask("GET", "/metrics", headers={"x-api-key": ALL}).status == 200
        for free in ("/", "/openapi.json", "/readyz", "/healthz"):
            content = server.ask("GET", free).body.decode()
            assert "tenant" not in content
        log = json.dumps(server.log())
        assert not any(key in log for key in (OURS, THEIRS, ALL))


def _ranks_only(server: "Server", key: str, tenant: str, other: str) -> None:
    further: tuple[dict[str, Any], ...] = (
        {}, {"k": 100}, {"explain": True, "highlight": True}, {"offset": 1}, {"offset": 2, "k": 50},
        {"group_by": "tenant"}, {"group_by": "number", "group_size": 9}, {"min_score": -1e30},
        {"pipeline": "bm25"}, {"where": {}}, {"where": None}, {"query": "plan se*", "syntax": True},
    )  # fmt: skip
    for more in further:
        status, answer, text = asked(server, "/rank", {"query": QUERY, "k": 10, **more}, key)
        assert status == 200, (more, text)
        assert answer["hits"], more
        assert all(hit["id"].startswith(f"{tenant}-") for hit in answer["hits"]), more
        assert f"{other}-" not in text
        assert all(hit["index"] < 3 for hit in answer["hits"])  # not the place among all
    for flags in ({"typos": True}, {"typos": True, "syntax": True}):
        status, _, text = asked(server, "/rank", {"query": "secert", **flags}, key)
        assert status == 422
        assert "secret" not in text
    status, answer, _ = asked(server, "/rank", {"query": QUERY, "group_by": "tenant"}, key)
    assert [hit["metadata"]["tenant"] for hit in answer["hits"]] == [tenant]
    more = {"facets": {"tenant": {"missing": True}}, "sort": ["-number"]}
    status, answer, _ = asked(server, "/rank", {"query": QUERY, **more}, key)
    assert answer["facets"] == {"tenant": [{"value": tenant, "count": answer["total"]}]}
    assert answer["total"] == len(answer["hits"])
    # The caller's own texts are ranked as ever.
    for route in ("/rerank", "/v1/rerank", "/v2/rerank"):
        assert asked(server, route, {"query": QUERY, "documents": ["A plan."]}, key)[0] == 200


def _filters_do_not_widen(server: "Server", key: str, tenant: str, other: str) -> None:
    wide: list[Any] = [
        {"tenant": other},
        {"tenant": [tenant, other]},
        {"tenant": {"!=": tenant}},
        {"tenant": {"missing": True}},
        {"not": {"tenant": tenant}},
        {"or": [{"tenant": tenant}, {"tenant": other}]},
        {"or": [{}]},
        {"or": [{}, {"not": {}}], "and": [{"or": [{"tenant": other}, {"number": {">=": 0}}]}]},
        {"not": {"and": [{"tenant": tenant}, {"not": {"tenant": tenant}}]}},
        {"owners": {"has": "both"}},
        {"number": {"<": 1e9}},
    ]
    for where in wide:
        status, answer, text = asked(server, "/rank", {"query": QUERY, "where": where}, key)
        assert status == 200, text
        assert all(hit["id"].startswith(f"{tenant}-") for hit in answer["hits"]), where
        assert f"{other}-" not in text
    # What is refused reveals no value and does not say what the key's filter is.
    faults: tuple[dict[str, Any], ...] = (
        {"tenan": "x"}, {"tenant": 5}, {"tenant": {"~": "x"}}, {"or": 1}, {"x": [[]]},
    )  # fmt: skip
    for wrong in faults:
        status, answer, text = asked(server, "/rank", {"query": QUERY, "where": wrong}, key)
        assert status == 422
        assert f"'{other}'" not in text
        assert f"'{tenant}'" not in text


def _ids_of_others_are_unknown(server: "Server", key: str, tenant: str, other: str) -> None:
    status, answer, _ = asked(server, "/explain", {"query": QUERY, "id": f"{tenant}-1"}, key)
    assert (status, answer["id"]) == (200, f"{tenant}-1")
    messages = set()
    for name in (f"{other}-1", "public", "nobody", f"{tenant}-9", f"{other}-"):
        for query in (QUERY, "gnorp"):
            status, answer, _ = asked(server, "/explain", {"query": query, "id": name}, key)
            messages.add((status, json.dumps(answer).replace(name, "…")))
    assert messages == {(404, '{"error": "unknown document id \'…\'", "error_type": "not_found"}')}
    body = {"query": QUERY, "id": f"{other}-1", "where": {"tenant": other}}
    assert asked(server, "/explain", body, key)[0] == 422


def _info_counts_only(server: "Server", key: str, tenant: str, other: str) -> None:
    reply = server.ask("GET", "/info", headers={"x-api-key": key})
    about = reply.json()
    assert about["documents"] == 3
    assert sorted(about["examples"]) == [f"{tenant} {number}" for number in range(3)]
    assert f"{other} " not in reply.body.decode()


def _completes_and_suggests_only(server: "Server", key: str, tenant: str, other: str) -> None:
    for prefix in ("u", "t", "th", "b", "zork", other, f"{other} 0", other[:-1] + "x"):
        reply = server.ask("GET", f"/complete?q={quote(prefix)}&k=100", headers={"x-api-key": key})
        found = [each["text"] for each in reply.json()["completions"]]
        assert not any(f"{other} " in each or each == other for each in found), found
    reply = server.ask("GET", f"/complete?q={tenant}&k=100", headers={"x-api-key": key})
    assert f"{tenant} 0" in [each["text"] for each in reply.json()["completions"]]
    for query in ("themm", "secrte", f"{other}x plan"):
        answer = asked(server, "/rank", {"query": query}, key)[1]
        assert other not in answer.get("suggestion", "").split()


@pytest.mark.slow
def test_a_bundle_that_a_filter_does_not_fit_is_not_served(
    start: "Start", path: Path, tmp_path: Path
) -> None:
    bare = Path(build(["A plan."], tmp_path / "bare.ranklet"))
    with start(bare, ready=False, **{Variable.API_KEY_FILTERS: json.dumps(FILTERS)}) as server:
        server.wait(lambda: any("unknown field" in str(line) for line in server.log()))
        assert server.ask("GET", "/readyz").status == 503
        reply = server.post("/rank", {"query": "plan"}, {"x-api-key": OURS})
        assert reply.status == 503
        assert "tenant" not in reply.body.decode()


def test_a_part_is_the_bundle_itself_without_a_filter(described: "Described") -> None:
    assert open_part(described.bundle, None) is described.bundle
    assert len(open_part(described.bundle, {"year": 2020})) < len(described.bundle)
    with pytest.raises(BundleError, match=f"a filter of {Variable.API_KEY_FILTERS} does not fit"):
        open_part(described.bundle, {"tenant": "us"})


@pytest.mark.parametrize("key", ["clé-à", "à", "Ѕ", "密钥", "a:b;c="])
def test_every_key_that_can_be_set_opens(key: str) -> None:
    (read,) = read_keys({"RANKLET_API_KEY": key})
    sent = key.encode().decode("latin-1")
    for headers in ({"x-api-key": sent}, {"authorization": f"Bearer {sent}"}):
        assert ApiKeys((read,), {}).opened(headers) == (0, None, False)
        assert ApiKeys((), read_filters(json.dumps({key: {"a": 1}}), ())).opened(headers).key == 0


def test_keys_are_compared_whole() -> None:
    keys = ApiKeys((ALL,), FILTERS)
    assert keys
    assert not ApiKeys((), {})
    assert ApiKeys((), {}).opened({}) == (None, None, False)
    assert keys.opened({"authorization": f"bearer {ALL}"}) == (0, None, False)
    assert keys.opened({"x-api-key": f" {THEIRS}\t"})[:2] == (2, {"tenant": "them"})
    for wrong in ("", "key", OURS + "x", f"{OURS},{ALL}"):
        with pytest.raises(RequestError, match="give the API key"):
            keys.opened({"x-api-key": wrong})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ('{"k1": {"a": 1}, "k1": {"a": 2}}', "has a key twice"),
        ("{}", "must be an object with a key at least"),
        ("[]", "must be an object with a key at least"),
        ('{"": {"a": 1}}', "is empty, or has a comma"),
        ('{" k1": {"a": 1}}', "white space around it"),
        ('{"k1,k2": {"a": 1}}', "a comma"),
        ('{"k1": {}}', "has no filter"),
        ('{"k1": null}', "has no filter"),
        ('{"k1": []}', "has no filter"),
        ('{"whole": {"a": 1}}', "stands in RANKLET_API_KEY, too"),
    ],
)
def test_filters_that_cannot_be_used_stop_the_start(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        read_filters(text, ("whole",))
    assert "k1" not in str(raised.value)
    assert read_filters("", ()) == {}


def test_only_keys_that_may_write_write() -> None:
    keys = ApiKeys([ALL], FILTERS, ["writer", OURS])
    for key, where, writes in (
        (ALL, None, False), ("writer", None, True), (OURS, FILTERS[OURS], True),
        (THEIRS, FILTERS[THEIRS], False),
    ):  # fmt: skip
        headers = {"x-api-key": key}
        assert keys.opened(headers)[1:] == (where, writes)
        if writes:
            assert keys.writing(headers).where == where
        else:
            with pytest.raises(RequestError, match="may not write") as refused:
                keys.writing(headers)
            assert refused.value.status == 403
    alone = ApiKeys([], {}, ["writer"])
    assert not alone
    assert alone.opened({}) == (None, None, False)
    with pytest.raises(RequestError, match="give the API key"):
        alone.writing({})
    with pytest.raises(RequestError, match="RANKLET_WRITE_KEYS is not set"):
        ApiKeys([ALL], {}).writing({"x-api-key": ALL})


def _metrics(server: "Server") -> str:
    return server.ask("GET", "/metrics", headers={"x-api-key": ALL}).body.decode()


@pytest.mark.slow
def test_what_a_tenant_writes_is_found_by_all_processes(start: "Start", tmp_path: Path) -> None:
    bundle = Path(build(rows(), tmp_path / "live.ranklet"))
    variables = {
        "RANKLET_API_KEY": ALL, Variable.API_KEY_FILTERS: json.dumps(FILTERS),
        Variable.WRITE_KEYS: OURS, "RANKLET_WORKERS": "2",
    }  # fmt: skip
    new = {"id": "us-new", "text": "A zebra.", "tenant": "us"}
    with start(bundle, **variables) as server:
        for turn in range(3):
            text = f"A zebra of turn {turn}."
            status, answer, _ = asked(server, "/documents", {"documents": [{**new, "text": text}]})
            assert (status, answer["documents"]) == (200, 4)
            for _ in range(6):  # of which some reach either process
                found = asked(server, "/rank", {"query": "zebra"})[1]["hits"]
                assert [hit["text"] for hit in found] == [text]
                assert asked(server, "/rank", {"query": "zebra"}, THEIRS)[1]["hits"] == []
        server.wait(lambda: "ranklet_additions 1.0" in _metrics(server))
        assert asked(server, "/documents", {"documents": [{**new, "tenant": "them"}]})[0] == 422
        assert asked(server, "/documents", {"documents": [{**new, "id": "them-1"}]})[0] == 422
        assert asked(server, "/documents", {"documents": [new]}, THEIRS)[0] == 403
        assert asked(server, "/documents", {"documents": [new]}, "nobody")[0] == 401
        tool = {"name": "remember", "arguments": {"text": "The giraffe is ours."}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool}
        result = asked(server, "/mcp", call)[1]["result"]
        assert not result["isError"]
        assert (
            asked(server, "/rank", {"query": "giraffe"})[1]["hits"][0]["id"]
            == (result["structuredContent"]["id"])
        )
        assert asked(server, "/mcp", call, THEIRS)[1]["result"]["isError"]
        headers = {"x-api-key": OURS}
        assert server.ask("DELETE", "/documents/them-1", headers=headers).status == 404
        assert server.ask("DELETE", "/documents/us-new", headers=headers).status == 200
        for _ in range(6):
            assert asked(server, "/rank", {"query": "zebra"})[1]["hits"] == []
