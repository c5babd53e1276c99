"""The base of all objects that cross RPC, over oslo.versionedobjects.

On the wire an object is an envelope: a dict with the keys
``nova_object.name``, ``.namespace``, ``.version``, ``.data`` and sometimes
``.changes``.  Rules of reading one:

1. The namespace is ``nova`` and the major version a known one; any minor is
   accepted, also one newer than ours.
2. Fields we do not know are kept aside untouched, and written back.
3. A field that is missing stays unset.  ``obj_attr_is_set`` and ``in`` tell;
   reading it gives the field's default (mostly None) and never raises.
4. The object remembers the version it came in as ``wire_version``.

The library's generic way costs milliseconds per request, so reading,
writing and the fields' properties are done here by tables made once per
class.  ``nova_object.changes`` is neither read nor written: it is optional
and says nothing that matters to a scheduler.
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


#: Values that nothing can change, and a copy shares.
_ATOMS = frozenset((str, int, float, bool, type(None), bytes,
                    datetime.datetime))

#: What makes an object answer as a dict of its set fields, too.
DictCompat = ovo_base.VersionedObjectDictCompat


@functools.lru_cache(maxsize=512)
def version_tuple(text):
    """Return '1.15' as (1, 15); a third part is dropped.

    Raises ValueError when the text is no version.
    """
    parts = text.split('.')
    if not 2 <= len(parts) <= 3 or not all(
            p.isascii() and p.isdigit() and len(p) <= 6 for p in parts):
        raise ValueError(f'{text!r} is no version')
    return int(parts[0]), int(parts[1])


class Registry(ovo_base.VersionedObjectRegistry):
    """Our classes by name, apart from those of other libraries.

    oslo.versionedobjects keeps one table per process; a class of os-vif or
    Nova of the same name must not take the place of ours.
    """

    _ours = collections.defaultdict(list)

    def __new__(cls):
        self = object.__new__(cls)
        self._obj_classes = cls._ours
        return self

    def _register_class(self, cls):
        super()._register_class(cls)
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
            # What is read of an object without the field, see _getter.
            setattr(cls, f'_obj_{name}',
                    _Unread(name) if field.lazy else field.unset)


class _Unread:
    """In place of a field that is read when it is asked for, where plug-ins
    look below its name.
    """

    def __init__(self, name):
        self._name = name

    def __get__(self, made, owner=None):
        return self if made is None else getattr(made, self._name)


def _property(name, field):
    attr = f'_obj_{name}'

    def deleter(self):
        if attr not in self.__dict__:
            raise AttributeError(f'{name} is unset')
        del self.__dict__[attr]

    return property(_getter(name, attr, field), _setter(name, attr, field),
                    deleter)


def _getter(name, attr, field):
    unset, keep, lazy = field.unset, field.keep, field.lazy
    if not (callable(unset) or lazy):
        # The class has the value of an unset field as this attribute.
        return operator.attrgetter(attr)

    def getter(self):
        if lazy and attr not in self.__dict__:
            self.obj_load_attr(name)
        try:
            return self.__dict__[attr]
        except KeyError:
            value = unset() if callable(unset) else unset
        if keep and callable(unset):
            self.__dict__[attr] = value
        return value

    return getter


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

    ``Cls(field=value, ...)`` raises MalformedError (a ValueError) for a value
    the field cannot hold and TypeError for a name that is no field.
    """

    OBJ_SERIAL_NAMESPACE = 'nova_object'
    OBJ_PROJECT_NAMESPACE = 'nova'
    #: Major versions that are understood; None: that of VERSION.
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

    @property
    def wire_version(self):
        """The version (text) the object came in, or that of our class."""
        return self.__dict__.get('_wire_version', type(self).VERSION)

    @wire_version.setter
    def wire_version(self, version):
        self.__dict__['_wire_version'] = version

    def settle(self):
        """Bring related fields into one form; called once filled.

        ``wire_version`` tells whose rules the values follow.
        """

    @classmethod
    def obj_class_from_name(cls, objname, objver):
        """Return the class of that name.

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
        """Return (major, minor) of a version text that we can read.

        Raises MalformedError, or IncompatibleObjectVersion for an unknown
        major.
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
        """Return the object in an envelope, of whatever class it names.

        Raises MalformedError, UnsupportedObjectError and
        IncompatibleObjectVersion.
        """
        if not isinstance(primitive, dict) or not isinstance(
                primitive.get(_NAME), str):
            raise MalformedError(primitive, 'must be an object')
        found = cls.obj_class_from_name(
            primitive[_NAME], primitive.get(_VERSION))
        obj = found.from_envelope(primitive)
        obj._context = context
        return obj

    @classmethod
    def from_envelope(cls, envelope):
        """Return an object of this class from its envelope.

        Raises MalformedError when it is another class's or a field's value is
        wrong, IncompatibleObjectVersion when its major is unknown.
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

        Raises MalformedError, IncompatibleObjectVersion (from objects in it).
        """
        obj = cls.__new__(cls)
        state = obj.__dict__
        state['_context'] = None
        state['_changed_fields'] = set()
        state['_wire_version'] = version
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
        """Return the envelope, in an older minor version if asked.

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
        """Change data, in wire form, to what an older version means by it.

        version: (major, minor) asked for; newer fields are gone already.
        """

    @classmethod
    def known(cls, values):
        """Return an object with these fields, which are not looked at.

        values: dict of those that are set.
        """
        made = cls.__new__(cls)
        made.__dict__.update(
            {f'_obj_{name}': value for name, value in values.items()},
            _context=None, _changed_fields=set())
        return made

    def obj_attr_is_set(self, attrname):
        """Return whether a field is set.  AttributeError if it is no field."""
        if attrname in self.obj_extra_fields:
            return True
        if attrname not in self.fields:
            raise AttributeError(
                f'{self.obj_name()} has no field {attrname!r}')
        return f'_obj_{attrname}' in self.__dict__

    def flat(self):
        """Return the set fields as a plain dict, objects within flat as well.
        """
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
    """Return a copy that shares nothing that can be changed.

    It is what copy.deepcopy returns of the few kinds of values that objects
    hold, in a fraction of the time (``python -m benchmarks.objects``).
    value: a NovaObject, or what one may hold.  What an object has as SHARED
    is shared.
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
        # What a set holds cannot be changed.
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
        """Return a list of these objects, which are not looked at."""
        made = cls()
        made.__dict__['_obj_objects'] = list(objects)
        return made

    def flat(self):
        """Return the objects as a list of plain dicts."""
        return _flat(self.objects)
