"""The base of all objects that cross RPC, over oslo.versionedobjects.

On the wire an object is an envelope: a dict with the keys
``nova_object.name``, ``.namespace``, ``.version``, ``.data`` and sometimes
``.changes``.  Rules for reading an envelope:

1. The namespace is ``nova`` and the major version is known; any minor version
   is accepted, also newer ones.
2. Unknown fields are kept unchanged, and written back.
3. A missing field stays unset, as ``obj_attr_is_set`` and ``in`` show;
   reading it returns the field's default (mostly None) and never raises.
4. ``wire_version`` is the version in the envelope.

The library's generic code takes milliseconds per request. So this module reads
and writes objects with tables that are made once per class.
``nova_object.changes`` is neither read nor written: it is optional, and a
scheduler does not need it.
"""

import collections
import copy
import datetime
import functools
import operator

from oslo_versionedobjects import base as ovo_base
from oslo_versionedobjects import exception as ovo_exception

from nova_sched.objects.fields import MalformedError

_NAME = 'nova_object.name'
_NAMESPACE = 'nova_object.namespace'
_VERSION = 'nova_object.version'
_DATA = 'nova_object.data'


#: Types of immutable values, which copies share.
_ATOMS = frozenset((str, int, float, bool, type(None), bytes,
                    datetime.datetime))

#: Makes an object also a dict of its set fields.
DictCompat = ovo_base.VersionedObjectDictCompat


@functools.lru_cache(maxsize=512)
def version_tuple(text):
    """Return a version text such as '1.15' as (1, 15), without a third part.

    Raises ValueError for any other text.
    """
    parts = text.split('.')
    if not 2 <= len(parts) <= 3 or not all(
            p.isascii() and p.isdigit() and len(p) <= 6 for p in parts):
        raise ValueError(f'{text!r} is no version')
    return int(parts[0]), int(parts[1])


class Registry(ovo_base.VersionedObjectRegistry):
    """The classes of this package by name.

    oslo.versionedobjects has one table per process, in which os-vif or Nova
    may register classes of the same names. So this table is separate.
    """

    _ours = collections.defaultdict(list)

    def __new__(cls):
        self = object.__new__(cls)
        self._obj_classes = cls._ours
        return self

    def _register_class(self, cls):
        super()._register_class(cls)
        # The version in the envelope, of an object that was in one.
        cls.wire_version = cls.VERSION
        cls._readers = {
            name: (f'_obj_{name}', field.kind.read, field.nullable,
                   field.kind.plain)
            for name, field in cls.fields.items()}
        cls._writers = [
            (name, f'_obj_{name}', field.kind.write,
             version_tuple(field.since))
            for name, field in cls.fields.items()]
        for name, field in cls.fields.items():
            setattr(cls, name, _property(name, field))
            is_computed = field.lazy or callable(field.unset)
            setattr(cls, f'_obj_{name}', _UnsetField(name, field)
                    if is_computed else field.unset)


class _UnsetField:
    """Private attribute of a class that computes the value of an unset field.

    A set field has an attribute of the object, which hides this one.
    """

    def __init__(self, name, field):
        self._name, self._attr, self._field = name, f'_obj_{name}', field

    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        field, state = self._field, obj.__dict__
        if field.lazy:
            obj.obj_load_attr(self._name)
        if self._attr in state or not callable(field.unset):
            return state.get(self._attr, field.unset)
        value = field.unset()
        if field.keep:
            state[self._attr] = value
        return value


def _property(name, field):
    attr = f'_obj_{name}'

    def deleter(self):
        if attr not in self.__dict__:
            raise AttributeError(f'{name} is unset')
        del self.__dict__[attr]

    return property(operator.attrgetter(attr), _setter(name, attr, field),
                    deleter)


def _setter(name, attr, field):
    read, plain, nullable = field.kind.read, field.kind.plain, field.nullable

    def setter(self, value):
        if value is None:
            if not nullable:
                raise MalformedError(None, 'must not be null', name)
        elif value.__class__ is not plain:
            try:
                value = read(value)
            except MalformedError as error:
                error.under(name)
                raise
        self.__dict__[attr] = value
        self._changed_fields.add(name)

    return setter


class NovaObject(ovo_base.VersionedObject):
    """An object of the ``nova`` namespace, tolerant of other releases.

    ``Cls(field=value, ...)`` raises MalformedError (a ValueError) for an
    invalid value and TypeError for an unknown field.
    """

    OBJ_SERIAL_NAMESPACE = 'nova_object'
    OBJ_PROJECT_NAMESPACE = 'nova'
    #: Supported major versions; None for that of VERSION.
    MAJORS = None
    #: Attributes that copies share instead of copying.
    SHARED = frozenset(('_context', '_unknown'))
    #: Fields that repr() leaves out.
    HIDDEN = frozenset()

    def __init__(self, context=None, **values):
        self._context = context
        self._changed_fields = set()
        for name, value in values.items():
            if name not in self.fields:
                raise TypeError(f'{self.obj_name()} has no field {name!r}')
            setattr(self, name, value)
        self.settle()

    def settle(self):
        """Normalize related fields, after all fields are set.

        ``wire_version`` determines the meaning of the values.
        """

    @classmethod
    def obj_class_from_name(cls, objname, objver):
        """Return the class of a name.

        Raises UnsupportedObjectError for an unknown name and
        IncompatibleObjectVersion for an unknown major version.
        """
        classes = Registry.obj_classes().get(objname)
        if not classes:
            raise ovo_exception.UnsupportedObjectError(objtype=objname)
        classes[0].check_version(objver)
        return classes[0]

    @classmethod
    def check_version(cls, version):
        """Return (major, minor) of a supported version text.

        Raises MalformedError, or IncompatibleObjectVersion for an unknown
        major version.
        """
        try:
            major, minor = version_tuple(version)
        except (TypeError, ValueError, AttributeError):
            raise MalformedError(version, 'must be a version such as 1.0',
                                 _VERSION) from None
        if major not in (cls.MAJORS or version_tuple(cls.VERSION)[:1]):
            raise ovo_exception.IncompatibleObjectVersion(
                objname=cls.obj_name(), objver=version,
                supported=cls.VERSION)
        return major, minor

    @classmethod
    def obj_from_primitive(cls, primitive, context=None):
        """Return the object in an envelope of any class.

        Raises MalformedError, UnsupportedObjectError and
        IncompatibleObjectVersion.
        """
        if not isinstance(primitive, dict) or not isinstance(
                primitive.get(_NAME), str):
            raise MalformedError(primitive, 'must be an object')
        obj = cls.obj_class_from_name(
            primitive[_NAME], primitive.get(_VERSION)).from_envelope(primitive)
        obj._context = context
        return obj

    @classmethod
    def from_envelope(cls, envelope):
        """Return an object of this class from its envelope.

        Raises MalformedError for another class or an invalid value, and
        IncompatibleObjectVersion for an unknown major version.
        """
        name = envelope.get(_NAME)
        if name != cls.__name__:
            raise MalformedError(envelope, f'must be a {cls.__name__} object')
        if envelope.get(_NAMESPACE) != 'nova':
            raise MalformedError(envelope.get(_NAMESPACE), "must be 'nova'",
                                 _NAMESPACE)
        version = envelope.get(_VERSION)
        number = cls.check_version(version)
        data = envelope.get(_DATA)
        if not isinstance(data, dict):
            raise MalformedError(data, 'must be a dict', _DATA)
        obj = cls.from_data(data, version)
        if number > version_tuple(cls.VERSION):
            obj.VERSION = version
        return obj

    @classmethod
    def from_data(cls, data, version):
        """Return an object from a dict of its fields in wire form.

        Raises MalformedError, and IncompatibleObjectVersion for nested
        objects.
        """
        obj = cls.__new__(cls)
        state = obj.__dict__
        state['_context'] = None
        state['_changed_fields'] = set()
        state['wire_version'] = version
        readers = cls._readers
        unknown = {}
        name = None
        try:
            for name, value in data.items():
                if name not in readers:
                    unknown[name] = value
                    continue
                attr, read, nullable, plain = readers[name]
                if value is not None:
                    state[attr] = (value if value.__class__ is plain
                                   else read(value))
                elif nullable:
                    state[attr] = None
        except MalformedError as error:
            error.under(name)
            raise
        if unknown:
            state['_unknown'] = unknown
        obj.settle()
        return obj

    def obj_to_primitive(self, target_version=None, version_manifest=None):
        """Return the envelope, in an older minor version if given.

        Raises InvalidTargetVersion for a version newer than the object's.
        """
        version = target_version or self.VERSION
        limit = version_tuple(version)
        if limit > version_tuple(self.VERSION):
            raise ovo_exception.InvalidTargetVersion(version=version)
        state, data = self.__dict__, {}
        for name, attr, write, since in self._writers:
            if attr in state and since <= limit:
                value = state[attr]
                data[name] = (value if value is None or write is None
                              else write(value))
        if '_unknown' in state and target_version is None:
            data.update(state['_unknown'])
        if target_version is not None:
            self.rewrite(data, limit)
        return {_NAME: type(self).__name__, _NAMESPACE: 'nova',
                _VERSION: version, _DATA: data}

    def rewrite(self, data, version):
        """Convert data in wire form to its meaning in an older version.

        version: (major, minor); newer fields are removed already.
        """

    @classmethod
    def known(cls, values):
        """Return an object with these fields, which are not checked.

        values: dict of the set fields.
        """
        obj = cls.__new__(cls)
        obj.__dict__.update(
            {f'_obj_{name}': value for name, value in values.items()},
            _context=None, _changed_fields=set())
        return obj

    def obj_attr_is_set(self, attrname):
        """Return whether a field is set.

        Raises AttributeError for an unknown field.
        """
        if attrname in self.obj_extra_fields:
            return True
        if attrname not in self.fields:
            raise AttributeError(
                f'{self.obj_name()} has no field {attrname!r}')
        return f'_obj_{attrname}' in self.__dict__

    def flat(self):
        """Return the set fields as a plain dict, with nested plain dicts."""
        return {name: _flat(getattr(self, name)) for name in self.fields
                if self.obj_attr_is_set(name)}

    def __deepcopy__(self, memo):
        twin = self.__class__.__new__(self.__class__)
        memo[id(self)] = twin
        for key, value in self.__dict__.items():
            twin.__dict__[key] = (value if key in self.SHARED
                                  else copy.deepcopy(value, memo))
        return twin

    def __repr__(self):
        shown = ', '.join(
            f'{name}=***' if name in self.HIDDEN
            else f'{name}={getattr(self, name)!r}'
            for name in self.fields if self.obj_attr_is_set(name))
        return f'{self.obj_name()}({shown})'


def _flat(value):
    if isinstance(value, NovaObject):
        return value.flat()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, list):
        return [_flat(item) for item in value]
    if isinstance(value, dict):
        return {key: _flat(item) for key, item in value.items()}
    return value


def clone(value):
    """Return a deep copy of an object or of a field's value.

    It is the same as copy.deepcopy, but much faster for the few types of
    values in objects (``python -m benchmarks.objects``). Attributes in SHARED
    are shared.
    """
    kind = value.__class__
    if kind in _ATOMS:
        return value
    if kind is dict:
        return {key: item if item.__class__ in _ATOMS else clone(item)
                for key, item in value.items()}
    if kind in (list, set, tuple, frozenset):
        return kind([item if item.__class__ in _ATOMS else clone(item)
                     for item in value])
    if not isinstance(value, NovaObject):
        return copy.deepcopy(value)
    twin = kind.__new__(kind)
    twin.__dict__.update({
        name: item if item.__class__ in _ATOMS or name in kind.SHARED
        # Items of a set are immutable.
        else item.copy() if item.__class__ is set else clone(item)
        for name, item in value.__dict__.items()})
    return twin


class NovaObjectList(ovo_base.ObjectListBase, NovaObject):
    """An object that is a list of objects of one class."""

    def __init__(self, *args, **values):
        values.setdefault('objects', [])
        super().__init__(*args, **values)

    @classmethod
    def holding(cls, objects):
        """Return a list of these objects, which are not checked."""
        obj = cls()
        obj.__dict__['_obj_objects'] = list(objects)
        return obj

    def flat(self):
        """Return the objects as a list of plain dicts."""
        return _flat(self.objects)
