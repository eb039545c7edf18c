"""The page of the API names every route and every field that has an effect."""

import json
import re
from html import unescape

from ranklet.handlers.api.answers import ANSWERS, Answer
from ranklet.handlers.api.field import ABSENT, Route
from ranklet.handlers.api.fields import list_fields
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.openapi import describe
from ranklet.handlers.playground.api_page import EXAMPLES, api_page
from ranklet.runtime.bundle import Bundle

DESCRIBED = describe(Limits(), keyed=True)


def test_every_route_and_field_is_there() -> None:
    html = api_page(DESCRIBED)
    for path, methods in DESCRIBED["paths"].items():
        for method in methods:
            assert f"<code>{method.upper()} {path}</code>" in html
    section = html.split("POST /rank</code></h2>")[1].split("<section>")[0]
    for name, field in list_fields(Route.RANK).items():
        assert (f"<td><code>{name}</code></td>" in section) == (field.type is not ABSENT)
    assert "at most 10,000 characters" in section
    assert "Authorization: Bearer KEY" in section
    assert "Bearer KEY" not in api_page(describe(Limits(), keyed=False)).split("POST /rank")[1]


def test_the_examples_can_be_sent(bundle: Bundle) -> None:
    html = unescape(api_page(DESCRIBED))
    for path in ("/rank", "/explain", "/complete", "/rerank", "/v1/rerank", "/v2/rerank"):
        operation = DESCRIBED["paths"][path]["post"]["operationId"]
        sent = json.dumps(EXAMPLES[operation])
        assert re.search(re.escape(f"-d '{sent}'"), html)
        assert isinstance(ANSWERS[path](bundle, EXAMPLES[operation], Limits(), None), Answer)
