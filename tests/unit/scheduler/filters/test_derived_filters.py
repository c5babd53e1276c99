"""Plug-ins that derive from a filter here and override one of its methods."""

import pytest

from nova_sched.scheduler.filters.ram_filter import RamFilter
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import select
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import configured
from tests.builders.rules import survivors

REBUILD = {'_nova_check_type': ['rebuild']}


class OfOneHost(RamFilter):
    def host_passes(self, host_state, spec_obj):
        return (host_state.host != 'b'
                and super().host_passes(host_state, spec_obj))


class OfOneObject(RamFilter):
    def _filter_one(self, obj, spec_obj):
        return obj.host != 'b' and super()._filter_one(obj, spec_obj)


class OfAllHosts(RamFilter):
    def filter_all(self, filter_obj_list, spec_obj):
        return [state for state in super().filter_all(
            filter_obj_list, spec_obj) if state.host != 'b']


class OfColumns(RamFilter):
    def mask(self, hosts, spec_obj):
        return super().mask(hosts, spec_obj) & ~hosts.named('host', ['b'])


class OnRebuild(OfOneHost):
    RUN_ON_REBUILD = True


class ColumnsOnRebuild(OfColumns):
    RUN_ON_REBUILD = True


@pytest.mark.parametrize(('cls', 'left', 'on_rebuild'), [
    (RamFilter, ['a', 'b'], ['a', 'b', 'c']),
    (OfOneHost, ['a'], ['a', 'b', 'c']),
    (OfOneObject, ['a'], ['a', 'c']),
    (OfAllHosts, ['a'], ['a', 'c']),
    (OfColumns, ['a'], ['a', 'b', 'c']),
    (OnRebuild, ['a'], ['a']),
    (ColumnsOnRebuild, ['a'], ['a']),
])
def test_an_overridden_method_counts(cls, left, on_rebuild):
    """It may call the base class."""
    block = hosts(a_host('a'), a_host('b'), a_host('c', free_ram_mb=-10 ** 6))
    rule = configured(cls)

    assert survivors(rule, block, a_request()) == left
    assert survivors(rule, block, a_request(hints=REBUILD)) == on_rebuild


@pytest.mark.parametrize('cls', [
    RamFilter, OfOneHost, OfOneObject, OfAllHosts, OfColumns])
def test_limits_are_those_of_the_base_class(cls):
    driver = MemoryScheduler(
        a_host('a'), available_filters=[f'{__name__}.{cls.__name__}'],
        enabled_filters=[cls.__name__])

    [[selected]] = select(driver, a_request())
    assert selected.limits.memory_mb == 1.5 * 32768
