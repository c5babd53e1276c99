"""Requests in the dict form of RPC 4.2 and older."""

import pytest

from nova_sched import exception
from nova_sched import objects
from tests.unit.objects import captures

KILO = captures.args('34-kilo-style-call')


def legacy(instance=None, spec=None, properties=None):
    """Return the RequestSpec of a Kilo call with changed parts."""
    request_spec = {**KILO['request_spec'], **(spec or {})}
    request_spec['instance_properties'] = {
        **request_spec['instance_properties'], **(instance or {})}
    return objects.arguments.from_legacy_dicts(
        request_spec, {**KILO['filter_properties'], **(properties or {})})


@pytest.mark.parametrize(('words', 'dicts'), [
    *((r'request_spec\.instance_type: is missing', empty) for empty in (
        (None, None), ({}, {}), ({}, None))),
    *(('must be a dict', odd) for odd in (([], {}), ('x', {}), ({}, 'x')))])
def test_missing_flavor_and_other_types_are_refused(words, dicts):
    with pytest.raises(exception.InvalidInput, match=words):
        objects.arguments.from_legacy_dicts(*dicts)


@pytest.mark.parametrize(('changes', 'named'), [
    ({'spec': {'instance_type': {'memory_mb': -1}}},
     'request_spec.instance_type.memory_mb = -1'),
    ({'spec': {'num_instances': -2}}, 'request_spec.num_instances = -2'),
    ({'instance': {'uuid': 4}}, 'request_spec.instance_properties.uuid = 4'),
    ({'instance': {'pci_requests': {'requests': [{'count': -1}]}}},
     'request_spec.instance_properties.pci_requests.requests[0].count'),
    ({'instance': {'numa_topology': '[' * 100000}},
     'request_spec.instance_properties.numa_topology'),
    ({'properties': {'retry': {'hosts': ['h']}}},
     'filter_properties.retry.hosts[0]'),
    ({'properties': {'limits': {'memory_mb': 'x'}}},
     'filter_properties.limits.memory_mb'),
    ({'properties': {'scheduler_hints': 'x'}},
     'filter_properties.scheduler_hints'),
    ({'properties': {'group_updated': True, 'group_hosts': 'h'}},
     'filter_properties.group_hosts'),
    ({'spec': {'image': {'properties': {'architecture': 'pdp11'}}}},
     'request_spec.image.properties.hw_architecture')])
def test_wrong_key_is_named_with_its_path(changes, named):
    with pytest.raises(exception.InvalidInput) as caught:
        legacy(**changes)

    assert caught.value.kwargs['reason'].startswith(named)


@pytest.mark.parametrize('flavor', [
    {}, {**KILO['request_spec']['instance_type'], 'colour': 'red'}])
def test_flavor_may_be_empty_or_have_unknown_keys(flavor):
    """An empty flavor is replaced by the flavor of filter_properties."""
    assert legacy(spec={'instance_type': flavor}).memory_mb == 2048


@pytest.mark.parametrize(('part', 'key', 'value', 'field'), [
    # Volume boots have no image.
    *(('spec', 'image', value, 'image') for value in (None, 'x', 7)),
    *(('properties', 'retry', value, 'retry') for value in (None, {})),
    ('properties', 'scheduler_hints', None, 'scheduler_hints'),
    ('properties', 'x', None, 'instance_group')])
def test_empty_value_is_none(part, key, value, field):
    assert getattr(legacy(**{part: {key: value}}), field) is None


def test_hints_become_lists():
    """Structures become JSON text; null hints are left out."""
    assert legacy(properties={'scheduler_hints': {
        'a': 'x', 'b': ['x', 'y'], 'c': 1, 'd': {'k': [1]}, 'e': None}}
        ).scheduler_hints == {
        'a': ['x'], 'b': ['x', 'y'], 'c': ['1'], 'd': ['{"k": [1]}']}


def test_group_object_takes_precedence_over_group_keys():
    group = objects.InstanceGroup(uuid='u', policies=['affinity'],
                                  hosts=['h1']).obj_to_primitive()

    spec = legacy(properties={
        'instance_group': group, 'group_updated': True,
        'group_policies': ['anti-affinity'], 'group_hosts': ['h2']})

    assert spec.instance_group.policy == 'affinity'
    assert spec.instance_group.hosts == ['h1']


def test_pci_request_may_be_a_plain_dict():
    """As from Kilo's conductors."""
    spec = legacy(instance={'pci_requests': {
        'instance_uuid': 'u', 'requests': [
            {'count': 2, 'spec': [{'vendor_id': '8086'}], 'alias_name': 'nic',
             'is_new': False, 'request_id': None}]}})

    assert spec.pci_requests.requests[0].count == 2
