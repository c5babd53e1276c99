"""JSON schemas of documents, and checks against them."""

import importlib.resources
import json

import jsonschema


def schema(package, name):
    """A schema of a package, as a dict."""
    return json.loads((importlib.resources.files(package)
                       / f'{name}.schema.json').read_text())


def check(document, schema):
    """Check that a document matches a schema and has no other keys."""
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, _closed(schema),
                        cls=jsonschema.Draft202012Validator)


def _closed(part):
    """A schema that forbids additional keys of objects."""
    if isinstance(part, list):
        return [_closed(each) for each in part]
    if not isinstance(part, dict):
        return part
    closed = {name: _closed(value) for name, value in part.items()}
    if 'object' in str(part.get('type')) and 'properties' in part:
        closed['additionalProperties'] = False
    return closed
