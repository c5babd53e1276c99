"""What DEBUG tells of a decision: each rejected host, and the best ones."""

import logging

import pytest

from nova_sched import filters as base_filters
from nova_sched import weights as base_weights
from nova_sched.hosts import decision
from nova_sched.plugins import loading as plugins
from nova_sched.rules import ranking
from nova_sched.scheduler import filters
from nova_sched.scheduler import weights
from tests.builders import hosts
from tests.builders import requests
from tests.builders import rules
from tests.builders.hosts import a_host


class PlugIn(filters.BaseHostFilter):
    """One host at a time, with words of its own."""

    def host_passes(self, host_state, filter_properties):
        return host_state.host == 'a'

    def why_not(self, host_state, spec_obj):
        return f'{host_state.host} is in the wrong row'


class Speechless(PlugIn):
    def why_not(self, host_state, spec_obj):
        raise KeyError(host_state.host)


class Bare(base_filters.BaseFilter):
    """Derived from what is outside of the filters' package."""

    def _filter_one(self, obj, spec_obj):
        return obj.host == 'a'


class Derived(plugins.filters.BaseHostFilter):
    def filter_all(self, filter_obj_list, spec_obj):
        return None


class FreeRam(weights.BaseHostWeigher):
    def _weigh_object(self, host_state, weight_properties):
        return host_state.free_ram_mb


def lines(caplog, names, spec=None, filter_=None, weighers=(), **options):
    """What is logged while these hosts are ranked: list of texts."""
    conf = rules.a_conf(**options)
    ranker = ranking.Ranker([filter_] if filter_
                            else plugins.load_filters(conf), weighers)
    block = hosts.hosts(*[
        a_host(name, free_ram_mb=number, cpu_allocation_ratio=1.0)
        for number, name in enumerate(names)])
    record = decision.Decision(
        'req', 'uuid', state=decision.State(hosts=len(block)))
    with caplog.at_level(logging.DEBUG, 'nova_sched'):
        ranker.ranked(block, spec or requests.a_request(), 0, record)
    return caplog.messages


def rejected(said):
    """The lines that name a rejected host."""
    return [line for line in said if ' is rejected by ' in line]


class TestRejectedHosts:
    def test_json_filter(self, caplog):
        said = rejected(lines(
            caplog, 'ab', requests.a_request(hints={
                'query': ['["=", "$host", "a"]']}),
            enabled_filters=['JsonFilter']))
        assert len(said) == 1
        assert said[0].startswith('(b, b) ')
        assert '$host' in said[0]

    def test_isolated_hosts_filter(self, caplog):
        said = rejected(lines(
            caplog, 'ab', enabled_filters=['IsolatedHostsFilter'],
            isolated_hosts=['b'], isolated_images=['x']))
        assert len(said) == 1
        assert 'is rejected by IsolatedHostsFilter: isolated' in said[0]

    def test_a_plug_in_with_words_of_its_own(self, caplog):
        assert [line.partition('is rejected')[2] for line in rejected(
            lines(caplog, 'abc', filter_=PlugIn()))] == [
            ' by PlugIn: b is in the wrong row',
            ' by PlugIn: c is in the wrong row']

    def test_a_plug_in_that_fails_at_words(self, caplog):
        """Its verdict counts all the same."""
        said = lines(caplog, 'ab', filter_=Speechless())
        assert rejected(said)[0].endswith(
            "by Speechless: no reason available: KeyError('b')")
        assert 'Filter Speechless returned 1 host(s)' in said

    @pytest.mark.parametrize('filter_, count', [(Bare(), 1), (Derived(), 2)])
    def test_any_other_plug_in(self, caplog, filter_, count):
        said = rejected(lines(caplog, 'ab', filter_=filter_))
        assert len(said) == count
        assert said[-1].endswith(f'by {type(filter_).__name__}')

    @pytest.mark.parametrize('name', [
        'AggregateImagePropertiesIsolation',
        'AggregateInstanceExtraSpecsFilter', 'AggregateMultiTenancyIsolation',
        'AvailabilityZoneFilter', 'ComputeCapabilitiesFilter',
        'ComputeFilter', 'DiskFilter', 'ImagePropertiesFilter',
        'MetricsFilter', 'NUMATopologyFilter', 'NumInstancesFilter',
        'PciPassthroughFilter', 'RamFilter', 'RetryFilter'])
    def test_built_ins_with_nova_s_own_lines_say_nothing_twice(self, name):
        loaded, = [cls for cls in filters.all_filters()
                   if cls.__name__ == name]
        assert loaded.logs_rejected

    def test_a_plug_in_derived_from_one_of_those_is_told_of(self, caplog):
        class OwnRamFilter(plugins.make_filter(
                next(cls for cls in filters.all_filters()
                     if cls.__name__ == 'RamFilter'),
                rules.a_conf()).__class__):
            def host_passes(self, host_state, filter_properties):
                return False
        own = OwnRamFilter()
        own.configure(rules.a_conf())
        assert len(rejected(lines(caplog, 'ab', filter_=own))) == 2


class TestManyHosts:
    NAMES = [f'h{number:04}' for number in range(2000)]

    @pytest.fixture
    def said(self, caplog):
        return lines(caplog, self.NAMES, weighers=[FreeRam()] * 14,
                     enabled_filters=['AllHostsFilter'])

    def test_of_each_weigher_only_the_best_hosts_are_named(self, said):
        weighed = [line for line in said if 'FreeRam: ' in line]
        assert len(weighed) == 14
        assert all('h1999' in line and 'h1000' not in line
                   for line in weighed)
        assert sum(line.count("'h") for line in weighed) == (
            14 * 2 * base_weights.NAMED)

    def test_of_filtered_and_weighed_hosts_the_first_are_named(self, said):
        assert sum(map(len, said)) < 80000
        assert [line.rpartition(']')[2] for line in said if line.startswith(
            ('Filtered [', 'Weighed ['))] == [' and 1900 more'] * 2

    def test_a_refusal_names_some_of_the_hosts_of_each_step(self, caplog):
        said = lines(caplog, self.NAMES, requests.a_request(memory_mb=10 ** 6),
                     enabled_filters=['AllHostsFilter', 'RamFilter'])
        results, = [line for line in said if "('AllHostsFilter', [" in line]
        assert "'and 1900 more'" in results
        assert len(results) < 4000
