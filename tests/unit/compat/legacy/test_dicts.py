"""Requests in the dict form of RPC 4.2 and older."""

import pytest

from nova_sched import exception
from nova_sched import objects
from tests.unit.objects import captures

KILO = captures.args('34-kilo-style-call')


def legacy(instance=None, spec=None, properties=None):
    """A Kilo call with parts of it changed, made into a RequestSpec."""
    request_spec = {**KILO['request_spec'], **(spec or {})}
    request_spec['instance_properties'] = {
        **request_spec['instance_properties'], **(instance or {})}
    return objects.arguments.from_legacy_dicts(
        request_spec, {**KILO['filter_properties'], **(properties or {})})


class TestLegacyDicts:

    @pytest.mark.parametrize('words, dicts', [
        *((r'request_spec\.instance_type: is missing', empty) for empty in (
            (None, None), ({}, {}), ({}, None))),
        *(('must be a dict', odd) for odd in (
            ([], {}), ('x', {}), ({}, 'x')))])
    def test_no_flavor_and_other_types_are_refused(self, words, dicts):
        """Neither dict given, or both empty; or one that is none."""
        with pytest.raises(exception.InvalidInput, match=words):
            objects.arguments.from_legacy_dicts(*dicts)

    @pytest.mark.parametrize('changes, named', [
        ({'spec': {'instance_type': {'memory_mb': -1}}},
         'request_spec.instance_type.memory_mb = -1'),
        ({'spec': {'num_instances': -2}}, 'request_spec.num_instances = -2'),
        ({'instance': {'uuid': 4}},
         'request_spec.instance_properties.uuid = 4'),
        ({'instance': {'pci_requests': {'requests': [{'count': -1}]}}},
         'request_spec.instance_properties.pci_requests.requests[0].count'),
        ({'properties': {'retry': {'hosts': ['h']}}},
         'filter_properties.retry.hosts[0]'),
        ({'properties': {'limits': {'memory_mb': 'x'}}},
         'filter_properties.limits.memory_mb'),
        ({'properties': {'scheduler_hints': 'x'}},
         'filter_properties.scheduler_hints'),
        ({'properties': {'group_updated': True, 'group_hosts': 'h'}},
         'filter_properties.group_hosts'),
        ({'spec': {'image': {'properties': {'architecture': 'pdp11'}}}},
         'request_spec.image.properties.hw_architecture'),
    ])
    def test_the_wrong_key_is_named(self, changes, named):
        """The path begins with the argument's name."""
        with pytest.raises(exception.InvalidInput) as caught:
            legacy(**changes)

        assert caught.value.kwargs['reason'].startswith(named)

    def test_flavor_keys_of_other_releases_are_dropped(self):
        """A flat flavor may have keys that we do not know."""
        flavor = {**KILO['request_spec']['instance_type'], 'colour': 'red'}

        assert legacy(spec={'instance_type': flavor}).memory_mb == 2048

    def test_the_flavor_may_be_in_filter_properties_only(self):
        """An empty instance_type in request_spec is none."""
        assert legacy(spec={'instance_type': {}}).memory_mb == 2048

    @pytest.mark.parametrize('image', [None, 'x', 7])
    def test_an_image_that_is_no_dict_is_none(self, image):
        """Volume boots have no image."""
        assert legacy(spec={'image': image}).image is None

    def test_hints_become_lists(self):
        """Scalars are wrapped, structures become JSON text, null is none."""
        spec = legacy(properties={'scheduler_hints': {
            'a': 'x', 'b': ['x', 'y'], 'c': 1, 'd': {'k': [1]}, 'e': None}})

        assert spec.scheduler_hints == {
            'a': ['x'], 'b': ['x', 'y'], 'c': ['1'], 'd': ['{"k": [1]}']}

    def test_null_hints_stay_null(self):
        """No hints at all differ from empty ones."""
        assert legacy(properties={'scheduler_hints': None}
                      ).scheduler_hints is None

    def test_a_group_object_goes_before_group_keys(self):
        """An InstanceGroup envelope wins over the group_* keys."""
        group = objects.InstanceGroup(uuid='u', policies=['affinity'],
                                      hosts=['h1']).obj_to_primitive()

        spec = legacy(properties={
            'instance_group': group, 'group_updated': True,
            'group_policies': ['anti-affinity'], 'group_hosts': ['h2']})

        assert spec.instance_group.policy == 'affinity'
        assert spec.instance_group.hosts == ['h1']

    def test_without_group_there_is_none(self):
        """Empty group keys make no group."""
        assert legacy().instance_group is None

    def test_a_flat_pci_request_is_read(self):
        """Kilo's conductors send PCI requests as plain dicts."""
        spec = legacy(instance={'pci_requests': {
            'instance_uuid': 'u', 'requests': [
                {'count': 2, 'spec': [{'vendor_id': '8086'}],
                 'alias_name': 'nic', 'is_new': False,
                 'request_id': None}]}})

        assert spec.pci_requests.requests[0].count == 2

    @pytest.mark.parametrize('retry', [None, {}])
    def test_an_empty_retry_is_none(self, retry):
        """No attempt was made before."""
        assert legacy(properties={'retry': retry}).retry is None

    def test_deep_json_text_is_refused(self):
        """Text of a NUMA topology that is too deep is refused."""
        with pytest.raises(exception.InvalidInput, match='numa_topology'):
            legacy(instance={'numa_topology': '[' * 100000})
