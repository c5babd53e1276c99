"""The fields of each object, and the values of unset fields.

tests/data/object-fields.toml lists them.
"""

import pathlib
import re
import tomllib

import pytest

from nova_sched import objects
from nova_sched.objects import base

FORMS = tomllib.loads(pathlib.Path(__file__).parents[2].joinpath(
    'data', 'object-fields.toml').read_text())
FIELD = re.compile(r'(\w+?)(\?)?(?:=(\w+(?:\.\d)?))?(~)?(?:@([\d.]+))?')


def parsed(form):
    """Return {name: (null, unset value, whether reading sets it, since)}."""
    return {name: (bool(null), unset, not unkept, since or '1.0')
            for name, null, unset, unkept, since in (
                FIELD.fullmatch(text).groups() for text in form.split())}


def an_object(named, **data):
    """Read an object with these fields from the wire."""
    name, version = named.split()
    return base.NovaObject.obj_from_primitive({
        'nova_object.name': name, 'nova_object.namespace': 'nova',
        'nova_object.version': version, 'nova_object.data': data})


@pytest.mark.parametrize('named', FORMS)
class TestObject:
    def test_fields_and_versions(self, named):
        assert {name: field.since
                for name, field in an_object(named).fields.items()} == {
            name: since
            for name, (*_, since) in parsed(FORMS[named]).items()}

    def test_null_is_kept_or_counts_as_unset(self, named):
        for name, (null, *_) in parsed(FORMS[named]).items():
            found = an_object(named, **{name: None})
            assert found.obj_attr_is_set(name) == (
                null or an_object(named).obj_attr_is_set(name)), name

    def test_value_of_unset_field(self, named):
        for name, (_, unset, sets, _) in parsed(FORMS[named]).items():
            found = an_object(named)
            value = getattr(found, name)
            said = str(value)
            if value is not None and not isinstance(value, int | float):
                said = type(value).__name__
                assert not (value.objects if 'List' in said else
                            value if said in ('list', 'dict', 'set') else ())
            assert (name, said) == (name, str(unset))
            assert found.obj_attr_is_set(name) == (
                sets and said == type(value).__name__)


def test_image_properties_are_not_null_and_in_all_versions():
    for field in objects.ImageMetaProps.fields.values():
        assert not field.nullable
        assert (field.unset, field.since) == (None, '1.0')
