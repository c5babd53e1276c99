"""Running filters: the handler and the base classes."""

import numpy as np
import pytest

from nova_sched import exception
from nova_sched import filters as base_filters
from nova_sched.hosts.decision import Decision
from nova_sched.hosts.decision import State
from nova_sched.scheduler import filters
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.hosts import names
from tests.builders.requests import INSTANCE_UUID
from tests.builders.requests import a_request
from tests.builders.rules import a_filter

CAPABILITIES = type(a_filter('ComputeCapabilitiesFilter'))
REBUILD = {'_nova_check_type': ['rebuild']}


def abc():
    return hosts(a_host('a'), a_host('b'), a_host('c'))


def a_plug_in(base=filters.BaseHostFilter, **attributes):
    return type('PlugIn', (base,), attributes)()


def keeping(kept, **attributes):
    """A filter of one host at a time, which notes the hosts it judges."""
    def host_passes(self, host_state, filter_properties):
        self.saw.append(host_state.host)
        return host_state.host in kept
    return a_plug_in(host_passes=host_passes, saw=[], **attributes)


def run(chain, block=None, index=0, **request):
    """The hosts that pass a chain of filters, and the Decision."""
    spec = a_request(**request)
    decision = Decision('req-1', spec.instance_uuid, state=State(hosts=3))
    left = base_filters.run(chain, block if block is not None else abc(),
                            spec, index, decision)
    return left, decision


def left(*chain, **kwargs):
    """The names of the hosts that pass, as text."""
    return ''.join(names(run(chain, **kwargs)[0]))


class OneFails(filters.ColumnFilter):
    """Fails at a host whose address is bad."""

    def __init__(self, method, *args):
        self.method, self.args = method, args

    def mask(self, hosts, spec_obj):
        def verdict(*values):
            if 'bad' in values:
                raise ValueError('bad')
            return True
        return getattr(hosts, self.method)(*self.args, verdict)


class TestRun:
    def test_each_filter_judges_the_hosts_that_passed_before(self):
        first, second = keeping('ab'), keeping('bc')

        passed, decision = run([first, second])

        assert names(passed) == ['b']
        assert second.saw == ['a', 'b']
        assert [(step.name, step.before, step.after)
                for step in decision.funnel.steps] == [
            ('PlugIn', 3, 2), ('PlugIn', 2, 1)]

    def test_no_filter_runs_without_hosts(self):
        last = keeping('abc')

        passed, decision = run([keeping(''), last])

        assert names(passed) == [] == last.saw
        assert len(decision.funnel.steps) == 1

    def test_all_hosts_pass_without_filters(self):
        assert left() == 'abc'

    def test_once_per_request_filters_run_for_the_first_instance(self):
        once = keeping('a', run_filter_once_per_request=True)

        passed, decision = run([once, keeping('ab')], index=1)

        assert names(passed) == ['a', 'b']
        assert [step.index for step in decision.funnel.steps] == [1]

    def test_a_filter_may_choose_its_instances(self):
        second = keeping('b', run_filter_for_index=lambda self, index: (
            index == 1))

        assert [left(second, index=index) for index in range(3)] == [
            'abc', 'b', 'abc']

    @pytest.mark.parametrize(('answer', 'expected'), [
        (lambda states: states[:1], 'a'), (lambda states: None, '')])
    def test_a_filter_may_judge_all_hosts_together(self, answer, expected,
                                                   caplog):
        """None, as opposed to an empty list, stops filtering."""
        rule, last = a_plug_in(filter_all=lambda self, states, spec_obj: (
            answer(list(states)))), keeping('abc')

        with caplog.at_level('DEBUG', 'nova_sched'):
            assert left(rule, last) == expected == ''.join(last.saw)
        assert ('Filter PlugIn says to stop filtering' in caplog.messages
                ) == (not expected)

    def test_changes_of_host_states_are_seen_by_later_filters(self):
        """By columns of built-in filters, and as attributes."""
        def set_ram(self, host_state, spec_obj):
            host_state.free_ram_mb = 100 if host_state.host == 'a' else 0
            host_state.mark = host_state.host * 2
            return True

        ram = a_plug_in(filters.ColumnFilter, mask=lambda self, hosts, _: (
            hosts.free_ram_mb >= 100))
        marked = a_plug_in(host_passes=lambda self, host_state, _: (
            host_state.mark == 'bb'))
        setting = a_plug_in(host_passes=set_ram)

        assert left(ram, setting, ram) == 'a'
        assert left(setting, marked) == 'b'

    def test_an_error_in_a_filter_fails_the_request(self, caplog):
        with pytest.raises(KeyError):
            left(a_plug_in(host_passes=lambda *args: {}['gone']))
        assert 'Filter PlugIn failed on host (a, a)' in caplog.text

    @pytest.mark.parametrize('rule', [
        OneFails('derived', 'host_ip', 'key'), OneFails('evaluate', 'host_ip'),
        OneFails('evaluate_together', ['hypervisor_type', 'host_ip'])])
    def test_an_error_at_a_value_names_the_first_host_with_it(self, rule,
                                                              caplog):
        block = hosts(a_host('a'), a_host('b', host_ip='bad'),
                      a_host('c', host_ip='bad'))

        with pytest.raises(ValueError, match='bad'):
            left(rule, block=block.where(np.array([False, True, True])))

        text, = caplog.messages
        assert text.startswith('Filter OneFails failed on host (b, b) ram:')
        assert text.endswith(": ValueError('bad')")

    @pytest.mark.parametrize(('name', 'key', 'where'), [
        ('ComputeCapabilitiesFilter', 'capabilities:free_ram_mb',
         'free_ram_mb'),
        ('ComputeCapabilitiesFilter', 'capabilities:cpu_info:cores',
         'cpu_info:cores'),
        ('AggregateInstanceExtraSpecsFilter',
         'aggregate_instance_extra_specs:racks', 'racks')])
    def test_an_error_at_an_extra_spec_names_it_and_the_host(
            self, name, key, where, caplog):
        caplog.set_level('INFO')

        with pytest.raises(exception.InvalidInput, match='abc'):
            left(a_filter(name), extra_specs={key: '>= abc'},
                 block=hosts(a_host('a', cpu_info='{"cores": 4}',
                                    aggregates=[{'racks': '7'}])))

        text, = caplog.messages
        assert f"flavor.extra_specs.{where} = '>= abc'" in text
        assert ', on host (a, a) ram:' in text

    def test_an_error_in_a_base_class_names_the_host_once(self, caplog):
        def host_passes(self, host_state, filter_properties):
            return CAPABILITIES.host_passes(self, host_state,
                                            filter_properties)

        caplog.set_level('INFO')
        with pytest.raises(exception.InvalidInput, match='abc'):
            left(a_plug_in(CAPABILITIES, host_passes=host_passes),
                 extra_specs={'capabilities:free_ram_mb': '>= abc'})

        assert caplog.text.count('on host (a, a)') == 1
        # The request is invalid, not the filter.
        assert caplog.records[0].levelname == 'INFO'


class TestLog:
    @staticmethod
    def lines(caplog, *chain, **kwargs):
        with caplog.at_level('DEBUG', 'nova_sched'):
            left(*chain, **kwargs)
        return [text for text in caplog.messages
                if ' is rejected by ' not in text]

    def test_has_the_number_of_hosts_after_each_filter(self, caplog):
        assert self.lines(caplog, keeping('ab')) == [
            'Starting with 3 host(s)', 'Filter PlugIn returned 2 host(s)']

    def test_has_novas_summary_of_a_run_without_hosts(self, caplog):
        assert self.lines(caplog, keeping('ab'), keeping(''))[2:] == [
            'Filter PlugIn returned 0 hosts',
            'Filtering removed all hosts for the request with instance ID '
            f"'{INSTANCE_UUID}'. Filter results: [('PlugIn', "
            "[('a', 'a'), ('b', 'b')]), ('PlugIn', None)]",
            'Filtering removed all hosts for the request with instance ID '
            f"'{INSTANCE_UUID}'. Filter results: "
            "['PlugIn: (start: 3, end: 2)', 'PlugIn: (start: 2, end: 0)']"]

    def test_has_the_first_filter_of_a_run_that_begins_without_hosts(
            self, caplog):
        assert self.lines(caplog, keeping('a'), keeping('a'),
                          block=hosts())[-1].endswith(
            "Filter results: ['PlugIn: (start: 0, end: 0)']")


@pytest.mark.parametrize(('hint', 'attributes', 'expected'), [
    (['rebuild'], {}, 'abc'), (['rebuild'], {'RUN_ON_REBUILD': True}, 'a'),
    # Any other value is no rebuild.
    (['rebuild', 'rebuild'], {}, 'a'), (['resize'], {}, 'a'), ([], {}, 'a')])
def test_rebuilds_meet_only_filters_for_rebuilds(hint, attributes, expected):
    rule = keeping('a', **attributes)

    assert left(rule, hints={'_nova_check_type': hint}) == expected
    assert ''.join(rule.saw) == ('' if expected == 'abc' else 'abc')


class OnlyA(filters.ColumnFilter):
    """A filter by columns, which passes host a."""

    def mask(self, hosts, spec_obj):
        return hosts.named('host', ['a'])


class AorB(OnlyA):
    def host_passes(self, host_state, filter_properties):
        return (host_state.host == 'b'
                or super().host_passes(host_state, filter_properties))


class Last(OnlyA):
    def filter_all(self, filter_obj_list, spec_obj):
        return [list(filter_obj_list)[-1]]


class TestColumnFilter:
    @pytest.mark.parametrize(('cls', 'expected'), [
        (OnlyA, 'a'), (AorB, 'ab'), (Last, 'c')])
    def test_judges_by_its_mask_unless_overridden(self, cls, expected):
        assert left(cls()) == expected
        assert left(cls(), hints=REBUILD) == ('c' if cls is Last else 'abc')

    def test_judges_one_host_by_its_mask(self):
        rule = a_plug_in(OnlyA, reason=lambda self, hosts, spec_obj: (
            f'{len(hosts)} host not a'))
        a, b, _ = abc().states()

        assert rule.host_passes(a, a_request()) is True
        assert rule.host_passes(b, a_request()) is False
        assert rule.why_not(b, a_request()) == '1 host not a'
