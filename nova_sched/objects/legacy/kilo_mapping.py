"""The request as Kilo's filters knew it: a dict called filter_properties.

Filters written for Kilo read ``filter_properties['scheduler_hints']`` and
the like.  They get the same RequestSpec as any other filter, which answers
such reads through this mixin.  The dict is made when first asked for.

Values have Kilo's form: the flavor and instance properties are plain dicts,
hints are not wrapped in lists, groups are sets.  What a feature of the
request does not use is an absent key, as it was then.

Plug-ins may write to the mapping, as they could then: whoever is asked later
about the same request reads it, and built-in rules judge by it (``written``).
The request's own fields stay as they are.
"""

import copy
import weakref

#: Properties Kilo's own rules read, by the names images used then.
OLD_PROPERTIES = {
    'architecture': 'hw_architecture',
    'hypervisor_type': 'img_hv_type',
    'vm_mode': 'hw_vm_mode',
    'hypervisor_version_requires': 'img_hv_requested_version',
}
_PLAIN_LISTS = ('ignore_hosts', 'force_hosts', 'force_nodes')
_SETS = frozenset(('group_hosts', 'group_policies', 'group_members'))


class SentSpec(dict):
    """The mapping's ``request_spec``: a dict that knows whose it is.

    source: weak reference to the RequestSpec.  Copies have it, too.
    """

    def __init__(self, source, content):
        super().__init__(content)
        self.source = weakref.ref(source)


class KiloMapping:
    """Mapping side of a RequestSpec.

    ``'k' in spec_obj`` is true for a set field of the RequestSpec as well as
    for a key of the mapping.  All else about the mapping is as for a dict;
    ``copy`` gives a RequestSpec with a mapping of its own.
    """

    SHARED = frozenset(('_kilo_source', '_config_options'))
    REMEMBERED = frozenset(('_kilo', '_kilo_made', '_own_options'))

    @property
    def legacy_context(self):
        """The caller's RequestContext, Kilo's key 'context'.

        As since Mitaka it is ``_context``, too; None before any call.
        """
        return self._context

    @legacy_context.setter
    def legacy_context(self, context):
        self._context = context
        self.forget_mapping()

    @property
    def config_options(self):
        """Content of the operator's JSON options file, {} without one.

        The request's own copy of what was set, made when first asked for.
        """
        if '_own_options' not in self.__dict__:
            self.__dict__['_own_options'] = copy.deepcopy(
                self.__dict__.get('_config_options') or {})
        return self.__dict__['_own_options']

    @config_options.setter
    def config_options(self, options):
        self.__dict__['_config_options'] = options
        self.__dict__.pop('_own_options', None)
        self.forget_mapping()

    def remember_dicts(self, request_spec, filter_properties):
        """Show plug-ins the values of the dicts the request came as."""
        self.__dict__['_kilo_source'] = request_spec, filter_properties

    def forget_mapping(self):
        """The request has changed: make the mapping anew when asked.

        What was written to it stays in it.
        """
        written = self.written()
        made = self.__dict__.pop('_kilo_made', None)
        self.__dict__.pop('_kilo', None)
        if written is not None:
            _carry(made, written, self._mapping())

    def made(self):
        """The mapping without what was written to it: dict."""
        self._mapping()
        return self.__dict__['_kilo_made']

    def written(self):
        """The mapping if it was written to, else None."""
        mapping = self.__dict__.get('_kilo')
        return (None if mapping is None
                or mapping == self.__dict__['_kilo_made'] else mapping)

    def _mapping(self):
        mapping = self.__dict__.get('_kilo')
        if mapping is None:
            self.__dict__['_kilo_made'] = _filter_properties(self)
            mapping = self.__dict__['_kilo'] = _filter_properties(self)
        return mapping

    def copy(self):
        """A RequestSpec whose mapping is a shallow copy of this one's."""
        twin = type(self).__new__(type(self))
        self.made()
        twin.__dict__.update(self.__dict__)
        twin.__dict__['_kilo'] = dict(self._mapping())
        twin.__dict__['_changed_fields'] = set(self._changed_fields)
        return twin

    __copy__ = copy

    def __deepcopy__(self, memo):
        # The mapping has it, too; it is the caller's.
        memo[id(self.legacy_context)] = self.legacy_context
        twin = super().__deepcopy__(memo)
        if self.written() is None:
            twin.forget_mapping()
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
        """The value of a key of the mapping, or the default."""
        return self._mapping().get(key, default)

    def keys(self):
        """The mapping's keys."""
        return self._mapping().keys()

    def values(self):
        """The mapping's values."""
        return self._mapping().values()

    def items(self):
        """The mapping's (key, value) pairs."""
        return self._mapping().items()

    def update(self, *args, **values):
        """Write to the mapping, as ``dict.update`` does."""
        self._mapping().update(*args, **values)

    def setdefault(self, key, default=None):
        """The value of a key, which is written if it is absent."""
        return self._mapping().setdefault(key, default)

    def pop(self, key, *default):
        """Take a key out of the mapping: its value."""
        return self._mapping().pop(key, *default)


def _carry(made, written, anew):
    """Write to a mapping made anew what was written to that of before.

    made: that of before as it was made.
    """
    for key in made.keys() - written.keys():
        anew.pop(key, None)
    for key, value in written.items():
        before, now = made.get(key), anew.get(key)
        if key in made and value == before:
            continue
        if all(isinstance(part, dict) for part in (value, before, now)):
            _carry(before, value, now)
        else:
            anew[key] = value


def _filter_properties(spec_obj):
    """The whole mapping of a request, for whoever asks to change."""
    request_spec = _request_spec(spec_obj)
    properties = _features(spec_obj)
    sent_spec, sent_properties = copy.deepcopy(
        spec_obj.__dict__.get('_kilo_source', ({}, {})))
    for part in ('image', 'instance_properties'):
        sent = sent_spec.get(part)
        if isinstance(sent, dict):
            request_spec[part] = _overlaid(request_spec[part], sent)
    # Of several instances each has its own.
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
        'context': spec_obj.legacy_context,
        'request_spec': SentSpec(spec_obj, request_spec),
        'config_options': spec_obj.config_options,
        'instance_type': request_spec['instance_type'],
        'project_id': instance['project_id'],
        'os_type': instance['os_type'],
    }


def _overlaid(made, sent):
    """What was made, with what was sent instead where that is plain."""
    kept = {key: value for key, value in sent.items()
            if not (key in made and (key in _SETS or _is_envelope(value)))}
    properties = kept.get('properties')
    if isinstance(properties, dict) and 'properties' in made:
        if _is_envelope(properties):
            del kept['properties']
        else:
            kept['properties'] = {**made['properties'], **properties}
    return {**made, **kept}


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
        'uuid': spec_obj.instance_uuid,
        'project_id': spec_obj.project_id,
        'user_id': spec_obj.user_id,
        'availability_zone': spec_obj.availability_zone,
        'image_ref': image.get('id'),
        'os_type': image.get('properties', {}).get('os_type'),
        'memory_mb': spec_obj.memory_mb,
        'vcpus': spec_obj.vcpus,
        'root_gb': spec_obj.root_gb,
        'ephemeral_gb': spec_obj.ephemeral_gb,
        'numa_topology': None if numa is None else numa.flat(),
        'pci_requests': None if pci is None else pci.flat(),
    }


def _features(spec_obj):
    """The keys that are only there when the request uses them."""
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
