"""A plug-in may call the built-in filter that it derives from with a changed
request, in any form of a request."""

import copy

import pytest

from nova_sched.plugins import loading
from nova_sched.testing import a_request
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import picks
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_flavor
from tests.builders.requests import a_group
from tests.builders.requests import an_image
from tests.builders.rules import configured
from tests.unit.scheduler.filters.test_every_filter import REJECTING
from tests.unit.scheduler.filters.test_every_filter import RUNNING
from tests.unit.scheduler.filters.test_every_filter import hosts_for

BUILT_IN = {cls.__name__: cls for cls in loading.all_filters()}

#: Filters that depend on hosts and options alone.
OF_HOSTS = {'AggregateIoOpsFilter', 'AggregateNumInstancesFilter',
            'ComputeFilter', 'IoOpsFilter', 'MetricsFilter',
            'NumInstancesFilter'}


def rejected(name):
    """A request for which the filter rejects the host bad."""
    return a_request(**REJECTING[name][1])


def accepted(name):
    """A request for which it passes that host, if any."""
    nothing = {'memory_mb': 0, 'vcpus': 0, 'root_gb': 0}
    if name.startswith('Exact'):
        nothing = {'memory_mb': 1, 'vcpus': 15, 'root_gb': 0, 'swap': 1}
    return a_request(
        flavor=a_flavor(id=9, name='m1.huge', **nothing), project_id='other',
        availability_zone='z1', image=an_image(
            {'os_distro': 'windows', 'hw_architecture': 'i686'}, id='x'))


def overwritten(properties, wanted):
    """Give a mapping all items of another request."""
    for key in [*properties.keys()]:
        if key not in wanted.keys() and key != 'request_spec':  # noqa: SIM118
            del properties[key]
    for key, value in wanted.items():
        if key != 'request_spec':
            properties[key] = copy.deepcopy(value)
    for key, value in copy.deepcopy(dict(wanted['request_spec'])).items():
        properties['request_spec'][key] = value
    return properties


def a_clone(spec_obj, wanted):
    twin = spec_obj.obj_clone()
    for name in wanted.fields:
        if wanted.obj_attr_is_set(name):
            setattr(twin, name, getattr(wanted, name))
    return twin


def a_dict_of_its_own(spec_obj, wanted):
    return copy.deepcopy({**wanted, 'request_spec':
                          dict(wanted['request_spec'])})


FORMS = {
    'a changed clone': a_clone,
    'the mapping, written to': overwritten,
    'a deep copy of the mapping': lambda spec_obj, wanted: overwritten(
        copy.deepcopy(spec_obj), wanted),
    'a copy of the mapping': lambda spec_obj, wanted: overwritten(
        spec_obj.copy(), wanted),
    'a dict of the mapping': lambda spec_obj, wanted: overwritten(
        dict(spec_obj), wanted),
    'a deep copy of a dict': lambda spec_obj, wanted: overwritten(
        copy.deepcopy(dict(spec_obj)), wanted),
    'a dict of its own': a_dict_of_its_own,
}


@pytest.mark.parametrize('form', FORMS)
@pytest.mark.parametrize('name', REJECTING)
def test_a_filter_uses_the_request_that_it_is_called_with(name, form):
    """The original request does not count."""
    states = hosts(*hosts_for(name), running=RUNNING).states()
    rule = configured(BUILT_IN[name], **REJECTING[name][2])
    verdicts = set()
    for made_of, wanted in ((accepted, rejected), (rejected, accepted)):
        expected, found = (
            [rule.host_passes(state, asked) for state in states]
            for asked in (wanted(name), FORMS[form](
                made_of(name), wanted(name))))
        assert found == expected
        verdicts.add(tuple(expected))

    assert len(verdicts) == (1 if name in OF_HOSTS else 2)


WEIGHERS = {cls.__name__: cls for cls in loading.all_weighers()}
GROUPS = {'ServerGroupSoftAffinityWeigher': 'soft-affinity',
          'ServerGroupSoftAntiAffinityWeigher': 'soft-anti-affinity'}


@pytest.mark.parametrize('form', FORMS)
@pytest.mark.parametrize('name', WEIGHERS)
def test_a_weigher_uses_the_request_that_it_is_called_with(name, form):
    options = ({'metrics__weight_setting': ['m=1.0']}
               if name == 'MetricsWeigher' else {})
    weigher = configured(WEIGHERS[name], **options)
    block = hosts(
        a_host('a', metrics='[{"name": "m", "value": 1}]'),
        a_host('b', metrics='[{"name": "m", "value": 2}]'),
        running={'m1': 'a', 'm2': 'a', 'm3': 'b'},
        images={'m1': {'image_os_distro': 'debian'}})
    wanted = a_request(group={'members': ['m1', 'm2', 'm3'],
                              'policy': GROUPS.get(name, 'affinity')},
                       image_properties={'os_distro': 'debian'})
    changed = FORMS[form](accepted(name), wanted)

    found, expected, before = (
        [weigher._weigh_object(state, asked) for state in block.states()]
        for asked in (changed, wanted, accepted(name)))

    assert found == expected
    assert (found != before) == (name in GROUPS)


class SmallRamFilter(BUILT_IN['RamFilter']):
    """Calls the built-in with a request for 1 MB."""

    def host_passes(self, host_state, filter_properties):
        asked = dict(filter_properties)
        asked['instance_type'] = {**asked['instance_type'], 'memory_mb': 1}
        return super().host_passes(host_state, asked)

    def filter_all(self, filter_obj_list, filter_properties):
        return super().filter_all(filter_obj_list, {**filter_properties})


def test_filter_all_accepts_a_changed_request():
    assert picks(MemoryScheduler(
        a_host('a', free_ram_mb=1, ram_allocation_ratio=1.0),
        available_filters=[f'{__name__}.SmallRamFilter'],
        enabled_filters=['SmallRamFilter']),
        a_request(memory_mb=512)) == ['a']


def passing(name, given):
    """The names of the hosts that pass a filter for a form of a request."""
    rule = configured(BUILT_IN[name])
    return [state.host for state in hosts(
        *hosts_for(name), running=RUNNING).states()
        if rule.host_passes(state, given)]


@pytest.mark.parametrize('copied', [
    dict, copy.deepcopy, lambda spec: copy.deepcopy(dict(spec))])
class TestDuplicateItems:

    def test_the_changed_name_of_a_property_counts(self, copied):
        name = 'ImagePropertiesFilter'
        for key in ('architecture', 'hw_architecture'):
            spec_obj = a_request(
                image_properties={'hw_architecture': 'x86_64'})
            given = copied(spec_obj)
            assert passing(name, given) == ['good']

            given['request_spec']['image']['properties'][key] = 'i686'
            assert passing(name, given) == ['bad']

    def test_a_group_is_read_from_the_object_or_its_sets(self, copied):
        name = 'ServerGroupAffinityFilter'
        for change in (
                lambda given: given['group_hosts'].clear(),
                lambda given: given.update(group_policies=set()),
                lambda given: given.update(instance_group=a_group('affinity'))
        ):
            spec_obj = rejected(name)
            given = copied(spec_obj)
            assert passing(name, given) == ['good']

            change(given)
            assert passing(name, given) == ['bad', 'good']


@pytest.mark.parametrize(('key', 'value'), [
    ('instance_type', {'memory_mb': 'much'}), ('instance_type', None),
    ('scheduler_hints', ['query']), ('retry', {'hosts': 'x'}),
    ('ignore_hosts', 7)])
def test_invalid_items_are_an_error_of_the_plug_in(key, value):
    rule = configured(BUILT_IN['RamFilter'])
    state, = hosts(a_host('a')).states()

    with pytest.raises(ValueError, match=f'plug-in has changed.*{key}'):
        rule.host_passes(state, {**a_request(), key: value})


@pytest.mark.parametrize('kind', [list, set, tuple, frozenset])
@pytest.mark.parametrize('key', [
    'ignore_hosts', 'force_hosts', 'force_nodes', 'group_hosts'])
def test_a_list_may_be_any_collection(kind, key):
    class WritingFilter(BUILT_IN['AllHostsFilter']):
        def host_passes(self, host_state, filter_properties):
            filter_properties[key] = kind(['x'])
            return BUILT_IN['AllHostsFilter']().host_passes(
                host_state, filter_properties)

    state, = hosts(a_host('a')).states()
    spec_obj = a_request(instance_group=a_group('affinity'))

    assert WritingFilter().host_passes(state, spec_obj)
    assert configured(BUILT_IN['RamFilter']).host_passes(state, spec_obj)


@pytest.mark.parametrize('flavor', [
    a_flavor(memory_mb=20000), {'memory_mb': 20000},
    {'memory_mb': 20000, 'extra_specs': {'a': 'b'}}])
def test_a_flavor_may_be_an_object_or_a_partial_dict(flavor):
    block_ = hosts(a_host('a', free_ram_mb=30000, ram_allocation_ratio=1.0),
                   a_host('b', free_ram_mb=10000, ram_allocation_ratio=1.0))
    rule = configured(BUILT_IN['RamFilter'])

    assert [rule.host_passes(state, {'instance_type': flavor})
            for state in block_.states()] == [True, False]
