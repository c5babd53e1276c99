"""Plug-ins that derive from a built-in filter and override a method."""

import pytest

from nova_sched import filters as base_filters
from nova_sched.hosts import decision
from nova_sched.scheduler.filters.ram_filter import RamFilter
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import select
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import a_filter
from tests.builders.rules import configured
from tests.builders.rules import passing

REBUILD = {'hints': {'_nova_check_type': ['rebuild']}}
#: Without room but for overcommit, and for two more of each count.
FULL = {'free_ram_mb': 0, 'free_disk_mb': 0, 'vcpus_used': 16,
        'num_io_ops': 6, 'num_instances': 48, 'ram_allocation_ratio': 1.0,
        'disk_allocation_ratio': 1.0, 'cpu_allocation_ratio': 1.0}

#: Filter, Nova's method of its ratio or maximum, the key in aggregates, a
#: value that rejects a full host, and a value that accepts it.
METHODS = [
    *((f'{name}Filter', f'_get_{key}_allocation_ratio',
       f'{key}_allocation_ratio', 1.0, 2.0)
      for name, key in (('Ram', 'ram'), ('Disk', 'disk'), ('Core', 'cpu'))),
    ('IoOpsFilter', '_get_max_io_ops_per_host', 'max_io_ops_per_host', 6, 7),
    ('NumInstancesFilter', '_get_max_instances_per_host',
     'max_instances_per_host', 48, 49)]


class OneHost(RamFilter):
    def host_passes(self, host_state, spec_obj):
        return (host_state.host != 'b'
                and super().host_passes(host_state, spec_obj))


class OneObject(RamFilter):
    def _filter_one(self, obj, spec_obj):
        return obj.host != 'b' and super()._filter_one(obj, spec_obj)


class AllHosts(RamFilter):
    def filter_all(self, filter_obj_list, spec_obj):
        return [state for state in super().filter_all(
            filter_obj_list, spec_obj) if state.host != 'b']


class Columns(RamFilter):
    def mask(self, hosts, spec_obj):
        return super().mask(hosts, spec_obj) & ~hosts.named('host', ['b'])


class OneHostOnRebuild(OneHost):
    RUN_ON_REBUILD = True


class ColumnsOnRebuild(Columns):
    RUN_ON_REBUILD = True


@pytest.mark.parametrize(('cls', 'expected', 'on_rebuild'), [
    (RamFilter, 'ab', 'abc'), (OneHost, 'a', 'abc'), (OneObject, 'a', 'ac'),
    (AllHosts, 'a', 'ac'), (Columns, 'a', 'abc'),
    (OneHostOnRebuild, 'a', 'a'), (ColumnsOnRebuild, 'a', 'a')])
def test_an_overridden_method_counts(cls, expected, on_rebuild):
    """It may call the base class."""
    rule, records = configured(cls), [
        a_host('a'), a_host('b'), a_host('c', free_ram_mb=-10 ** 6)]

    assert ''.join(passing(rule, *records)) == expected
    assert ''.join(passing(rule, *records, **REBUILD)) == on_rebuild


@pytest.mark.parametrize('cls', [
    RamFilter, OneHost, OneObject, AllHosts, Columns])
def test_limits_are_those_of_the_base_class(cls):
    driver = MemoryScheduler(
        a_host('a'), available_filters=[f'{__name__}.{cls.__name__}'],
        enabled_filters=[cls.__name__])

    [[selected]] = select(driver, a_request())
    assert selected.limits.memory_mb == 1.5 * 32768


def full(name, **values):
    return a_host(name, **{**FULL, **values})


def with_method(name, method, function):
    """A plug-in with Nova's method of a ratio or maximum."""
    return configured(type('Own', (type(a_filter(name)),), {
        method: lambda self, state, spec: function(state, spec)}))


def with_ratios(**ratios):
    return with_method('RamFilter', '_get_ram_allocation_ratio',
                       lambda state, spec: ratios[state.host])


class TestOwnSettings:
    @pytest.mark.parametrize(('name', 'method', '_', 'less', 'more'), METHODS)
    def test_are_called_for_each_host(self, name, method, _, less, more):
        assert passing(with_method(
            name, method, lambda state, spec: (
                more if state.host == 'b' else less)),
            full('a'), full('b')) == ['b']

    @pytest.mark.parametrize(('name', 'method', '_', 'less', 'more'), METHODS)
    def test_may_call_the_base_class(self, name, method, _, less, more):
        """It returns a number of the type in Nova."""
        seen, base = [], type(a_filter(name))
        rule = configured(type('Own', (base,), {
            method: lambda self, state, spec: seen.append(
                getattr(base, method)(self, state, spec)) or more}))

        assert passing(rule, full('a')) == ['a']
        assert seen == [{6: 8, 48: 50}.get(less, less)]
        assert type(seen[0]) is type(more)

    @pytest.mark.parametrize(('name', 'method', 'key', 'less', '_'), METHODS)
    def test_in_base_classes_use_aggregates(self, name, method, key, less, _):
        rule = configured(type('Own', (
            type(a_filter(f'Aggregate{name}')),), {}))
        [state] = hosts(full('a', aggregates=[{key: '3'}, {key: '4'}])
                        ).states()

        found = getattr(rule, method)(state, a_request())
        assert (found, type(found)) == (3, type(less))

    def test_determine_limits_and_reasons(self):
        assert with_ratios(a=3.0).limits(hosts(full('a')), a_request()) == {
            'memory_mb': 3 * 32768}
        assert with_ratios(a=1.0, b=1.01).reason(
            hosts(full('a'), full('b')), a_request()) == (
            'need 512 MB, most free 327.68 MB')

    def test_may_depend_on_the_request(self):
        rule = with_method(
            'IoOpsFilter', '_get_max_io_ops_per_host', lambda state, spec: (
                9 if spec.project_id == 'vip' else 3))

        assert passing(rule, full('a'), project_id='vip') == ['a']
        assert passing(rule, full('a')) == []

    def test_name_the_host_in_errors(self, caplog):
        with pytest.raises(KeyError):
            base_filters.run(
                [with_ratios(a=1.0)], hosts(full('a'), full('b')),
                a_request(), 0, decision.Decision())

        assert 'Own failed on host (b, b)' in caplog.text

    @pytest.mark.parametrize('name', [
        'RamFilter', 'AggregateRamFilter', 'IoOpsFilter'])
    def test_are_not_called_for_built_in_filters(self, name, monkeypatch):
        block = hosts(full('a'))
        monkeypatch.setattr(type(block), 'states', None)

        a_filter(name).mask(block, a_request())
