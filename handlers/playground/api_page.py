"""The documentation of the API as a page, made of its OpenAPI description."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from ranklet.handlers.playground.cards import JSON
from ranklet.runtime.answers.html import Markup, element, join
from ranklet.runtime.storage.package_files import package_text

TEMPLATE = Path(__file__).parent / "docs.html"
_ASKED: Mapping[str, Any] = {"query": "how to knead dough", "documents": ["Knead it.", "Wash it."]}
EXAMPLES: Mapping[str, Mapping[str, Any]] = {  # bodies, by operation
    "rank": {"query": "how to knead dough", "k": 3},
    "explain": {"query": "how to knead dough", "id": "bread"},
    "complete": {"q": "dou"},
    "context": {"query": "how to knead dough", "tokens": 500},
    "add": {"documents": [{"id": "bread", "text": "Knead the dough."}]},
    "delete": {"ids": ["bread"]},
    "rerank": {"query": "how to knead dough", "texts": ["Knead it.", "Wash it."]},
    "rerank_v1": _ASKED,
    "rerank_v2": _ASKED,
    "embeddings": {"input": ["Knead the dough."]},
    "embed": {"inputs": ["Knead the dough."]},
    "embed_sparse": {"inputs": ["Knead the dough."]},
}
_SHAPES = {"integer": "whole number", "boolean": "true or false", "array": "list", "null": ""}


def api_page(described: JSON) -> str:
    """Return the page of an OpenAPI document."""
    operations = [
        (f"{method.upper()} {path}", operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    links = [
        element("li", element("a", name, href=f"#{at}")) for at, (name, _) in enumerate(operations)
    ]
    sections = [_section(str(at), each, described) for at, each in enumerate(operations)]
    return Template(package_text(TEMPLATE)).substitute(
        links=join(*links), sections=join(*sections), version=join(described["info"]["version"])
    )


def _section(anchor: str, named: tuple[str, JSON], described: JSON) -> Markup:
    """Return an operation: what it does, its fields, an example, its answers."""
    name, operation = named
    rows = list(list_rows(operation, described))
    return element(
        "section",
        element("h2", element("code", name), id=anchor),
        element(
            "p", operation["summary"], *[" It needs an API key."] * bool(operation["security"])
        ),
        _table(("field", "value", "default", "meaning"), rows) if rows else "",
        _example(name, operation),
        element(
            "details",
            element("summary", "Answers"),
            _table(("status", "meaning"), _answers(operation)),
        ),
    )


def list_rows(operation: JSON, described: JSON) -> Iterator[tuple[str, ...]]:
    """Yield name, value, default and meaning of each field that has an effect."""
    for each in operation.get("parameters", ()):
        schema = each.get("schema") or each["content"]["application/json"]["schema"]
        yield _row(each["name"], schema, each.get("required", False))
    body = operation.get("requestBody")
    if not body:
        return
    schema = body["content"]["application/json"]["schema"]
    if "$ref" in schema:
        schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    forms = schema.get("anyOf", [schema])
    for name in forms[0]["properties"]:
        # A form that allows less, or nothing, has another field in exchange.
        field = max((form["properties"][name] for form in forms), key=_breadth)
        if "enum" not in field or field["enum"][0] is not None:
            yield _row(name, field, all(name in form["required"] for form in forms))


def _breadth(schema: JSON) -> tuple[bool, float]:
    return schema.get("type") != "null", schema.get("maximum", 0)


def _row(name: str, schema: JSON, needed: bool) -> tuple[str, ...]:
    default = "needed" if needed else schema.get("default", "")
    written = default if isinstance(default, str) else json.dumps(default)
    return name, value_in_words(schema), written, schema.get("description", "")


def value_in_words(schema: JSON) -> str:
    """Return what a field takes.

    >>> value_in_words({"type": ["integer", "null"], "minimum": 1, "maximum": 1000})
    'whole number, 1 to 1,000'
    """
    if "anyOf" in schema:
        return " or ".join(filter(None, map(value_in_words, schema["anyOf"])))
    if "enum" in schema:
        return " or ".join(str(each) for each in schema["enum"] if each is not None)
    types = schema.get("type", "anything")
    listed = [types] if isinstance(types, str) else types
    shown = " or ".join(filter(None, (_SHAPES.get(each, each) for each in listed)))
    if "minimum" in schema and abs(schema.get("maximum", 1e38)) < 1e30:
        shown += f", {schema['minimum']:,} to {schema['maximum']:,}"
    for key, unit in (("maxLength", "characters"), ("maxItems", "entries")):
        if key in schema:
            shown += f", at most {schema[key]:,} {unit}"
    return shown


def _example(name: str, operation: JSON) -> Markup:
    """Return a command that sends a request, if one needs no id."""
    method, _, path = name.partition(" ")
    body = EXAMPLES.get(operation["operationId"])
    if "{" in path:
        return Markup("")
    key = " -H 'Authorization: Bearer KEY'" if operation["security"] else ""
    if method == "GET":
        query = "?q=dou" if path == "/complete" else ""
        return element("pre", f"curl 'http://127.0.0.1:8080{path}{query}'{key}")
    sent = f" -H 'Content-Type: application/json' -d '{json.dumps(body)}'"
    return element("pre", f"curl http://127.0.0.1:8080{path}{key} \\\n {sent}")


def _answers(operation: JSON) -> list[tuple[str, ...]]:
    return [
        (status, each["description"]) for status, each in sorted(operation["responses"].items())
    ]


def _table(head: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Markup:
    """Return a table whose first column is code."""
    first = element("tr", *(element("th", each, scope="col") for each in head))
    lines = [
        element("tr", element("td", element("code", name)), *(element("td", each) for each in rest))
        for name, *rest in rows
    ]
    return element("table", first, *lines)
