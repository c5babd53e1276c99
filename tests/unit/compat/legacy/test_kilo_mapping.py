"""A RequestSpec reads like the dicts that Kilo's filters receive."""

import copy
import pickle

import pytest

from nova_sched import objects
from nova_sched import testing
from nova_sched.compat.legacy.kilo_mapping import with_mapping
from nova_sched.compat.legacy.kilo_mapping import without_mapping
from nova_sched.objects import base
from tests.builders import requests
from tests.unit.objects import captures

KILO = captures.args('34-kilo-style-call')


def kilo_request(**properties):
    """Return a request from a Kilo conductor with these properties."""
    return with_mapping(objects.arguments.from_legacy_dicts(
        KILO['request_spec'], {**KILO['filter_properties'], **properties}))


class TestHints:
    @pytest.mark.parametrize('make', [
        lambda hints: testing.a_request(hints=hints),
        lambda hints: kilo_request(scheduler_hints=hints),
        lambda hints: with_mapping(objects.arguments.from_wire(
            testing.a_request(hints=hints).obj_to_primitive()))])
    @pytest.mark.parametrize(('hints', 'host'), [
        ({'requested_host': 'cn1'}, 'cn1'), ({}, None),
        ({'other': 'x'}, None)])
    def test_hints_are_not_wrapped_in_lists(self, make, hints, host):
        """In whatever form the request came."""
        assert make(hints).get('scheduler_hints', {}).get(
            'requested_host') == host

    @pytest.mark.parametrize('spec', [
        kilo_request(scheduler_hints=None),
        with_mapping(objects.RequestSpec(flavor=requests.a_flavor(),
                                         scheduler_hints=None))])
    def test_null_hints_are_an_absent_key(self, spec):
        assert spec.get('scheduler_hints', {}) == {}
        assert 'scheduler_hints' not in spec.keys()  # noqa: SIM118

    def test_kilo_call_s_hints_stay_as_sent(self):
        hints = {'a': ['x'], 'b': 5, 'c': {'d': None}}

        assert kilo_request(scheduler_hints=hints)['scheduler_hints'] == hints

    def test_lists_of_one_hint_are_unwrapped(self):
        spec = testing.a_request(hints={'a': ['x'], 'b': ['x', 'y']})

        assert spec['scheduler_hints'] == {'a': 'x', 'b': ['x', 'y']}


class TestKeys:
    def test_absent_features_have_no_key(self):
        spec = testing.a_request()

        for key in ('retry', 'group_updated', 'group_hosts', 'force_hosts',
                    'ignore_hosts', 'limits', 'instance_group'):
            assert key not in list(spec)
            assert spec.get(key, 'none') == 'none'

    def test_features_have_kilo_s_form(self):
        """Retries are pairs, groups are sets, flavors are dicts."""
        spec = testing.a_request(
            retry=[('h1', 'n1')], force_hosts=['h2'], ignore_hosts=['h3'],
            group={'policy': 'affinity', 'hosts': ['h4'], 'members': ['u1']},
            memory_mb=64, vcpus=2, extra_specs={'a': 'b'})
        request_spec = spec['request_spec']

        assert {key: spec[key] for key in (
            'retry', 'force_hosts', 'ignore_hosts', 'group_updated',
            'group_hosts', 'group_policies', 'project_id')} == {
            'retry': {'num_attempts': 2, 'hosts': [['h1', 'n1']]},
            'force_hosts': ['h2'], 'ignore_hosts': ['h3'],
            'group_updated': True, 'group_hosts': {'h4'},
            'group_policies': {'affinity'}, 'project_id': 'a-project'}
        assert spec['instance_type']['memory_mb'] == 64
        assert spec['instance_type'].get('extra_specs') == {'a': 'b'}
        assert request_spec['num_instances'] == 1
        assert {key: request_spec['instance_properties'][key] for key in (
            'vcpus', 'uuid', 'image_ref')} == {
            'vcpus': 2, 'uuid': requests.INSTANCE_UUID,
            'image_ref': requests.IMAGE_ID}

    def test_image_properties_have_old_names_too(self):
        """Kilo's rules read architecture, not hw_architecture."""
        spec = testing.a_request(image_properties={
            'hw_architecture': 'amd64', 'os_type': 'linux', 'mine': 'yes'})

        assert spec['request_spec']['image']['properties'] == {
            'hw_architecture': 'x86_64', 'architecture': 'x86_64',
            'os_type': 'linux', 'mine': 'yes'}
        assert spec['os_type'] == 'linux'
        assert testing.a_request(image=None)['request_spec']['image'] == {}

    def test_numa_and_pci_are_plain_in_instance_properties(self):
        spec = with_mapping(objects.arguments.from_legacy_dicts(
            **captures.args('34-cap-4-2-legacy-dicts-numa-pci')))
        instance = spec['request_spec']['instance_properties']

        assert instance['numa_topology']['cells'][0]['memory'] == 4096
        assert instance['pci_requests']['requests'][0]['count'] == 1
        assert spec['pci_requests'] is spec.pci_requests

    def test_kilo_call_keeps_keys_that_no_object_has(self):
        spec = kilo_request(my_own_key=[1], group_updated=True,
                            group_hosts=['h'], group_policies=['affinity'])
        sent, request_spec = KILO['request_spec'], spec['request_spec']
        instance = request_spec['instance_properties']

        assert spec['my_own_key'] == [1]
        assert spec['group_hosts'] == {'h'}
        assert instance['hostname'] == 'vm1'
        assert instance['system_metadata'] == (
            sent['instance_properties']['system_metadata'])
        assert request_spec['image']['min_ram'] == '0'
        assert request_spec['image']['properties'][
            'hw_architecture'] == 'x86_64'
        assert spec['instance_type']['memory_mb'] == 2048

    def test_each_instance_has_its_own_uuid(self):
        """A call for several names only the first."""
        spec = kilo_request()
        spec.instance_uuid = requests.INSTANCE_UUID

        assert spec['request_spec']['instance_properties'][
            'uuid'] == requests.INSTANCE_UUID

    def test_context_and_options_may_be_set_after_the_first_read(self):
        spec = testing.a_request()
        assert spec['context'] is None
        assert spec['config_options'] == {}

        spec._context = context = object()
        spec.config_options = {'a': 1}

        assert spec['context'] is context
        assert spec['config_options'] == {'a': 1} == spec.config_options


class TestMapping:
    def test_contains_set_fields_and_keys(self):
        spec = with_mapping(objects.RequestSpec(flavor=requests.a_flavor()))

        assert [name in spec for name in (
            'flavor', 'image', 'instance_type', 'nonsense')] == [
            True, False, True, False]

    def test_reads_agree(self):
        """keys, values, items, iteration and dict()."""
        spec = testing.a_request()

        assert list(spec) == list(spec.keys())
        assert dict(spec) == dict(spec.items())
        assert list(spec.values()) == [spec[key] for key in spec]
        with pytest.raises(KeyError):
            spec['nonsense']

    def test_copy_keeps_context_and_keys(self):
        spec = kilo_request(my_own_key=1)
        spec._context = context = object()
        spec['mine'] = 1

        twin = copy.deepcopy(spec)

        assert (twin['my_own_key'], twin['mine']) == (1, 1)
        assert twin['context'] is context


def write_to(properties):
    """Write to a mapping, to its parts and to their parts."""
    properties['mine'] = 1
    properties['scheduler_hints']['mine'] = 1
    properties['scheduler_hints']['a'] += ['mine']
    properties['instance_type']['extra_specs']['mine'] = 1
    properties['request_spec']['instance_properties']['mine'] = 1
    properties['request_spec']['image']['properties']['mine'] = 1
    properties['config_options']['mine'] = 1
    properties['force_hosts'].append('mine')


class TestCopies:
    REQUESTS = {
        'a spec': lambda: testing.a_request(
            hints={'a': ['x', 'y']}, force_hosts=['h']),
        'dicts': lambda: kilo_request(
            scheduler_hints={'a': ['x', 'y']}, force_hosts=['h'])}

    @pytest.mark.parametrize('make', REQUESTS.values(), ids=REQUESTS)
    @pytest.mark.parametrize('copied', [
        copy.deepcopy, lambda spec: copy.deepcopy(dict(spec)),
        lambda spec: spec.obj_clone(), lambda spec: spec.copy().obj_clone()])
    def test_deep_copy_is_equal_and_shares_nothing(self, make, copied):
        spec, fresh = make(), make()
        before = repr(dict(spec))

        twin = copied(spec)
        assert repr(dict(twin)) == before
        write_to(twin)

        assert twin['mine'] == 1
        assert twin.get('scheduler_hints')['a'] == ['x', 'y', 'mine']
        assert repr(dict(spec)) == repr(dict(fresh)) == before
        assert spec.obj_to_primitive() == fresh.obj_to_primitive()

    @pytest.mark.parametrize('copied', [
        dict, copy.copy, lambda spec: spec.copy(), lambda spec: {**spec}])
    def test_shallow_copy_has_its_own_keys(self, copied):
        spec = testing.a_request(hints={'a': 'x'})

        twin = copied(spec)
        twin['scheduler_hints'] = {}
        twin.update(mine=1)
        del twin['instance_type']

        assert spec['scheduler_hints'] == {'a': 'x'}
        assert 'mine' not in spec
        assert 'instance_type' in spec
        assert twin.pop('mine') == 1
        assert twin.pop('mine', None) is None

    def test_caller_s_dicts_stay_as_sent(self):
        sent = copy.deepcopy(KILO)
        spec = with_mapping(objects.arguments.from_legacy_dicts(**sent))

        spec['request_spec']['instance_properties']['mine'] = 1
        spec['request_spec']['image']['properties']['mine'] = 1

        assert sent == KILO


class TestWrites:
    def test_written_keys_are_read(self):
        spec = testing.a_request()

        spec['mine'] = 1
        assert spec.setdefault('mine', 2) == 1
        assert spec.setdefault('other', 2) == 2
        del spec['os_type']

        assert spec.get('mine') == 1
        assert 'os_type' not in spec.keys()  # noqa: SIM118
        assert len(spec) == len(spec.keys())

    def test_written_keys_stay_for_the_next_instance(self):
        spec = testing.a_request(hints={'a': 'x'})
        written = spec['request_spec']['instance_properties']
        written['mine'] = spec['mine'] = 1
        del spec['scheduler_hints']['a'], spec['os_type']

        spec.instance_uuid = 'another'

        instance = spec['request_spec']['instance_properties']
        assert (instance['uuid'], instance['mine']) == ('another', 1)
        assert spec['mine'] == 1
        assert spec['scheduler_hints'] == {}
        assert 'os_type' not in list(spec)


class TestWithMapping:
    def test_request_has_one_mapping(self):
        """Plug-ins may keep it between calls; a copy's has none of its keys.
        """
        plain = requests.a_request()
        spec = with_mapping(plain)
        spec['mine'] = 1

        assert with_mapping(plain) is with_mapping(spec) is spec
        assert 'mine' not in with_mapping(base.clone(plain))
        assert 'mine' not in base.clone(spec)

    def test_attributes_are_shared_both_ways(self):
        plain = requests.a_request()
        spec = with_mapping(plain)
        spec.ignore_hosts, plain.project_id, spec.mine = ['h'], 'p', 1

        assert (plain.ignore_hosts, spec.project_id, plain.mine) == (
            ['h'], 'p', 1)

    def test_mapping_is_a_request_spec(self):
        plain = requests.a_request()
        spec = with_mapping(plain)

        assert isinstance(spec, objects.RequestSpec)
        assert spec.obj_to_primitive() == plain.obj_to_primitive()
        assert spec.obj_name() == 'RequestSpec'
        assert repr(spec) == repr(plain)
        assert objects.RequestSpec.obj_class_from_name(
            'RequestSpec', '1.15') is objects.RequestSpec

    @pytest.mark.parametrize('read', [False, True])
    def test_mapping_can_be_pickled(self, read):
        spec = with_mapping(requests.a_request())
        spec.config_options = {'a': 1}
        assert not read or spec.config_options == {'a': 1}

        twin = pickle.loads(pickle.dumps(spec))

        assert repr(twin) == repr(spec)
        assert twin['config_options'] == {'a': 1}

    @pytest.mark.parametrize('value', [None, {}, {'request_spec': {}}])
    def test_other_values_are_returned_as_they_are(self, value):
        assert with_mapping(value) is value

    def test_mapping_can_be_removed(self):
        plain = requests.a_request()
        again = without_mapping(with_mapping(plain))

        assert type(again) is objects.RequestSpec
        assert repr(again) == repr(plain)
        assert without_mapping(plain) is plain

    @pytest.mark.parametrize('change', [
        lambda spec: setattr(spec, 'instance_uuid', 'another'),
        lambda spec: spec.instance_group.hosts.append('h'),
        lambda spec: spec.instance_group.members.append('u'),
        lambda spec: setattr(spec, '_context', object()),
        lambda spec: setattr(spec, 'config_options', {'a': 1})])
    def test_changed_request_changes_the_mapping(self, change):
        plain = requests.a_request(group={'policy': 'affinity'})
        before = dict(with_mapping(plain))
        change(plain)

        assert dict(with_mapping(plain)) != before


class TestNovaDicts:
    """The dicts that a plug-in makes of a request, to pass them on."""

    def read(self, **fields):
        return with_mapping(objects.arguments.from_wire(
            requests.a_request(**fields).obj_to_primitive()))

    def test_request_spec_has_the_flavor_as_an_object(self):
        spec_obj = self.read(num_instances=3)
        made = spec_obj.to_legacy_request_spec_dict()
        instance = made['instance_properties']

        assert made['num_instances'] == 3
        assert made['instance_type'] is spec_obj.flavor
        assert (instance['memory_mb'], instance['uuid'],
                instance['project_id']) == (
            spec_obj.memory_mb, spec_obj.instance_uuid, spec_obj.project_id)
        assert self.read(image=None).to_legacy_request_spec_dict()[
            'image'] == {}

    def test_filter_properties_have_used_features_alone(self):
        made = self.read(
            ignore_hosts=['a'], force_hosts=[],
            scheduler_hints={'one': ['x'], 'more': ['x', 'y']}
        ).to_legacy_filter_properties_dict()

        assert made['ignore_hosts'] == ['a']
        assert made['scheduler_hints'] == {'one': 'x', 'more': ['x', 'y']}
        assert not {'force_hosts', 'retry', 'group_updated'} & made.keys()

    def test_group_is_sets(self):
        group = requests.a_group(hosts=['a'], members=['m'])
        made = self.read(
            instance_group=group).to_legacy_filter_properties_dict()

        assert made['group_updated'] is True
        assert (made['group_hosts'], made['group_members']) == ({'a'}, {'m'})
