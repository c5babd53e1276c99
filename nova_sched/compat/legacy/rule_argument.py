"""The RequestSpec that a plug-in passes to a built-in rule.

A plug-in may call the built-in rule that it derives from with a changed
request: a RequestSpec, or Kilo's filter_properties as the mapping, a copy of
the mapping or a dict of its own.  ``request_of`` makes a RequestSpec of each.

From a copy of the mapping only the changed fields are read; the request has
the others, because the mapping does not contain all fields.
"""

import collections.abc

from nova_sched import exception
from nova_sched.compat.legacy import kilo_mapping
from nova_sched.objects import arguments
from nova_sched.objects import flavor
from nova_sched.objects import instance_group
from nova_sched.objects import request_spec

_GROUP = ('group_updated', 'group_hosts', 'group_policies', 'group_members')

#: Keys that a plug-in may set to any collection.
_LISTS = (*_GROUP[1:], 'ignore_hosts', 'force_hosts', 'force_nodes')

#: Key of filter_properties, as Kilo's filters read it -> field.
_FIELDS = {
    **{name: name for name in (
        'ignore_hosts', 'force_hosts', 'force_nodes', 'pci_requests',
        'requested_destination', 'retry', 'limits', 'scheduler_hints',
        'instance_group')},
    **dict.fromkeys(_GROUP, 'instance_group'),
    'instance_type': 'flavor',
}
#: Key of its request_spec -> field ...
_SPEC_FIELDS = {'image': 'image', 'num_instances': 'num_instances'}
#: ... and of the instance_properties there.
_INSTANCE_FIELDS = {
    'uuid': 'instance_uuid',
    **{name: name for name in ('project_id', 'user_id', 'availability_zone',
                               'numa_topology')},
}


def request_of(given):
    """Return the RequestSpec of a rule's argument.

    given: a RequestSpec, or a mapping in the form of Kilo's
        filter_properties.
    Raises ValueError, which names the key, for invalid values: the plug-in
    has written them, not the RPC caller.
    """
    if isinstance(given, kilo_mapping.KiloMapping):
        written = given.written()
        return given if written is None else _changed(given, written)
    if isinstance(given, request_spec.RequestSpec):
        return given
    if not isinstance(given, collections.abc.Mapping):
        return given
    sent = given.get('request_spec')
    source = sent.source() if isinstance(
        sent, kilo_mapping.SentSpec) else None
    return _read(given, {}) if source is None else _changed(source, given)


def _changed(source, mapping):
    """Return a RequestSpec with the changes of a mapping applied."""
    made = source.made()
    fields = _differing_fields(made, mapping)
    if not fields:
        return source
    read = _read(mapping, made)
    twin = source.copy()
    for name in fields:
        setattr(twin, name, getattr(read, name))
    return twin


def _differing_fields(made, mapping):
    """Return the fields that two mappings have different values for: set."""
    sent = [_part(each, 'request_spec') for each in (made, mapping)]
    instances = [_part(each, 'instance_properties') for each in sent]
    return {field for (one, other), fields in (
        ((made, mapping), _FIELDS), (sent, _SPEC_FIELDS),
        (instances, _INSTANCE_FIELDS))
        for key, field in fields.items() if one.get(key) != other.get(key)}


def _part(mapping, key):
    found = mapping.get(key)
    return found if isinstance(found, dict) else {}


def _read(mapping, made):
    """Return the RequestSpec of a mapping alone.

    made: the mapping that it was copied from, or {}.
    """
    sent = _part(mapping, 'request_spec')
    instance = {**_part(sent, 'instance_properties'),
                'pci_requests': mapping.get('pci_requests')}
    image = sent.get('image')
    if isinstance(image, dict) and isinstance(image.get('properties'), dict):
        old = _part(_part(_part(made, 'request_spec'), 'image'), 'properties')
        image = {**image, 'properties': _image_properties(
            image['properties'], old)}
    try:
        return arguments.from_legacy_dicts(
            {'image': image, 'instance_properties': instance,
             'num_instances': sent.get('num_instances'),
             'instance_type': _flavor(mapping.get('instance_type'))},
            {**mapping, 'instance_group': _group(mapping, made),
             **{key: list(mapping[key]) for key in _LISTS
                if isinstance(mapping.get(key), (set, frozenset, tuple))}})
    except exception.InvalidInput as error:
        raise ValueError(
            'a filter or weigher plug-in has changed the request to an '
            f'invalid one: {error}') from None


def _flavor(given):
    """Return a flavor, an object or a partial dict, as a dict with all sizes.
    """
    if isinstance(given, flavor.Flavor):
        given = given.flat()
    if not isinstance(given, collections.abc.Mapping):
        return given
    return {**dict.fromkeys(arguments.SIZES, 0), **given}


def _image_properties(properties, made):
    """Return image properties with one name of each: the old or the new.

    A changed value of the old name, which Kilo's filters read, counts.
    """
    dropped = set()
    for old, now in kilo_mapping.OLD_PROPERTIES.items():
        if old in properties and now in properties:
            is_changed = properties[old] != made.get(old)
            dropped.add(now if is_changed or now not in made else old)
    return {name: value for name, value in properties.items()
            if name not in dropped}


def _group(mapping, made):
    """Return the group as an object; None if the group_* keys differ from it.
    """
    group = mapping.get('instance_group')
    if not isinstance(group, instance_group.InstanceGroup):
        return None
    if all(mapping.get(key) == made.get(key) for key in _GROUP):
        return group
    of_object = (group.hosts, group.policies, group.members)
    return group if all(
        set(mapping.get(key) or ()) == set(value or ())
        for key, value in zip(_GROUP[1:], of_object, strict=True)) else None
