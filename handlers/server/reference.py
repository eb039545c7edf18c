"""The description of the API as a page for people, made of the OpenAPI document alone."""

from collections.abc import Iterator, Mapping
from typing import Any

from ranklet.runtime.html import Markup, element, join

Schema = Mapping[str, Any]

TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
    "null": "null",
}
HUGE = 1e30  # a bound that nobody needs to know
UNSUPPORTED = "Not supported"  # how descriptions of fields begin that must be absent
_EXAMPLES = {
    "/rank": '{"query": "how to knead dough", "k": 3}',
    "/explain": '{"query": "how to knead dough", "id": "7"}',
}
_OTHER_EXAMPLE = '{"query": "how to knead dough", "documents": ["Bread.", "Fold it."]}'


def reference(description: Schema) -> str:
    """Return an HTML page of an OpenAPI document.

    It needs the style sheet of the playground and no script.

    Args:
        description: what `openapi.describe` returns.
    """
    schemas: Schema = description["components"]["schemas"]
    parts = [
        _operation(method, path, operation, schemas)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    objects = [
        _fields_of(name, schema, schemas)
        for name, schema in schemas.items()
        if not name.endswith("Request") and list(fields(schema, schemas))
    ]
    title = f"{description['info']['title']} {description['info']['version']}"
    also = element("a", "openapi.json", href="openapi.json")
    lead = element(
        "p", "The API of this server. Programs read the same from ", also, ".", class_="lead"
    )
    head = join(
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        Markup('<link rel="stylesheet" href="playground/style.css">'),
        Markup('<link rel="stylesheet" href="playground/reference.css">'),
        element("title", f"API – {title}"),
    )
    back = element("a", title, href="./", class_="brand")
    main = element("main", element("h1", "API"), lead, *parts, element("h2", "Objects"), *objects)
    body = element("body", element("header", back, class_="top"), main)
    html = element("html", element("head", head), body, lang="en")
    return f"<!doctype html>\n{html}\n"


def _operation(method: str, path: str, operation: Schema, schemas: Schema) -> Markup:
    name = f"{method.upper()} {path}"
    children = [element("h2", element("code", name)), element("p", operation["summary"])]
    if operation.get("security"):
        children.append(element("p", "It needs an API key.", class_="hint"))
    rows = [_parameter(each) for each in operation.get("parameters", ())]
    if rows:
        children += [element("h3", "Parameters"), _table(rows)]
    if "requestBody" in operation:
        (content,) = operation["requestBody"]["content"].values()
        children += [
            element("h3", "Request"),
            _table(list(fields(content["schema"], schemas))),
            element("pre", element("code", _curl(path))),
        ]
    answer = operation["responses"].get("200", {}).get("content", {})
    for media, content in answer.items():
        children.append(element("p", "Answer: ", _described(content["schema"]), f" ({media})"))
    return element("section", *children, id=f"{method}{path.replace('/', '-')}")


def _parameter(parameter: Schema) -> list[str]:
    schema: Schema = parameter.get("schema") or {}
    default = "required" if parameter["required"] else schema.get("default")
    value = kind(schema) if schema else "JSON"
    shown = "" if default is None else default if isinstance(default, str) else _json(default)
    return [parameter["name"], value, shown, parameter.get("description", "")]


def _curl(path: str) -> str:
    body = _EXAMPLES.get(path, _OTHER_EXAMPLE)
    return f"curl http://localhost:8080{path} -H 'Content-Type: application/json' -d '{body}'"


def _fields_of(name: str, schema: Schema, schemas: Schema) -> Markup:
    rows = _table(list(fields(schema, schemas)))
    return element("section", element("h3", element("code", name)), rows, id=name)


def _table(rows: list[list[str]]) -> Markup:
    head = element("tr", *(element("th", each) for each in ("field", "value", "default", "")))
    body = [
        element("tr", element("td", element("code", row[0])), *(element("td", x) for x in row[1:]))
        for row in rows
    ]
    table = element("table", element("thead", head), element("tbody", *body))
    return element("div", table, class_="scrolled")


def fields(schema: Schema, schemas: Schema) -> Iterator[list[str]]:
    """Yield name, value, default and description of each field of an object.

    Of an object that may have several forms, a field has the values of all of them.

    Args:
        schema: the schema of the object.
        schemas: the named ones, to which it may refer.
    """
    forms = [_resolved(each, schemas) for each in _forms(_resolved(schema, schemas))]
    forms = [each for each in forms if "properties" in each]
    names = dict.fromkeys(name for each in forms for name in each["properties"])
    for name in names:
        own = [each["properties"][name] for each in forms if name in each["properties"]]
        about = str(own[0].get("description", ""))
        if about.startswith(UNSUPPORTED):
            continue
        values = dict.fromkeys(kind(each) for each in own)
        if TYPES["boolean"] in values:
            values.pop("false", None)  # of a form in which a flag must be off
        needed = all(name in each.get("required", ()) for each in forms)
        default = own[0].get("default")
        shown = "required" if needed else "" if default is None else _json(default)
        yield [name, " or ".join(value for value in values if value), shown, about]


def kind(schema: Schema) -> str:
    """Return what a value is, in words.

    >>> kind({"type": ["integer", "null"], "minimum": 0, "maximum": 1000})
    'whole number from 0 to 1,000'
    >>> kind({"type": "array", "items": {"$ref": "#/components/schemas/Document"}, "maxItems": 9})
    'list of Document, at most 9'
    >>> kind({"enum": [False, None]})
    'false'
    """
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " or ".join(_json(each) for each in schema["enum"] if each is not None)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(filter(None, map(kind, schema["anyOf"]))))
    given = schema.get("type", ())
    types = [given] if isinstance(given, str) else list(given)
    if "array" in types:
        most = f", at most {schema['maxItems']:,}" if "maxItems" in schema else ""
        return f"list of {kind(schema['items'])}{most}"
    text = " or ".join(TYPES[each] for each in types if each != "null")
    if "maxLength" in schema:
        text += f", at most {schema['maxLength']:,} characters"
    if abs(schema.get("maximum", 0)) >= HUGE:
        return text
    if "maximum" in schema:
        text += f" from {schema.get('minimum', 0):,} to {schema['maximum']:,}"
    elif "minimum" in schema:
        text += f" from {schema['minimum']:,}"
    return text


def _described(schema: Schema | None) -> Markup:
    """Return what an answer is, with links to the objects in it."""
    words = kind(schema or {"type": "string"}).split(" ")
    named = "".join(_link(word) if word[:1].isupper() else join(f"{word} ") for word in words)
    return Markup(named.strip())


def _link(name: str) -> Markup:
    return join(element("a", name, href=f"#{name}"), " ")


def _forms(schema: Schema) -> list[Schema]:
    return list(schema["anyOf"]) if "anyOf" in schema else [schema]


def _resolved(schema: Schema, schemas: Schema) -> Schema:
    if "$ref" in schema:
        found: Schema = schemas[str(schema["$ref"]).rpartition("/")[2]]
        return found
    return schema


def _json(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value}"
