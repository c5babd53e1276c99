"""The words of filters that judge one host at a time."""

import pytest

from nova_sched.scheduler import filters
from nova_sched.scheduler.filters.ram_filter import RamFilter
from tests.builders.drivers import MemoryScheduler
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.unit.scheduler.filters.test_reasons import refusal


class RackFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, spec_obj):
        return False

    def why_not(self, host_state, spec_obj):
        rack = host_state.stats.get('rack')
        return rack and f'rack {rack} is full'


class PatientRamFilter(RamFilter):
    def why_not(self, host_state, spec_obj):
        return f'wait: {super().why_not(host_state, spec_obj)}'


class LoudRamFilter(PatientRamFilter):
    def reason(self, hosts, spec_obj):
        return f'{len(hosts)} HOSTS TOO SMALL'


class WordlessFilter(filters.BaseHostFilter):
    def why_not(self, host_state, spec_obj):
        return super().why_not(host_state, spec_obj) + 'no'


class TogetherFilter(filters.BaseHostFilter):
    def reason(self, hosts, spec_obj):
        return super().reason(hosts, spec_obj) + f'{len(hosts)} hosts'


def reason(rule, *racks):
    return rule.reason(hosts(*(a_host(stats={'rack': rack} if rack else {},
                                      free_ram_mb=0, total_usable_ram_mb=512)
                               for rack in racks)),
                       a_request(memory_mb=1024))


def test_stand_in_the_answer():
    scheduler = MemoryScheduler(
        a_host('a', stats={'rack': 'r1'}),
        available_filters=[f'{__name__}.RackFilter'],
        enabled_filters=['RackFilter'])

    assert refusal(scheduler, a_request()).endswith(
        '0 of 1 hosts: 1 RackFilter (rack r1 is full)')


@pytest.mark.parametrize(('racks', 'words'), [
    (['1', '1'], 'rack 1 is full'),
    (['1', '2', '2'], '2 rack 2 is full, 1 rack 1 is full'),
    ([None, '1'], 'rack 1 is full'),
    ([None], ''),
    (['x' * 200], 'rack ' + 'x' * 112 + '...'),
    ('112233445567', '2 rack 1 is full, 2 rack 2 is full, 2 rack 3 is full, '
     '2 rack 4 is full, 2 rack 5 is full and 2 others'),
])
def test_are_counted(racks, words):
    assert reason(RackFilter(), *racks) == words


def test_are_asked_for_of_a_hundred_hosts():
    racks = ['1'] * 60 + ['2'] * 60

    assert reason(RackFilter(), *racks) == (
        'of 100 looked at: 60 rack 1 is full, 40 rack 2 is full')
    assert reason(RackFilter(), *[None] * 120) == ''


@pytest.mark.parametrize(('cls', 'words'), [
    (PatientRamFilter, 'wait: need 1024 MB, largest host 512 MB'),
    (LoudRamFilter, '1 HOSTS TOO SMALL'),
    (WordlessFilter, 'no'),
    (TogetherFilter, '1 hosts'),
])
def test_of_a_filter_count_before_those_of_its_base_class(cls, words):
    """Which it may ask for by ``super``."""
    assert reason(cls(), None) == words


def test_of_a_filter_for_all_hosts_hold_for_one():
    state, = hosts(a_host(total_usable_ram_mb=512)).states()

    assert RamFilter().why_not(state, a_request(memory_mb=1024)) == (
        'need 1024 MB, largest host 512 MB')
