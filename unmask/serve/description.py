"""The page at /docs: the OpenAPI description in, one HTML page out, which asks no other server for anything."""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

Schema = Mapping[str, Any]

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h2 { border-top: 1px solid; padding-top: 1rem; margin-top: 2rem; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid; border-radius: .4rem; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .2rem 1rem .2rem 0; vertical-align: top; }
"""
# Browsers run nothing on it and take this style alone.
NO_SCRIPT = (
    f"default-src 'none'; style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def description_page(openapi: Schema) -> str:
    """Every endpoint with its fields, its answers and calls to try."""
    info, operations = openapi["info"], "".join(_operations(openapi))
    paragraphs = "".join(f"<p>{escape(part)}</p>" for part in info.get("description", "").split("\n\n"))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(info['title'])}</title><style>{STYLE}</style></head>\n"
        f"<body><main><h1>{escape(info['title'])} {escape(info['version'])}</h1>{paragraphs}"
        f'<p>The same for machines: <a href="openapi.json">openapi.json</a></p>\n{operations}</main></body></html>\n'
    )


def _operations(openapi: Schema) -> Iterator[str]:
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            yield f"<section><h2><code>{method.upper()} {escape(path)}</code></h2>\n"
            yield f"<p>{escape(operation.get('summary', ''))}.</p>\n"
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            if body:
                yield _fields(_named(openapi, body["schema"]))
                yield "".join(_call(path, example) for example in body.get("examples", {}).values())
            yield f"{_statuses(operation['responses'])}</section>\n"


def _fields(schema: Schema) -> str:
    rows = "".join(
        f"<tr><th scope=row><code>{escape(name)}</code></th><td>{escape(_type(field))}</td>"
        f"<td>{'needed' if name in schema.get('required', ()) else ''}</td>"
        f"<td>{escape(field.get('description', ''))}</td></tr>\n"
        for name, field in schema["properties"].items()
    )
    return f"<table>{rows}</table>\n"


def _call(path: str, example: Schema) -> str:
    """A call for a terminal; the body in single quotes, so that the shell leaves it as it is."""
    body = json.dumps(example["value"], ensure_ascii=False).replace("'", "'\\''")
    words = f"curl \"$SERVER{path}\" -H 'Content-Type: application/json' \\\n  -d '{body}'"
    return f"<p>{escape(example['summary'])}</p>\n<pre><code>{escape(words)}</code></pre>\n"


def _statuses(responses: Mapping[str, Schema]) -> str:
    rows = "".join(
        f"<tr><th scope=row>{status}</th><td>{escape(response.get('description', ''))}</td></tr>"
        for status, response in sorted(responses.items())
    )
    return f"<details><summary>Statuses</summary><table>{rows}</table></details>"


def _named(openapi: Schema, schema: Schema) -> Schema:
    """What a reference stands for."""
    name = schema.get("$ref", "").removeprefix("#/components/schemas/")
    found: Schema = openapi["components"]["schemas"][name] if name else schema
    return found


def _type(field: Schema) -> str:
    """A field's type in a word or two.

    >>> _type({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}]})
    'string or list of string'
    """
    if "anyOf" in field:
        return " or ".join(_type(kind) for kind in field["anyOf"] if kind.get("type") != "null")
    if "enum" in field:
        return " or ".join(map(str, field["enum"]))
    if field.get("type") == "array":
        return f"list of {_type(field['items'])}"
    return str(field.get("type", "object"))
