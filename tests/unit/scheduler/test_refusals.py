"""Codes and kinds of refusals, and the catalogue of codes."""

import re

import pytest

from nova_sched import exception
from nova_sched.hosts.decision import NOT_REFUSED
from nova_sched.hosts.decision import PLACED
from nova_sched.hosts.decision import Decision
from nova_sched.plugins import loading as plugins
from nova_sched.rules import codes
from nova_sched.scheduler import filters
from nova_sched.scheduler import refusals
from tests.builders import requests
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import select
from tests.builders.hosts import a_host
from tests.builders.hosts import an_aggregate
from tests.builders.hosts import hosts
from tests.unit import doc_pages

FILTERS = ['AvailabilityZoneFilter', 'ComputeFilter', 'RamFilter',
           'CoreFilter', 'DiskFilter', 'DifferentHostFilter',
           'SameHostFilter', 'ServerGroupAntiAffinityFilter',
           'ServerGroupAffinityFilter']
FULL = {'free_ram_mb': -16232, 'total_usable_ram_mb': 32768}
UUID = requests.INSTANCE_UUID


class BrokenFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, filter_properties):
        return False

    def codes(self, hosts, spec_obj):
        raise ValueError('lost for codes')


def refused(*records, enabled=FILTERS, **wanted):
    """The record of a request that gets no host."""
    driver = MemoryScheduler(*records, enabled_filters=enabled,
                             available_filters=[
        'nova_sched.scheduler.filters.all_filters',
        f'{__name__}.BrokenFilter'])
    spec = wanted.pop('spec', None) or requests.a_request(**wanted)
    with pytest.raises(exception.NoValidHost):
        select(driver, spec)
    return driver.decision


A, B, C = (a_host(name) for name in 'abc')


class TestCode:
    @pytest.mark.parametrize(('records', 'request_', 'codes'), [
        ([A], {'ignore_hosts': ['a']}, [('ignored', 1)]),
        # A target that the request ignores.
        ([A, B, C], {'ignore_hosts': ['b'], 'requested_destination':
                     requests.a_destination(host='b')},
         [('ignored', 1), ('other_destination', 2)]),
        # An evacuation.
        ([A, a_host('b', **FULL)], {'memory_mb': 1024,
                                    'ignore_hosts': ['a']},
         [('ram', 1), ('ignored', 1)]),
        ([], {}, [('no_hosts', None)]),
        # The name of a rule without a code.
        ([A], {'enabled': ['BrokenFilter']}, [('broken', 1)])])
    def test_is_of_the_hosts_that_the_request_may_go_to(self, records,
                                                        request_, codes):
        refusal = refused(*records, **request_).refusal

        assert refusal.code == codes[0][0]
        assert dict(refusal.codes) == {
            code: count for code, count in codes if count}

    def test_is_that_of_most_hosts_and_all_are_counted(self):
        record = refused(
            a_host('a', service_up=False), a_host('b', service_disabled=True),
            *(a_host(name, **FULL) for name in 'cde'), memory_mb=1024)

        assert (record.refusal.code, [*record.refusal.codes]) == ('ram', [
            ('ram', 3), ('service_down', 1), ('service_disabled', 1)])

    @pytest.mark.parametrize('named', [
        {'requested_destination': requests.a_destination(host='b')},
        {'requested_destination': requests.a_destination(host='b', node='b')}])
    @pytest.mark.parametrize('values, code, kind', [
        (FULL, 'ram', codes.FILTERED_OUT),
        ({'service_up': False}, 'service_down', codes.STATE_STALE),
        ({'service_disabled': True}, 'service_disabled',
         codes.FILTERED_OUT)])
    def test_is_that_of_the_target_if_there_is_one(self, named, values, code,
                                                   kind):
        record = refused(a_host('a'), a_host('b', **values), a_host('c'),
                         memory_mb=1024, **named)

        assert (record.refusal.code, record.refusal.kind) == (code, kind)
        assert dict(record.refusal.codes) == {'other_destination': 2, code: 1}

    @pytest.mark.parametrize('names, code', [
        ({'force_hosts': ['x']}, 'unknown_host'),
        ({'requested_destination': requests.a_destination(host='x')},
         'unknown_host')])
    def test_names_an_unknown_host(self, names, code):
        record = refused(a_host('a'), **names)

        assert record.refusal.code == code
        assert record.refusal.kind == codes.CONTRADICTION

    @pytest.mark.parametrize('end', [
        lambda record: record.restart(),
        lambda record: record.close(PLACED)])
    def test_is_forgotten_after_another_attempt_or_placement(self, end):
        record = Decision()
        record.refuse('ram', codes.NO_CAPACITY, [('ram', 3)])
        record.refuse('disk')
        assert record.refusal.code == 'ram'

        end(record)

        assert record.refusal == NOT_REFUSED


class TestKind:
    @pytest.mark.parametrize('records, wanted, kind', [
        ([a_host('a'), a_host('b')], {'memory_mb': 40000}, codes.TOO_LARGE),
        ([a_host('a', vcpus_total=4), a_host('b', total_usable_ram_mb=512)],
         {'memory_mb': 1000, 'vcpus': 8}, codes.TOO_LARGE),
        ([a_host('a', free_ram_mb=600), a_host('b', free_ram_mb=600)],
         {'memory_mb': 1000}, codes.FRAGMENTED),
        ([a_host('a', free_ram_mb=400), a_host('b', free_ram_mb=400)],
         {'memory_mb': 1000}, codes.NO_CAPACITY),
        # RAM on one, disk on the other.
        ([a_host('a', free_ram_mb=0, free_disk_mb=102400),
          a_host('b', free_ram_mb=9000, free_disk_mb=0)],
         {'memory_mb': 1000, 'root_gb': 50}, codes.FRAGMENTED),
        ([a_host('a', free_ram_mb=0), a_host('b', service_disabled=True)],
         {'memory_mb': 1000}, codes.FILTERED_OUT),
        ([a_host('a', free_ram_mb=0), a_host('b', service_up=False),
          a_host('c', service_up=False)],
         {'memory_mb': 1000}, codes.STATE_STALE),
        ([a_host('a')], {'availability_zone': 'other'}, codes.FILTERED_OUT),
        ([], {}, codes.NO_CAPACITY),
        # A target without room is no contradiction.
        ([a_host('a', free_ram_mb=0), a_host('b')], {
            'memory_mb': 1000, 'requested_destination':
            requests.a_destination(host='a')}, codes.FILTERED_OUT),
        # Nor are hints that no filter uses.
        ([a_host('a', **FULL)], {
            'enabled': ['RamFilter'], 'memory_mb': 1024, 'hints': {
                'same_host': [UUID], 'different_host': [UUID]}},
         codes.NO_CAPACITY),
        # A smaller flavor does not help where instances are counted.
        ([a_host('a', num_instances=50)], {'enabled': ['NumInstancesFilter']},
         codes.NO_CAPACITY)])
    def test_depends_on_the_free_room(self, records, wanted, kind):
        for record in records:
            # Without overcommit.
            record |= {'ram_allocation_ratio': 1.0,
                       'disk_allocation_ratio': 1.0}

        assert refused(*records, **wanted).refusal.kind == kind

    @pytest.mark.parametrize('wanted', [
        {'ignore_hosts': ['A'],
         'requested_destination': requests.a_destination(host='a')},
        {'ignore_hosts': ['a'], 'force_hosts': ['a']},
        {'hints': {'same_host': [UUID], 'different_host': [UUID]}},
        {'hints': {'same_host': UUID}, 'group': {
            'policy': 'anti-affinity', 'members': [UUID]}},
        {'hints': {'different_host': [UUID]}, 'memory_mb': 10 ** 9,
         'group': {'policy': 'affinity', 'members': [UUID]}},
        {'requested_destination': requests.a_destination(host='a'),
         'availability_zone': 'other'}], ids=str)
    def test_is_a_contradiction_if_the_request_excludes_itself(self, wanted):
        record = refused(
            a_host('a'), a_host('b', service_disabled=True),
            a_host('c', aggregates=[an_aggregate(
                metadata={'availability_zone': 'other'})],
                service_disabled=True), **wanted)

        assert record.refusal.kind == codes.CONTRADICTION

    @pytest.mark.parametrize('extra_specs, kind', [
        ({}, codes.FILTERED_OUT), ({'resources:VGPU': '1'}, None),
        ({'resources1:CUSTOM_FPGA': '1'}, None),
        ({'hw:cpu_policy': 'dedicated'}, None)])
    def test_is_unknown_for_resources_that_computes_do_not_report(
            self, extra_specs, kind):
        record = Decision()

        refusals.note_nothing_offered(
            record, hosts(a_host('a')).snapshot,
            requests.a_request(extra_specs=extra_specs))

        assert record.refusal.code == 'placement_offers_none'
        assert record.refusal.kind == kind

    @pytest.mark.parametrize(('counts_room', 'kind'), [
        (True, codes.FILTERED_OUT), (None, codes.FILTERED_OUT),
        (False, codes.NO_CAPACITY)])
    def test_follows_placements_count_where_hosts_report_more(
            self, counts_room, kind):
        """As in "decision explain"."""
        record = Decision(reason='Placement offers no host')

        refusals.note_nothing_offered(
            record, hosts(a_host('a')).snapshot, requests.a_request(),
            lambda: counts_room)

        assert record.refusal.kind == kind
        assert ('allocations of deleted instances' in record.reason) == (
            kind == codes.NO_CAPACITY)

    def test_without_capacity_filters_follows_the_reports(self):
        block = hosts(a_host('a', ram_allocation_ratio=1.0, free_ram_mb=100))

        kinds = [refusals.room_kind((), block,
                                    requests.a_request(memory_mb=size))
                 for size in (100, 101)]

        assert kinds == [codes.FILTERED_OUT, codes.NO_CAPACITY]


#: Filters that reject no host.
SILENT = {'AllHostsFilter'}
BUILT_IN = {cls.__name__: cls for cls in plugins.all_filters()}


class GpuModelFilter(filters.BaseHostFilter):
    pass


class NamedFilter(filters.BaseHostFilter):
    code = 'gpu model!'


class SpoiltFilter(filters.BaseHostFilter):
    code = 7


@pytest.mark.parametrize('name', sorted(BUILT_IN.keys() - SILENT))
def test_each_built_in_filter_has_a_code_of_the_catalogue(name):
    code = codes.of_rule(name, BUILT_IN[name]())

    assert codes.CATALOGUE[code] == codes.FILTERS or (
        code == 'service_down')


@pytest.mark.parametrize('cls, code', [
    (GpuModelFilter, 'gpu_model'), (NamedFilter, 'gpu_model_'),
    (SpoiltFilter, 'spoilt')])
def test_a_plug_in_has_a_code_of_its_own_or_by_its_name(cls, code):
    assert codes.of_rule(cls.__name__, cls()) == code
    assert codes.stage(code) == codes.FILTERS


def test_a_plug_in_that_derives_from_a_built_in_keeps_its_code():
    class OurRamFilter(BUILT_IN['RamFilter']):
        pass

    assert codes.of_rule('OurRamFilter', OurRamFilter()) == 'ram'


def test_codes_are_identifiers():
    assert all(re.fullmatch('[a-z][a-z0-9_]*', name) and stage in codes.STAGES
               for name, stage in codes.CATALOGUE.items())


def test_the_page_has_a_section_on_each_in_its_stage():
    page = doc_pages.PAGES['codes.rst']
    found, stage = {}, None
    for title, line in re.findall(r'^(\S.*)\n(=+|-+)$', page, re.MULTILINE):
        if line[0] == '=':
            stage = title.lower()
        else:
            found[title] = stage

    assert found == codes.CATALOGUE


def test_the_page_explains_each_kind():
    page = doc_pages.PAGES['codes.rst']

    assert set(codes.KINDS) <= set(re.findall(r'^(\w+)\n   ', page,
                                              re.MULTILINE))
