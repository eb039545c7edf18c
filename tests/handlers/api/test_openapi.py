"""OpenAPI is held equal to what the server does, and a fuzzer asks it all that it allows."""

import os
from typing import TYPE_CHECKING, Any

import pytest

from ranklet.handlers.api.answers import ANSWERS
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.openapi import describe
from ranklet.handlers.server.service import FILES

if TYPE_CHECKING:
    from tests.conftest import Described
    from tests.handlers.conftest import Server, Start


def test_every_route_is_described_and_every_description_is_a_route(server: "Server") -> None:
    document = server.ask("GET", "/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert set(ANSWERS) <= set(document["paths"])
    assert not set(FILES) & set(document["paths"])
    for path, operations in document["paths"].items():
        for method in operations:
            reply = server.ask(method.upper(), path)
            said = reply.body.decode() if "{id}" in path else ""
            assert reply.status not in (404, 405) or "unknown" in said or "no ranker" in said


def test_every_reference_leads_somewhere() -> None:
    document = describe(Limits(), keyed=True)
    schemas = document["components"]["schemas"]

    def follow(part: Any) -> None:
        if isinstance(part, dict):
            if "$ref" in part:
                assert part["$ref"].rpartition("/")[2] in schemas
            for each in part.values():
                follow(each)
        elif isinstance(part, list):
            for each in part:
                follow(each)

    follow(document)


def test_an_answer_has_what_was_changed_in_the_query() -> None:
    document = describe(Limits(), keyed=False)
    ranking = document["components"]["schemas"]["Ranking"]["properties"]
    assert ranking["corrections"]["additionalProperties"] == {"type": "string"}
    assert ranking["ignored"]["items"] == {"type": "string"}


@pytest.mark.parametrize(
    ("path", "schema", "more"),
    [
        ("/rank", "Ranking", {"explain": True, "highlight": True, "marks": True}),
        ("/rank", "Ranking", {"facets": ["year"], "return_documents": False, "pin": ["none"]}),
        ("/context", "Context", {"tokens": 50}),
        ("/explain", "Explained", {"id": "d7"}),
    ],
)
def test_answers_have_what_is_described(
    described: "Described", path: str, schema: str, more: dict[str, Any]
) -> None:
    schemas = describe(Limits(), keyed=False)["components"]["schemas"]

    def check(value: Any, wanted: Any) -> None:
        if "$ref" in wanted:
            wanted = schemas[wanted["$ref"].rpartition("/")[2]]
        if isinstance(value, dict) and "properties" in wanted:
            assert set(wanted["required"]) <= set(value) <= set(wanted["properties"])
            for name, each in value.items():
                check(each, wanted["properties"][name])
        elif isinstance(value, list):
            for each in value:
                check(each, wanted["items"])

    body = {"query": "bread dough", **more}
    check(ANSWERS[path](described.bundle, body, Limits(), None).body, schemas[schema])
    texts = [each.get("description", "") for each in schemas["Hit"]["properties"].values()]
    assert all(texts[:-2])
    assert not any("None" in each for each in texts)


FUZZ = "FUZZ" in os.environ  # `make fuzz` asks what nobody has asked yet


@pytest.mark.clients
@pytest.mark.slow
def test_schemathesis_finds_nothing(start: "Start") -> None:
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings

    with start() as server:
        refusals = [400, 404, 413, 415, 422]  # 413: what is too long breaks the schema, too
        # The fields of a filter are the bundle's, so others are refused that the schema allows.
        accepted = [200, 404, 422]
        checks = {
            "negative_data_rejection": {"expected-statuses": refusals},
            "positive_data_acceptance": {"expected-statuses": accepted},
        }
        config = schemathesis.Config.from_dict({"checks": checks})
        schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json", config=config)
        for result in schema.get_all_operations():
            operation = result.ok()
            for mode in (
                schemathesis.GenerationMode.POSITIVE,
                schemathesis.GenerationMode.NEGATIVE,
            ):
                if mode is schemathesis.GenerationMode.NEGATIVE and operation.method == "get":
                    continue  # there is nothing to get wrong

                @given(case=operation.as_strategy(generation_mode=mode))
                @settings(
                    max_examples=1000 if FUZZ else 40,
                    deadline=None,
                    database=None,
                    derandomize=not FUZZ,
                    phases=[Phase.generate],
                    suppress_health_check=list(HealthCheck),
                )
                def ask(case: Any) -> None:
                    case.call_and_validate()

                ask()
        assert not [line for line in server.log() if line["severity"] == "ERROR"]
