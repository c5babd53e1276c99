"""Plug-ins that derive from a filter here and set its ratio or maximum.

By the methods that Nova's filters have for it.
"""

import pytest

from nova_sched import filters as base_filters
from nova_sched.hosts import decision
from nova_sched.scheduler.filters import num_instances_filter
from nova_sched.scheduler.filters.core_filter import AggregateCoreFilter
from nova_sched.scheduler.filters.core_filter import CoreFilter
from nova_sched.scheduler.filters.disk_filter import DiskFilter
from nova_sched.scheduler.filters.io_ops_filter import AggregateIoOpsFilter
from nova_sched.scheduler.filters.io_ops_filter import IoOpsFilter
from nova_sched.scheduler.filters.ram_filter import AggregateRamFilter
from nova_sched.scheduler.filters.ram_filter import RamFilter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured
from tests.builders.rules import survivors

#: Full but for overcommit, and for two more of what is counted.
FULL = {'free_ram_mb': 0, 'free_disk_mb': 0, 'vcpus_used': 16,
        'num_io_ops': 6, 'num_instances': 48, 'ram_allocation_ratio': 1.0,
        'disk_allocation_ratio': 1.0, 'cpu_allocation_ratio': 1.0}

#: Base class, its method, a number that lets no more in, and one that does.
METHODS = [
    (RamFilter, '_get_ram_allocation_ratio', 1.0, 2.0),
    (DiskFilter, '_get_disk_allocation_ratio', 1.0, 2.0),
    (CoreFilter, '_get_cpu_allocation_ratio', 1.0, 2.0),
    (IoOpsFilter, '_get_max_io_ops_per_host', 6, 7),
    (num_instances_filter.NumInstancesFilter, '_get_max_instances_per_host',
     48, 49),
]


def full(name, **values):
    return a_host(name, **{**FULL, **values})


def ratio_by_name(**ratios):
    class OwnRamFilter(RamFilter):
        def _get_ram_allocation_ratio(self, host_state, spec_obj):
            return ratios[host_state.host]

    return OwnRamFilter()


@pytest.mark.parametrize(('base', 'method', 'less', 'more'), METHODS)
def test_are_called_for_each_host(base, method, less, more):
    own = type('Own', (base,), {
        method: lambda self, state, spec: (
            more if state.host == 'b' else less)})

    assert survivors(configured(own), hosts(full('a'), full('b')),
                     a_request()) == ['b']


@pytest.mark.parametrize(('base', 'method', 'less', 'more'), METHODS)
def test_may_call_the_base_class(base, method, less, more):
    """The base method returns a number of the type that Nova's returns."""
    seen = []

    def own(self, state, spec):
        seen.append(getattr(super(cls, self), method)(state, spec))
        return more

    cls = type('Own', (base,), {method: own})
    rule = configured(cls)

    assert survivors(rule, hosts(full('a')), a_request()) == ['a']
    assert seen == [rule._setting(hosts(full('a')))]
    assert type(seen[0]) is type(more)


@pytest.mark.parametrize(('base', 'method', 'key', 'own'), [
    (AggregateRamFilter, '_get_ram_allocation_ratio', 'ram_allocation_ratio',
     3.0),
    (AggregateCoreFilter, '_get_cpu_allocation_ratio',
     'cpu_allocation_ratio', 3.0),
    (AggregateIoOpsFilter, '_get_max_io_ops_per_host', 'max_io_ops_per_host',
     3)])
def test_base_methods_include_aggregates(base, method, key, own):
    cls = type('Own', (base,), {})
    state, = hosts(full('a', aggregates=[{key: '3'}, {key: '4'}])).states()

    found = getattr(configured(cls), method)(state, a_request())

    assert (found, type(found)) == (own, type(own))


def test_determine_the_limits():
    rule = ratio_by_name(a=3.0)

    assert rule.limits(hosts(full('a')), a_request()) == {
        'memory_mb': 3 * 32768}


def test_determine_the_reason():
    rule = ratio_by_name(a=1.0, b=1.01)

    assert rule.reason(hosts(full('a'), full('b')), a_request()) == (
        'need 512 MB, most free 327.68 MB')


def test_may_depend_on_the_request():
    class MoreForSome(IoOpsFilter):
        def _get_max_io_ops_per_host(self, host_state, spec_obj):
            return 9 if spec_obj.project_id == 'vip' else 3

    rule, block = configured(MoreForSome), hosts(full('a'))

    assert survivors(rule, block, a_request(project_id='vip')) == ['a']
    assert survivors(rule, block, a_request()) == []


def test_an_error_names_the_host(caplog):
    record = decision.Decision()

    with pytest.raises(KeyError):
        base_filters.FilterHandler().run(
            [ratio_by_name(a=1.0)], hosts(full('a'), full('b')), a_request(),
            0, record)

    assert 'OwnRamFilter failed on host (b, b)' in caplog.text


@pytest.mark.parametrize('cls', [RamFilter, AggregateRamFilter, IoOpsFilter])
def test_are_not_called_for_built_in_filters(cls, monkeypatch):
    """They judge columns."""
    block = hosts(full('a'))
    monkeypatch.setattr(type(block), 'states', None)

    configured(cls).mask(block, a_request())
