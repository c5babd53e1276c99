"""Compares reading, writing and copying of a request with the library's.

``python -m benchmarks.objects [--times 300]``.  The library's objects are
plain classes of oslo.versionedobjects with its own fields, created from our
declarations: same names, versions and fields.  Both read the RequestSpec of
``request.json`` in turns; figures are medians in microseconds.
"""

import argparse
import collections
import copy
import inspect
import json
import pathlib
import statistics
import time

from oslo_versionedobjects import base as ovo_base
from oslo_versionedobjects import fields as ovo_fields

from benchmarks import tables
from nova_sched import objects
from nova_sched.objects import base
from nova_sched.objects import fields

REQUEST = pathlib.Path(__file__).with_name('request.json')

#: Our functions that read a scalar -> the library's type of field.
_SCALARS = {
    fields.INTEGER.read: ovo_fields.Integer,
    fields.FLOAT.read: ovo_fields.Float,
    fields.BOOLEAN.read: ovo_fields.Boolean,
    fields.DATETIME.read: ovo_fields.DateTime}


class LibraryRegistry(ovo_base.VersionedObjectRegistry):
    """The library's classes, apart from ours."""

    _classes = collections.defaultdict(list)

    def __new__(cls):
        self = object.__new__(cls)
        self._obj_classes = cls._classes
        return self


class LibraryObject(ovo_base.VersionedObject):
    """Base of the library's classes: only names differ from its own."""

    OBJ_SERIAL_NAMESPACE = 'nova_object'
    OBJ_PROJECT_NAMESPACE = 'nova'

    @classmethod
    def obj_class_from_name(cls, objname, objver):
        return LibraryRegistry.obj_classes()[objname][0]


def library_class(ours):
    """Return the library's class with the fields of one of ours."""
    name = ours.__name__
    if name not in LibraryRegistry.obj_classes():
        bases = ((ovo_base.ObjectListBase, LibraryObject)
                 if issubclass(ours, base.NovaObjectList)
                 else (LibraryObject,))
        LibraryRegistry.register(type(name, bases, {
            'VERSION': ours.VERSION,
            'fields': {field: ovo_fields.Field(
                library_type(declared.kind.read), nullable=declared.nullable)
                for field, declared in ours.fields.items()}}))
    return LibraryRegistry.obj_classes()[name][0]


def library_type(read):
    """Return the library's type of field for one of our read functions."""
    if read in _SCALARS:
        return _SCALARS[read]()
    inner = inspect.getclosurevars(read).nonlocals
    maker = read.__qualname__.partition('.')[0]
    if maker == 'between':
        return ovo_fields.Integer()
    if maker == 'one_of':
        return ovo_fields.Enum(sorted(inner['values']))
    if maker == 'list_of':
        return ovo_fields.List(library_type(inner['read_item']))
    if maker == 'set_of':
        items = inspect.getclosurevars(inner['read_list']).nonlocals
        return ovo_fields.Set(library_type(items['read_item']))
    if maker == 'dict_of':
        return ovo_fields.Dict(library_type(inner['read_item']),
                               nullable=inner['null'])
    if maker == 'nested':
        return ovo_fields.Object(library_class(inner['cls']).__name__)
    if maker == '_hint_values':
        return ovo_fields.List(ovo_fields.String())
    return ovo_fields.String()


def plain(value):
    """Return the set fields of an object as a dict, nested objects too."""
    if isinstance(value, ovo_base.VersionedObject):
        return {name: plain(getattr(value, name)) for name in value.fields
                if value.obj_attr_is_set(name)}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def main():
    """Check that both read the same values, measure, and print."""
    parser = argparse.ArgumentParser('python -m benchmarks.objects')
    parser.add_argument('--times', type=int, default=300)
    times = parser.parse_args().times
    library = library_class(objects.RequestSpec)
    wire = json.loads(REQUEST.read_text())
    ours, theirs = (cls.obj_from_primitive(copy.deepcopy(wire))
                    for cls in (objects.RequestSpec, library))
    if plain(ours) != plain(theirs):
        raise SystemExit('the two read the request differently')
    tables.head('RequestSpec', 'ours us', "library's us", 'library / ours')
    for what, mine, other in (
            ('obj_from_primitive',
             lambda: objects.RequestSpec.obj_from_primitive(wire),
             lambda: library.obj_from_primitive(wire)),
            ('obj_to_primitive', ours.obj_to_primitive,
             theirs.obj_to_primitive),
            ('copy.deepcopy', lambda: copy.deepcopy(ours),
             lambda: copy.deepcopy(theirs)),
            ('obj_clone', ours.obj_clone, theirs.obj_clone),
            ('base.clone, obj_clone', lambda: base.clone(ours),
             theirs.obj_clone)):
        first, second = _medians(times, mine, other)
        tables.row(what, f'{first:.0f}', f'{second:.0f}',
                   f'{second / first:.1f}')


def _medians(times, *functions):
    """Return the median microseconds of each function, called in turns."""
    times_of = [[] for _ in functions]
    for _ in range(times):
        for function, found in zip(functions, times_of, strict=True):
            start = time.perf_counter()
            function()
            found.append((time.perf_counter() - start) * 1e6)
    return map(statistics.median, times_of)


if __name__ == '__main__':
    main()
