"""The request as Kilo's filters knew it: a dict called filter_properties.

Filters written for Kilo read ``filter_properties['scheduler_hints']`` and
the like.  Plug-ins get a ``KiloRequestSpec``, a RequestSpec that supports such
reads as well: ``with_mapping`` returns it for a request.

Values have Kilo's form: the flavor and instance properties are plain dicts,
hints are not wrapped in lists, groups are sets.  Keys of features that the
request does not use are absent, as in Kilo.

Plug-ins may write to the mapping, as in Kilo: later plug-ins and built-in
rules read the changes (``written``).  The request's own fields do not change.
"""

import copy
import typing
import weakref

from nova_sched.objects import request_spec

#: Image properties that Kilo's filters read: old name -> today's name.
OLD_PROPERTIES = {
    'architecture': 'hw_architecture',
    'hypervisor_type': 'img_hv_type',
    'vm_mode': 'hw_vm_mode',
    'hypervisor_version_requires': 'img_hv_requested_version',
}
_PLAIN_LISTS = ('ignore_hosts', 'force_hosts', 'force_nodes')
_SETS = frozenset(('group_hosts', 'group_policies', 'group_members'))
_NO_OPTIONS = {}
#: Fields of a request -> keys of instance_properties in Nova's dict.
_OF_INSTANCE = {
    'numa_topology': 'numa_topology', 'pci_requests': 'pci_requests',
    'project_id': 'project_id', 'user_id': 'user_id',
    'availability_zone': 'availability_zone', 'instance_uuid': 'uuid'}
_SIZES = ('root_gb', 'ephemeral_gb', 'memory_mb', 'vcpus')


class SentSpec(dict):
    """The mapping's ``request_spec``: a dict with a reference to its source.

    source: weak reference to the RequestSpec.  Copies have it, too.
    """

    def __init__(self, source, content):
        super().__init__(content)
        self.source = weakref.ref(source)


class _Made(typing.NamedTuple):
    """The mapping of a request.

    basis: values that the service changes during a request, as they were when
        the mapping was made.
    pristine: the mapping as it was made.  mapping: the copy for plug-ins,
        which may write to it.
    """

    basis: tuple
    pristine: dict
    mapping: dict


class KiloMapping:
    """The mapping interface of a request.

    ``'k' in spec_obj`` is true for a set field of the RequestSpec as well as
    for a key of the mapping.  All else about the mapping is as for a dict;
    ``copy`` gives a request with a mapping of its own.  The mapping is made
    at the first use, and again, with the changes of plug-ins, for the next
    instance of the request.
    """

    def __new__(cls, *args, **values):
        made = super().__new__(cls)
        made._made = made._options = None
        return made

    @property
    def config_options(self):
        """Content of the operator's JSON options file, {} without one.

        The request's own copy, made at the first use.
        """
        given = self.__dict__.get('config_options') or _NO_OPTIONS
        if self._options is None or self._options[0] is not given:
            self._options = given, copy.deepcopy(given)
        return self._options[1]

    @config_options.setter
    def config_options(self, options):
        self.__dict__['config_options'] = options

    def made(self):
        """Return the mapping without changes of plug-ins: dict."""
        self._mapping()
        return self._made.pristine

    def written(self):
        """Return the mapping if it was written to, else None."""
        if self._made is None:
            return None
        mapping = self._mapping()
        return None if mapping == self._made.pristine else mapping

    def _mapping(self):
        made, basis = self._made, _basis(self)
        if made is None or made.basis != basis:
            self._made = _Made(basis, _filter_properties(self),
                               _filter_properties(self))
            if made is not None and made.mapping != made.pristine:
                _carry(made.pristine, made.mapping, self._made.mapping)
        return self._made.mapping

    def copy(self):
        """Return a request whose mapping is a shallow copy of this one's."""
        twin = type(self).__new__(type(self))
        mapping = dict(self._mapping())
        twin.__dict__.update(self.__dict__)
        twin.__dict__['_changed_fields'] = set(self._changed_fields)
        twin._made = self._made._replace(mapping=mapping)
        twin._options = self._options
        return twin

    __copy__ = copy

    def __deepcopy__(self, memo):
        # The mapping has it, too; it is the caller's.
        memo[id(self._context)] = self._context
        twin = super().__deepcopy__(memo)
        if self._options is not None:
            given, own = self._options
            twin._options = given, copy.deepcopy(own, memo)
        if self.written() is not None:
            twin._made = _Made(
                _basis(twin), copy.deepcopy(self._made.pristine, memo),
                copy.deepcopy(self._made.mapping, memo))
        return twin

    def __getitem__(self, key):
        return self._mapping()[key]

    def __setitem__(self, key, value):
        self._mapping()[key] = value

    def __delitem__(self, key):
        del self._mapping()[key]

    def __iter__(self):
        return iter(self._mapping())

    def __len__(self):
        return len(self._mapping())

    def __bool__(self):
        return True

    def __contains__(self, key):
        if key in self.fields and self.obj_attr_is_set(key):
            return True
        return key in self._mapping()

    def get(self, key, default=None):
        """Return the value of a key of the mapping, or the default."""
        return self._mapping().get(key, default)

    def keys(self):
        """Return the mapping's keys."""
        return self._mapping().keys()

    def values(self):
        """Return the mapping's values."""
        return self._mapping().values()

    def items(self):
        """Return the mapping's (key, value) pairs."""
        return self._mapping().items()

    def update(self, *args, **values):
        """Write to the mapping, as ``dict.update`` does."""
        self._mapping().update(*args, **values)

    def setdefault(self, key, default=None):
        """Return the value of a key, which is written if it is absent."""
        return self._mapping().setdefault(key, default)

    def pop(self, key, *default):
        """Remove a key of the mapping and return its value."""
        return self._mapping().pop(key, *default)


class KiloRequestSpec(KiloMapping, request_spec.RequestSpec):
    """The RequestSpec that plug-ins get.

    It is also the mapping that Kilo passed to filters, and has Nova's methods
    that return a request as two dicts.  On the wire it is a RequestSpec.
    """

    #: A view shares ``__dict__`` with its request; these are its own.
    __slots__ = ('_made', '_options')
    SHARED = request_spec.RequestSpec.SHARED | {'config_options'}

    def to_legacy_request_spec_dict(self):
        """Return the dict that Nova called request_spec.

        Its ``instance_type`` is the Flavor, ``image`` a dict, empty without
        an image.
        """
        properties = {theirs: getattr(self, ours)
                      for ours, theirs in _OF_INSTANCE.items()
                      if self.obj_attr_is_set(ours)}
        properties |= {name: getattr(self, name) for name in _SIZES}
        return {'num_instances': self.num_instances,
                'image': {} if self.image is None else self.image.flat(),
                'instance_type': self.flavor,
                'instance_properties': properties}

    def to_legacy_filter_properties_dict(self):
        """Return the dict that Nova called filter_properties.

        Features that the request does not use have no key; a hint with one
        value is that value, not a list.
        """
        made = {key: value for key, value in _features(self).items()
                if key not in ('instance_group', 'pci_requests')
                and (value or key.startswith('group_'))}
        if self.instance_group is not None:
            made['group_uuid'] = self.instance_group.uuid
        return made


# The class name appears on the wire and in messages.
KiloRequestSpec.__name__ = request_spec.RequestSpec.__name__

#: Request -> its KiloRequestSpec, for the lifetime of the request.
_views = weakref.WeakKeyDictionary()


def with_mapping(spec_obj):
    """Return the KiloRequestSpec of a request.

    It shares the request's attributes, and is the same object at each call.
     An argument that is no RequestSpec, or has a mapping already, is
    returned unchanged.
    """
    if (not isinstance(spec_obj, request_spec.RequestSpec)
            or isinstance(spec_obj, KiloRequestSpec)):
        return spec_obj
    view = _views.get(spec_obj)
    if view is None:
        view = KiloRequestSpec.__new__(KiloRequestSpec)
        view.__dict__ = spec_obj.__dict__
        view = _views.setdefault(spec_obj, view)
    return view


def without_mapping(spec_obj):
    """Return the plain RequestSpec of a KiloRequestSpec.

    Both share their attributes; the mapping is left out.
    """
    if not isinstance(spec_obj, KiloRequestSpec):
        return spec_obj
    plain = request_spec.RequestSpec.__new__(request_spec.RequestSpec)
    plain.__dict__ = spec_obj.__dict__
    return plain


class _Sent:
    """The dicts that the caller sent; copies of the request share them."""

    def __init__(self, *dicts):
        self.dicts = dicts

    def __deepcopy__(self, memo):
        return self


def remember_dicts(spec_obj, request_spec, filter_properties):
    """Record the dicts that the caller sent, for the mapping of plug-ins."""
    spec_obj.__dict__['_sent_dicts'] = _Sent(request_spec, filter_properties)


def _basis(spec_obj):
    """Return the values that the service changes during a request: tuple."""
    group = spec_obj.instance_group
    return (spec_obj.instance_uuid, spec_obj._context,
            spec_obj.__dict__.get('config_options'), spec_obj.numa_topology,
            group, group and (len(group.hosts or ()),
                              len(group.members or ())))


def _carry(made, written, new):
    """Apply the changes of a previous mapping to a new one.

    made: the previous mapping without changes.
    """
    for key in made.keys() - written.keys():
        new.pop(key, None)
    for key, value in written.items():
        before, now = made.get(key), new.get(key)
        if key in made and value == before:
            continue
        if all(isinstance(part, dict) for part in (value, before, now)):
            _carry(before, value, now)
        else:
            new[key] = value


def _filter_properties(spec_obj):
    """Return a new mapping of a request: dict."""
    request_spec = _request_spec(spec_obj)
    properties = _features(spec_obj)
    sent = spec_obj.__dict__.get('_sent_dicts')
    sent_spec, sent_properties = copy.deepcopy(
        sent.dicts if sent else ({}, {}))
    for part in ('image', 'instance_properties'):
        sent = sent_spec.get(part)
        if isinstance(sent, dict):
            request_spec[part] = _overlaid(request_spec[part], sent)
    # Each instance of a request has its own uuid.
    if spec_obj.instance_uuid is not None:
        request_spec['instance_properties']['uuid'] = spec_obj.instance_uuid
    request_spec = _overlaid(request_spec, {
        key: value for key, value in sent_spec.items()
        if key not in ('image', 'instance_properties', 'instance_type')})
    properties = _overlaid(properties, sent_properties)
    if properties.get('scheduler_hints') is None:
        properties.pop('scheduler_hints', None)
    instance = request_spec['instance_properties']
    return {
        **properties,
        'context': spec_obj._context,
        'request_spec': SentSpec(spec_obj, request_spec),
        'config_options': spec_obj.config_options,
        'instance_type': request_spec['instance_type'],
        'project_id': instance['project_id'],
        'os_type': instance['os_type'],
    }


def _overlaid(made, sent):
    """Return a mapping with the caller's plain values in place of made ones.
    """
    plain = {key: value for key, value in sent.items()
             if not (key in made and (key in _SETS or _is_envelope(value)))}
    properties = plain.get('properties')
    if isinstance(properties, dict) and 'properties' in made:
        if _is_envelope(properties):
            del plain['properties']
        else:
            plain['properties'] = {**made['properties'], **properties}
    return {**made, **plain}


def _is_envelope(value):
    return isinstance(value, dict) and 'nova_object.name' in value


def _request_spec(spec_obj):
    image = {} if spec_obj.image is None else spec_obj.image.flat()
    if spec_obj.image is not None:
        today = spec_obj.image.properties.flat()
        old = {name: today[now] for name, now in OLD_PROPERTIES.items()
               if now in today}
        image['properties'] = {**today, **old}
    return {
        'image': image,
        'instance_properties': _instance_properties(spec_obj, image),
        'instance_type': {'extra_specs': {}, **spec_obj.flavor.flat()},
        'num_instances': spec_obj.num_instances,
    }


def _instance_properties(spec_obj, image):
    numa, pci = spec_obj.numa_topology, spec_obj.pci_requests
    return {
        **{key: getattr(spec_obj, name)
           for name, key in _OF_INSTANCE.items()},
        'image_ref': image.get('id'),
        'os_type': image.get('properties', {}).get('os_type'),
        **{name: getattr(spec_obj, name) for name in _SIZES},
        'numa_topology': None if numa is None else numa.flat(),
        'pci_requests': None if pci is None else pci.flat(),
    }


def _features(spec_obj):
    """Return the keys that are only there when the request uses them."""
    made = {name: _own(getattr(spec_obj, name)) for name in _PLAIN_LISTS}
    made['pci_requests'] = spec_obj.pci_requests
    made['requested_destination'] = spec_obj.requested_destination
    if spec_obj.retry is not None:
        made['retry'] = spec_obj.retry.to_dict()
    if spec_obj.limits is not None:
        made['limits'] = spec_obj.limits.to_dict()
    if spec_obj.scheduler_hints is not None:
        made['scheduler_hints'] = {
            name: _own(spec_obj.get_scheduler_hint(name))
            for name in spec_obj.scheduler_hints}
    group = spec_obj.instance_group
    if group is not None:
        made |= {
            'instance_group': group,
            'group_updated': True,
            'group_hosts': set(group.hosts or ()),
            'group_policies': set(group.policies),
            'group_members': set(group.members or ()),
        }
    return {key: value for key, value in made.items() if value is not None}


def _own(value):
    return list(value) if isinstance(value, list) else value
