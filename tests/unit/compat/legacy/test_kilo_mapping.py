"""What plug-ins are given of a request answers reads of Kilo's filters."""

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


def wished_host(filter_properties):
    """What the filter of Kilo's tutorial reads."""
    return filter_properties.get('scheduler_hints', {}).get('requested_host')


def kilo_request(**properties):
    """A request from a Kilo conductor with the filter properties."""
    return with_mapping(objects.arguments.from_legacy_dicts(
        KILO['request_spec'], {**KILO['filter_properties'], **properties}))


class TestHints:

    @pytest.mark.parametrize('make', [
        lambda hints: testing.a_request(hints=hints),
        lambda hints: kilo_request(scheduler_hints=hints),
        lambda hints: with_mapping(objects.arguments.from_wire(
            testing.a_request(hints=hints).obj_to_primitive()))])
    @pytest.mark.parametrize('hints, wished', [
        ({'requested_host': 'cn1'}, 'cn1'), ({}, None),
        ({'other': 'x'}, None)])
    def test_the_tutorial_s_filter_reads_its_hint(self, make, hints, wished):
        """Whatever form the request came in, hints are not wrapped."""
        assert wished_host(make(hints)) == wished

    @pytest.mark.parametrize('spec', [
        kilo_request(scheduler_hints=None),
        with_mapping(objects.RequestSpec(flavor=requests.a_flavor(),
                                         scheduler_hints=None))])
    def test_null_hints_are_an_absent_key(self, spec):
        """get() with a default gives the default."""
        assert wished_host(spec) is None
        assert 'scheduler_hints' not in spec.keys()  # noqa: SIM118

    def test_a_kilo_call_shows_hints_as_sent(self):
        """Lists stay lists, numbers numbers."""
        hints = {'a': ['x'], 'b': 5, 'c': {'d': None}}

        assert kilo_request(scheduler_hints=hints)['scheduler_hints'] == hints

    def test_hints_of_a_spec_are_unwrapped(self):
        """One-element lists give the element, longer ones stay."""
        spec = testing.a_request(hints={'a': ['x'], 'b': ['x', 'y']})

        assert spec['scheduler_hints'] == {'a': 'x', 'b': ['x', 'y']}


class TestKeys:

    def test_absent_features_are_absent_keys(self):
        """No retry, group or forced host: no key."""
        spec = testing.a_request()

        for key in ('retry', 'group_updated', 'group_hosts', 'force_hosts',
                    'ignore_hosts', 'limits', 'instance_group'):
            assert key not in list(spec)
            assert spec.get(key, 'none') == 'none'

    def test_present_features_have_kilo_s_form(self):
        """Retries as pairs, groups as sets, names as lists."""
        spec = testing.a_request(
            retry=[('h1', 'n1')], force_hosts=['h2'], ignore_hosts=['h3'],
            group={'policy': 'affinity', 'hosts': ['h4'],
                   'members': ['u1']})

        assert spec['retry'] == {'num_attempts': 2, 'hosts': [['h1', 'n1']]}
        assert spec['force_hosts'] == ['h2']
        assert spec['ignore_hosts'] == ['h3']
        assert spec['group_updated'] is True
        assert spec['group_hosts'] == {'h4'}
        assert spec['group_policies'] == {'affinity'}

    def test_flavor_and_instance_are_plain_dicts(self):
        """Of the sizes and names that were asked for."""
        spec = testing.a_request(memory_mb=64, vcpus=2,
                                  extra_specs={'a': 'b'})

        assert spec['instance_type']['memory_mb'] == 64
        assert spec['instance_type'].get('extra_specs') == {'a': 'b'}
        instance = spec['request_spec']['instance_properties']
        assert instance['vcpus'] == 2
        assert instance['uuid'] == requests.INSTANCE_UUID
        assert instance['image_ref'] == requests.IMAGE_ID
        assert spec['request_spec']['num_instances'] == 1
        assert spec['project_id'] == 'a-project'

    def test_image_properties_have_old_names_too(self):
        """Kilo's rules looked for architecture, not hw_architecture."""
        spec = testing.a_request(image_properties={
            'hw_architecture': 'amd64', 'os_type': 'linux', 'mine': 'yes'})

        assert spec['request_spec']['image']['properties'] == {
            'hw_architecture': 'x86_64', 'architecture': 'x86_64',
            'os_type': 'linux', 'mine': 'yes'}
        assert spec['os_type'] == 'linux'

    def test_without_image_the_image_is_empty(self):
        """Reads of its properties with defaults still work."""
        spec = testing.a_request(image=None)

        assert spec['request_spec']['image'] == {}

    def test_numa_and_pci_are_plain_in_instance_properties(self):
        """The whole request_spec is plain values."""
        spec = with_mapping(objects.arguments.from_legacy_dicts(
            **captures.args('34-cap-4-2-legacy-dicts-numa-pci')))
        instance = spec['request_spec']['instance_properties']

        assert instance['numa_topology']['cells'][0]['memory'] == 4096
        assert instance['pci_requests']['requests'][0]['count'] == 1
        assert spec['pci_requests'] is spec.pci_requests

    def test_a_kilo_call_shows_its_own_values(self):
        """Keys that no object has are still there for plug-ins."""
        spec = kilo_request(my_own_key=[1], group_updated=True,
                            group_hosts=['h'], group_policies=['affinity'])
        sent = KILO['request_spec']
        seen = spec['request_spec']

        assert spec['my_own_key'] == [1]
        assert spec['group_hosts'] == {'h'}
        assert seen['instance_properties']['hostname'] == 'vm1'
        assert seen['instance_properties']['system_metadata'] == (
            sent['instance_properties']['system_metadata'])
        assert seen['image']['min_ram'] == '0'
        assert seen['image']['properties']['hw_architecture'] == 'x86_64'
        assert spec['instance_type']['memory_mb'] == 2048

    def test_each_of_several_instances_has_its_own_uuid(self):
        """A call for several names the first one alone."""
        spec = kilo_request()
        spec.instance_uuid = requests.INSTANCE_UUID

        assert spec['request_spec']['instance_properties'][
            'uuid'] == requests.INSTANCE_UUID

    def test_context_and_options_are_what_was_set(self):
        """Also when they are set after the first read."""
        spec = testing.a_request()
        assert spec['context'] is None
        assert spec['config_options'] == {}
        context = object()

        spec._context = context
        spec.config_options = {'a': 1}

        assert spec['context'] is context
        assert spec['config_options'] == {'a': 1} == spec.config_options


class TestMapping:

    def test_in_asks_fields_and_keys(self):
        """A set field counts, an unset one does not, a key counts."""
        spec = with_mapping(objects.RequestSpec(flavor=requests.a_flavor()))

        assert 'flavor' in spec
        assert 'image' not in spec
        assert 'instance_type' in spec
        assert 'nonsense' not in spec

    def test_it_is_a_mapping_in_all_reads(self):
        """keys, values, items, iteration and dict() agree."""
        spec = testing.a_request()

        assert list(spec) == list(spec.keys())
        assert dict(spec) == dict(spec.items())
        assert list(spec.values()) == [spec[key] for key in spec]
        with pytest.raises(KeyError):
            spec['nonsense']

    def test_copies_keep_context_and_dicts(self):
        """A copied request still shows the caller's own values."""
        spec = kilo_request(my_own_key=1)
        spec._context = context = object()

        twin = copy.deepcopy(spec)

        assert twin['my_own_key'] == 1
        assert twin['context'] is context


def written_to(properties):
    """Write to a mapping, to its parts and to their parts."""
    properties['mine'] = 1
    properties['scheduler_hints']['mine'] = 1
    properties['scheduler_hints']['a'] += ['mine']
    properties['instance_type']['extra_specs']['mine'] = 1
    properties['request_spec']['instance_properties']['mine'] = 1
    properties['request_spec']['image']['properties']['mine'] = 1
    properties['config_options']['mine'] = 1
    properties['force_hosts'].append('mine')
    return properties


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
    def test_a_deep_copy_has_all_and_shares_nothing(self, make, copied):
        """It says the same, and what is written to it is in it alone."""
        spec, fresh = make(), make()
        before = repr(dict(spec))

        twin = copied(spec)
        assert repr(dict(twin)) == before
        written_to(twin)

        assert twin['mine'] == 1
        assert twin.get('scheduler_hints')['a'] == ['x', 'y', 'mine']
        assert repr(dict(spec)) == repr(dict(fresh)) == before
        assert spec.obj_to_primitive() == fresh.obj_to_primitive()

    @pytest.mark.parametrize('copied', [
        dict, copy.copy, lambda spec: spec.copy(), lambda spec: {**spec}])
    def test_a_shallow_copy_has_keys_of_its_own(self, copied):
        """As of a dict."""
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

    def test_what_was_sent_stays_as_it_was_sent(self):
        sent = copy.deepcopy(KILO)
        spec = with_mapping(objects.arguments.from_legacy_dicts(**sent))

        spec['request_spec']['instance_properties']['mine'] = 1
        spec['request_spec']['image']['properties']['mine'] = 1

        assert sent == KILO

    def test_a_copy_shares_the_caller_s_context(self):
        spec = testing.a_request()
        spec._context = context = object()
        spec['mine'] = 1

        assert copy.deepcopy(spec)['context'] is context
        assert copy.deepcopy(spec)['mine'] == 1


class TestWrites:

    def test_they_are_read_by_whoever_asks_next(self):
        spec = testing.a_request()

        spec['mine'] = 1
        assert spec.setdefault('mine', 2) == 1
        assert spec.setdefault('other', 2) == 2
        del spec['os_type']

        assert spec.get('mine') == 1
        assert 'os_type' not in spec.keys()  # noqa: SIM118
        assert len(spec) == len(spec.keys())

    def test_they_stay_when_the_request_goes_on_to_another_instance(self):
        """Beside what is new then."""
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

    def test_the_fields_of_the_request_stay_as_they_are(self):
        spec, fresh = testing.a_request(), testing.a_request()

        spec['instance_type']['memory_mb'] = 1
        spec['scheduler_hints'] = {'a': 'x'}

        assert spec.obj_to_primitive() == fresh.obj_to_primitive()


class TestWithMapping:
    def test_is_the_same_request_each_time(self):
        """For as long as the service has it: plug-ins may keep it apart."""
        plain = requests.a_request()

        assert with_mapping(plain) is with_mapping(plain)
        assert with_mapping(with_mapping(plain)) is with_mapping(plain)

    def test_is_another_one_for_a_copy(self):
        """In which nothing is that a plug-in wrote to the mapping."""
        plain = requests.a_request()
        with_mapping(plain)['mine'] = 1

        assert 'mine' not in with_mapping(base.clone(plain))
        assert 'mine' not in base.clone(with_mapping(plain))

    def test_has_what_is_set_on_either(self):
        plain = requests.a_request()
        spec = with_mapping(plain)
        spec.ignore_hosts, plain.project_id, spec.mine = ['h'], 'p', 1

        assert (plain.ignore_hosts, spec.project_id, plain.mine) == (
            ['h'], 'p', 1)

    def test_is_a_request_spec_in_all_else(self):
        plain = requests.a_request()
        spec = with_mapping(plain)

        assert isinstance(spec, objects.RequestSpec)
        assert spec.obj_to_primitive() == plain.obj_to_primitive()
        assert spec.obj_name() == 'RequestSpec'
        assert repr(spec) == repr(plain)
        assert objects.RequestSpec.obj_class_from_name(
            'RequestSpec', '1.15') is objects.RequestSpec

    @pytest.mark.parametrize('read', [False, True])
    def test_can_be_pickled(self, read):
        spec = with_mapping(requests.a_request())
        spec.config_options = {'a': 1}
        if read:
            assert spec.config_options == {'a': 1}

        twin = pickle.loads(pickle.dumps(spec))

        assert repr(twin) == repr(spec)
        assert twin['config_options'] == {'a': 1}

    @pytest.mark.parametrize('value', [None, {}, {'request_spec': {}}])
    def test_leaves_what_is_no_request_as_it_is(self, value):
        assert with_mapping(value) is value

    def test_a_request_can_be_had_without_it(self):
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
    def test_is_made_anew_when_the_request_goes_on(self, change):
        plain = requests.a_request(group={'policy': 'affinity'})
        before = dict(with_mapping(plain))
        change(plain)

        assert dict(with_mapping(plain)) != before
