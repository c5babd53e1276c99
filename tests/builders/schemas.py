"""What documents of commands are held to."""

import importlib.resources
import json
import urllib.request

import jsonschema
import referencing
import referencing.jsonschema


def schema(package, name):
    """A schema that the package has, as a dict, with its place as its id."""
    path = importlib.resources.files(package) / f'{name}.schema.json'
    return json.loads(path.read_text()) | {'$id': path.as_uri()}


def check(document, schema):
    """Check that a document has what a schema says, and nothing besides."""
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, _closed(schema),
                        cls=jsonschema.Draft202012Validator,
                        registry=referencing.Registry(retrieve=_referred_to))


def _referred_to(uri):
    """The schema in a file that another one refers to."""
    with urllib.request.urlopen(uri) as file:
        return referencing.jsonschema.DRAFT202012.create_resource(
            _closed(json.load(file)))


def _closed(part):
    """A schema whose objects have no keys but those it names."""
    if isinstance(part, list):
        return [_closed(each) for each in part]
    if not isinstance(part, dict):
        return part
    closed = {name: _closed(value) for name, value in part.items()}
    if 'object' in str(part.get('type')) and 'properties' in part:
        closed['additionalProperties'] = False
    return closed
