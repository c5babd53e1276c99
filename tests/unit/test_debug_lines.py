"""DEBUG lines of a decision: each rejected host, and the best hosts."""

import logging

import pytest

from nova_sched import filters as base_filters
from nova_sched import weights as base_weights
from nova_sched.hosts import decision
from nova_sched.plugins import loading as plugins
from nova_sched.scheduler import filters
from nova_sched.scheduler import ranking
from nova_sched.scheduler import weights
from tests.builders import hosts
from tests.builders import requests
from tests.builders import rules
from tests.builders.hosts import a_host


class PlugIn(filters.BaseHostFilter):
    """One host at a time, with a reason."""

    def host_passes(self, host_state, filter_properties):
        return host_state.host == 'a'

    def why_not(self, host_state, spec_obj):
        return f'{host_state.host} is in the wrong row'


class Wordless(PlugIn):
    def why_not(self, host_state, spec_obj):
        raise KeyError(host_state.host)


class Bare(base_filters.BaseFilter):
    """Derived from the base class outside of the filters' package."""

    def _filter_one(self, obj, spec_obj):
        return obj.host == 'a'


class Derived(plugins.filters.BaseHostFilter):
    def filter_all(self, filter_obj_list, spec_obj):
        return None


class FreeRam(weights.BaseHostWeigher):
    def _weigh_object(self, host_state, weight_properties):
        return host_state.free_ram_mb


def lines(caplog, names, spec=None, filter_=None, weighers=(), **options):
    """The lines that are logged while these hosts are ranked."""
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


def rejected(found):
    """The lines that name a rejected host."""
    return [line for line in found if ' is rejected by ' in line]


class TestRejectedHosts:

    def test_name_the_filter_and_its_reason(self, caplog):
        [line] = rejected(lines(
            caplog, 'ab', enabled_filters=['IsolatedHostsFilter'],
            isolated_hosts=['b'], isolated_images=['x']))
        assert 'is rejected by IsolatedHostsFilter: isolated' in line

    def test_have_the_reason_of_a_plug_in(self, caplog):
        assert [line.partition('is rejected')[2] for line in rejected(
            lines(caplog, 'abc', filter_=PlugIn()))] == [
            ' by PlugIn: b is in the wrong row',
            ' by PlugIn: c is in the wrong row']

    def test_have_an_error_in_the_reason_of_a_plug_in(self, caplog):
        """Its verdict counts nevertheless."""
        found = lines(caplog, 'ab', filter_=Wordless())
        assert rejected(found)[0].endswith(
            "by Wordless: no reason available: KeyError('b')")
        assert 'Filter Wordless returned 1 host(s)' in found

    @pytest.mark.parametrize('filter_, count', [(Bare(), 1), (Derived(), 2)])
    def test_name_a_plug_in_without_a_reason(self, caplog, filter_, count):
        found = rejected(lines(caplog, 'ab', filter_=filter_))
        assert len(found) == count
        assert found[-1].endswith(f'by {type(filter_).__name__}')

    def test_name_a_plug_in_derived_from_a_built_in(self, caplog):
        own = rules.configured(type('OwnRamFilter', (
            type(rules.a_filter('RamFilter')),),
            {'host_passes': lambda self, host_state, spec_obj: False}))
        assert len(rejected(lines(caplog, 'ab', filter_=own))) == 2


class TestManyHosts:
    NAMES = [f'h{number:04}' for number in range(2000)]

    @pytest.fixture
    def found(self, caplog):
        return lines(caplog, self.NAMES, weighers=[FreeRam()] * 14,
                     enabled_filters=['AllHostsFilter'])

    def test_lines_of_weighers_name_the_best_hosts_only(self, found):
        weighed = [line for line in found if 'FreeRam: ' in line]
        assert len(weighed) == 14
        assert all('h1999' in line and 'h1000' not in line for line in weighed)
        assert sum(line.count("'h") for line in weighed) == (
            14 * 2 * base_weights.NAMED)

    def test_filtered_and_weighed_lines_name_the_first_hosts_only(self, found):
        assert sum(map(len, found)) < 80000
        assert [line.rpartition(']')[2] for line in found if line.startswith(
            ('Filtered [', 'Weighed ['))] == [' and 1900 more'] * 2

    def test_the_summary_of_a_refusal_names_some_hosts_only(self, caplog):
        spec = requests.a_request(memory_mb=10 ** 6)
        found = lines(caplog, self.NAMES, spec,
                     enabled_filters=['AllHostsFilter', 'RamFilter'])
        results, = [line for line in found if "('AllHostsFilter', [" in line]
        assert "'and 1900 more'" in results
        assert len(results) < 4000
