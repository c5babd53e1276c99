"""Running filters: the handler and the base class."""

import numpy as np
import pytest

from nova_sched import exception
from nova_sched.filters import FilterHandler
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import State
from nova_sched.scheduler import filters
from nova_sched.scheduler.filters.aggregate_instance_extra_specs import (
    AggregateInstanceExtraSpecsFilter,
)
from nova_sched.scheduler.filters.compute_capabilities_filter import (
    ComputeCapabilitiesFilter,
)
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.hosts import names
from tests.builders.requests import INSTANCE_UUID
from tests.builders.requests import a_request

REBUILD = {'_nova_check_type': ['rebuild']}


def abc():
    return hosts(a_host('a'), a_host('b'), a_host('c'))


def keeping(kept, once=False, base=filters.BaseHostFilter):
    """A filter, one host at a time, that remembers what it was asked."""

    class KeepFilter(base):
        run_filter_once_per_request = once

        def __init__(self):
            self.saw = []

        def host_passes(self, host_state, filter_properties):
            self.saw.append(host_state.host)
            return host_state.host in kept

    return KeepFilter()


def run(chain, block=None, spec=None, index=0):
    """What a chain leaves, and the Decision."""
    spec = spec or a_request()
    decision = Decision('req-1', spec.instance_uuid, state=State(hosts=3))
    left = FilterHandler().run(chain, block if block is not None else abc(),
                               spec, index, decision)
    return left, decision


class OneFails(filters.ColumnFilter):
    """Fails at a host whose address is bad."""

    def __init__(self, way, *args):
        self.way, self.args = way, args

    def mask(self, hosts, spec_obj):
        def verdict(*values):
            if 'bad' in values:
                raise ValueError('bad')
            return True
        return getattr(hosts, self.way)(*self.args, verdict)


class TestFilterHandler:
    def test_gives_each_filter_what_the_one_before_left(self):
        first, second = keeping('ab'), keeping('bc')

        left, _ = run([first, second])

        assert names(left) == ['b']
        assert second.saw == ['a', 'b']

    def test_stops_when_no_host_is_left(self):
        last = keeping('abc')

        left, decision = run([keeping(''), last])

        assert names(left) == [] == last.saw
        assert len(decision.funnel.steps) == 1

    def test_passes_every_host_without_filters(self):
        assert names(run([])[0]) == ['a', 'b', 'c']

    def test_leaves_once_per_request_filters_to_the_first_instance(self):
        once, always = keeping('a', once=True), keeping('ab')

        left, decision = run([once, always], index=1)

        assert names(left) == ['a', 'b']
        assert [step.index for step in decision.funnel.steps] == [1]

    def test_lets_a_filter_say_for_which_instances_it_runs(self):
        class SecondFilter(filters.BaseHostFilter):
            def run_filter_for_index(self, index):
                return index == 1

            def host_passes(self, host_state, filter_properties):
                return host_state.host == 'b'

        left = [names(run([SecondFilter()], index=index)[0])
                for index in range(3)]

        assert left == [['a', 'b', 'c'], ['b'], ['a', 'b', 'c']]

    def test_ends_at_a_filter_that_says_to_stop(self):
        """filter_all returning None, and not an empty list, means so."""

        class StopFilter(filters.BaseHostFilter):
            def filter_all(self, filter_obj_list, spec_obj):
                return None

        last = keeping('abc')

        assert names(run([StopFilter(), last])[0]) == [] == last.saw

    def test_runs_filters_that_judge_all_hosts_together(self):
        class FirstFilter(filters.BaseHostFilter):
            def filter_all(self, filter_obj_list, spec_obj):
                return list(filter_obj_list)[:1]

        assert names(run([FirstFilter()])[0]) == ['a']

    def test_a_filter_sees_what_those_before_set_on_host_states(self):
        class LesseeFilter(filters.BaseHostFilter):
            def host_passes(self, host_state, spec_obj):
                host_state.free_ram_mb = 100 if host_state.host == 'a' else 0
                return True

        class RamFilter(filters.ColumnFilter):
            def mask(self, hosts, spec_obj):
                return hosts.free_ram_mb >= 100

        left, _ = run([RamFilter(), LesseeFilter(), RamFilter()])
        assert names(left) == ['a']

    def test_records_each_step(self):
        _, decision = run([keeping('ab'), keeping('b')])

        assert [(step.name, step.before, step.after)
                for step in decision.funnel.steps] == [
            ('KeepFilter', 3, 2), ('KeepFilter', 2, 1)]

    def test_an_error_in_a_filter_fails_the_request(self, caplog):
        """The log names the filter."""

        class BrokenFilter(filters.BaseHostFilter):
            def host_passes(self, host_state, filter_properties):
                raise KeyError('gone')

        with pytest.raises(KeyError):
            run([BrokenFilter()])
        assert 'BrokenFilter' in caplog.text

    @pytest.mark.parametrize('rule', [
        OneFails('derived', 'host_ip', 'key'), OneFails('judge', 'host_ip'),
        OneFails('judge_together', ['hypervisor_type', 'host_ip'])])
    def test_an_error_at_a_value_names_the_first_host_with_it(self, rule,
                                                              caplog):
        block = hosts(a_host('a'), a_host('b', host_ip='bad'),
                      a_host('c', host_ip='bad'))

        with pytest.raises(ValueError, match='bad'):
            run([rule], block.where(np.array([False, True, True])))

        text, = caplog.messages
        assert text.startswith('Filter OneFails failed on host (b, b) ram:')
        assert text.endswith(": ValueError('bad')")

    @pytest.mark.parametrize(('rule', 'spec', 'where'), [
        (ComputeCapabilitiesFilter(),
         {'capabilities:free_ram_mb': '>= abc'},
         'flavor.extra_specs.free_ram_mb'),
        (ComputeCapabilitiesFilter(),
         {'capabilities:cpu_info:cores': '>= abc'},
         'flavor.extra_specs.cpu_info:cores'),
        (AggregateInstanceExtraSpecsFilter(),
         {'aggregate_instance_extra_specs:racks': '>= abc'},
         'flavor.extra_specs.racks')])
    def test_an_error_at_an_extra_spec_names_it_and_the_host(
            self, rule, spec, where, caplog):
        caplog.set_level('INFO')
        block = hosts(a_host('a', cpu_info='{"cores": 4}',
                             aggregates=[{'racks': '7'}]))

        with pytest.raises(exception.InvalidInput, match='abc'):
            run([rule], block, a_request(extra_specs=spec))

        text, = caplog.messages
        assert f"{where} = '>= abc'" in text
        assert ', on host (a, a) ram:' in text

    def test_a_plug_in_that_asks_a_built_in_names_the_host_once(self, caplog):
        class OwnFilter(ComputeCapabilitiesFilter):
            def host_passes(self, host_state, filter_properties):
                return super().host_passes(host_state, filter_properties)

        caplog.set_level('INFO')
        with pytest.raises(exception.InvalidInput, match='abc'):
            run([OwnFilter()], spec=a_request(extra_specs={
                'capabilities:free_ram_mb': '>= abc'}))

        assert caplog.text.count('on host (a, a)') == 1
        # It is the request that is wrong, not the filter.
        assert caplog.records[0].levelname == 'INFO'


def told(caplog):
    """What was logged, without the lines about single hosts: list."""
    return [text for text in caplog.messages if ' is rejected by ' not in text]


class TestLog:
    def test_of_a_run_with_hosts_left(self, caplog):
        with caplog.at_level('DEBUG', 'nova_sched'):
            run([keeping('ab')])

        assert told(caplog) == ['Starting with 3 host(s)',
                                'Filter KeepFilter returned 2 host(s)']

    def test_of_a_run_without(self, caplog):
        with caplog.at_level('DEBUG', 'nova_sched'):
            run([keeping('ab'), keeping('')])

        assert told(caplog)[2:] == [
            'Filter KeepFilter returned 0 hosts',
            'Filtering removed all hosts for the request with instance ID '
            f"'{INSTANCE_UUID}'. Filter results: [('KeepFilter', "
            "[('a', 'a'), ('b', 'b')]), ('KeepFilter', None)]",
            'Filtering removed all hosts for the request with instance ID '
            f"'{INSTANCE_UUID}'. Filter results: "
            "['KeepFilter: (start: 3, end: 2)', "
            "'KeepFilter: (start: 2, end: 0)']"]

    def test_of_a_run_that_begins_without_hosts(self, caplog):
        with caplog.at_level('INFO', 'nova_sched'):
            run([keeping('a'), keeping('a')], block=hosts())

        assert caplog.messages[-1].endswith(
            "Filter results: ['KeepFilter: (start: 0, end: 0)']")

    def test_of_a_filter_that_says_to_stop(self, caplog):
        class StopFilter(filters.BaseHostFilter):
            def filter_all(self, filter_obj_list, spec_obj):
                return None

        with caplog.at_level('DEBUG', 'nova_sched'):
            run([StopFilter()])

        assert caplog.messages[-1] == (
            'Filter StopFilter says to stop filtering')


class TestRebuild:
    def test_most_filters_pass_every_host_unseen(self):
        rule = keeping('a')

        left, _ = run([rule], spec=a_request(hints=REBUILD))

        assert names(left) == ['a', 'b', 'c']
        assert rule.saw == []

    def test_filters_that_say_so_run(self):
        rule = keeping('a')
        rule.RUN_ON_REBUILD = True

        assert names(run([rule], spec=a_request(hints=REBUILD))[0]) == ['a']

    @pytest.mark.parametrize('hint', [
        ['rebuild', 'rebuild'], ['resize'], []])
    def test_anything_but_exactly_rebuild_is_none(self, hint):
        spec = a_request(hints={'_nova_check_type': hint})

        assert names(run([keeping('a')], spec=spec)[0]) == ['a']

    def test_built_ins_pass_every_host_unseen(self):
        class NoneFilter(filters.ColumnFilter):
            def mask(self, hosts, spec_obj):
                return np.zeros(len(hosts), dtype=np.bool_)

        spec = a_request(hints=REBUILD)

        assert names(run([NoneFilter()], spec=spec)[0]) == ['a', 'b', 'c']


class OnlyA(filters.ColumnFilter):
    """A built-in that leaves host a."""

    def mask(self, hosts, spec_obj):
        return hosts.named('host', ['a'])


class TestColumnFilter:
    def test_judges_all_hosts_by_mask(self):
        assert names(run([OnlyA()])[0]) == ['a']

    def test_judges_one_host_by_mask_as_well(self):
        rule, (a, b, _) = OnlyA(), abc().states()

        assert rule.host_passes(a, a_request()) is True
        assert rule.host_passes(b, a_request()) is False

    def test_a_plug_in_may_override_host_passes_of_a_built_in(self):
        class AorB(OnlyA):
            def host_passes(self, host_state, filter_properties):
                return (host_state.host == 'b'
                        or super().host_passes(host_state, filter_properties))

        assert names(run([AorB()])[0]) == ['a', 'b']

    def test_a_plug_in_may_override_filter_all_of_a_built_in(self):
        class Last(OnlyA):
            def filter_all(self, filter_obj_list, spec_obj):
                return [list(filter_obj_list)[-1]]

        assert names(run([Last()])[0]) == ['c']

    def test_says_for_one_host_why_it_was_rejected(self):
        class Reasoned(OnlyA):
            def reason(self, hosts, spec_obj):
                return f'{len(hosts)} host not a'

        assert Reasoned().why_not(abc().states()[1], a_request()) == (
            '1 host not a')


class TestHostState:
    def test_is_one_object_all_through_a_request(self):
        """What one filter leaves on it, the next one finds."""

        class MarkFilter(filters.BaseHostFilter):
            def host_passes(self, host_state, filter_properties):
                host_state.mark = host_state.host * 2
                return True

        class ReadFilter(filters.BaseHostFilter):
            def host_passes(self, host_state, filter_properties):
                return host_state.mark == 'bb'

        assert names(run([MarkFilter(), ReadFilter()])[0]) == ['b']
