"""Why a request was decided as it was, all in one object."""

import json
import logging

import pytest

from nova_sched import exception
from nova_sched.explain import explanation
from nova_sched.scheduler import filters
from nova_sched.scheduler.attempt import HostSelector
from nova_sched.scheduler.attempt import SchedulingRequest
from tests.builders import clouds
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.unit.explain.builders import FaultyWeigher
from tests.unit.explain.builders import a_ranker
from tests.unit.explain.builders import full

LARGE, SMALL = a_host('large'), a_host('small', free_ram_mb=8192)


class AskingFilter(filters.BaseHostFilter):
    """Must not run."""

    asks_others = True

    def host_passes(self, host_state, spec_obj):
        raise AssertionError


def explain(*records, count=1, ranker=None, moment=None, placed=True,
            picked=(), named=(), request=None, **kwargs):
    """The Explanation of a request for so many instances on these hosts.

    picked, named: names of hosts.  request: fields of the RequestSpec.
    kwargs: of explain.
    """
    snapshot = hosts(*records).snapshot
    snapshot.moment = moment
    found = explanation.explain(
        snapshot, SchedulingRequest(
            a_request(num_instances=count, **request or {}),
            [clouds.a_uuid(number) for number in range(count)], count),
        ranker or a_ranker(), placed=placed,
        picked=[(name, name) for name in picked], default_zone='nova',
        named=[row for name in named
               for row in explanation.rows_named(snapshot, name)], **kwargs)
    shown = found.to_dict()
    assert json.loads(json.dumps(shown)) == shown
    assert shown.keys() == {'why', 'why_not', 'changes', 'changes_complete',
                            'schedule_info'}
    return found


class TestPlaced:
    def test_the_drawn_host_is_explained(self):
        line, _ = explain(LARGE, a_host('other'), picked=['other'],
                          selector=HostSelector(0.0, 1)).sentences()

        assert line == ('other weighs as much as all hosts that fit; tie of '
                        '2, drawn by seed')

    def test_a_later_instance_sees_those_before_it(self):
        found = explain(
            LARGE, a_host('half', total_usable_ram_mb=600, free_ram_mb=600,
                          ram_allocation_ratio=1.0), count=2,
            picked=['half', 'large'], instance=1)

        assert (found.instance, found.pick.host) == (1, 'large')
        assert found.sentences() == [
            'of instance 2:', 'large is the only host that fits',
            '1 of 2 hosts fit, rejected: 1 only RamFilter']

    def test_on_a_state_where_its_host_does_not_fit(self):
        """The rebuilt state may differ from the original one."""
        found = explain(full('a'), LARGE, picked=['a'])

        assert found.pick is None
        assert found.sentences()[0] == 'a does not fit on this state'

    def test_on_a_state_without_its_host(self):
        assert explain(LARGE, picked=['gone']).pick is None

    def test_is_about_the_first_instance_whose_host_is_gone(self):
        found = explain(LARGE, SMALL, count=3, instance=2,
                        picked=['large', 'gone', 'small'])

        assert (found.instance, found.pick) == (1, None)

    def test_a_weigher_that_fails_is_told(self):
        found = explain(LARGE, SMALL, picked=['large'],
                        ranker=a_ranker(weighers=[FaultyWeigher()]))

        assert found.pick is None
        assert "the hosts cannot be weighed: ValueError('broken')" in (
            found.error)
        assert found.to_dict()['why']['error'] == found.error

class TestRefused:
    def test_has_rejections_and_changes_that_help(self):
        found = explain(full('a'), full('b', service_up=False), placed=False)

        assert found.sentences() == [
            '0 of 2 hosts fit, rejected: 1 only RamFilter; 1 ComputeFilter '
            'and RamFilter',
            'only RamFilter: 1 of 2 hosts, a',
            'ComputeFilter and RamFilter: 1 of 2 hosts, b',
            'with 511 MB of RAM less on a the request is placed',
            'with up to 1 MB of RAM the request is placed']

    def test_is_about_the_instance_that_failed(self):
        found = explain(
            a_host('a', total_usable_ram_mb=600, free_ram_mb=600,
                   ram_allocation_ratio=1.0), count=2, placed=False,
            picked=['a'])

        assert found.instance == 1
        assert found.to_dict()['why']['matrix']['instance'] == 1
        assert found.matrix.combinations[0].rules == ('RamFilter',)
        assert [change.kind for change in found.changes.found] == [
            'fewer_instances', 'freed', 'smaller_amounts']

    def test_a_host_that_placement_refuses_does_not_fit(self):
        """It passes all rules; Placement knows of newer claims."""
        found = explain(LARGE, full('a'), placed=False, refused=[0])

        assert found.sentences()[0] == (
            '0 of 2 hosts fit, rejected: 1 only claims refused; 1 only '
            'RamFilter')
        assert explain(LARGE, placed=False, refused=[0], named=['large']
                       ).why_not[0].verdicts[0].words == (
            'Placement refuses to claim it')

class TestNamedHosts:
    def test_each_is_listed_once_with_reasons_and_rank(self):
        found = explain(LARGE, SMALL, full('a', service_up=False),
                        picked=['large'], named=['a', 'small', 'a'])

        assert [each.host for each in found.why_not] == ['a', 'small']
        first, *others = found.why_not[0].sentences()
        assert first == 'a does not fit: 2 rules'
        assert [first, *(f'  {line}' for line in others)] == (
            found.sentences()[2:2 + 1 + len(others)])
        assert found.why_not[1].rank == 2

    def test_may_be_named_by_a_node_and_have_several(self):
        records = [a_host('ironic', nodename=node) for node in ('n1', 'n2')]

        for name, names in (('n2', ['ironic (node n2)']), (
                'ironic', ['ironic (node n1)', 'ironic (node n2)'])):
            assert [each.host for each in explain(
                *records, named=[name]).why_not] == names

    @pytest.mark.parametrize('name, words', [
        ('smal', 'there is no host smal; did you mean small?'),
        ('x', 'there is no host x among 2')])
    def test_unknown_host_is_an_error(self, name, words):
        with pytest.raises(exception.InvalidInput, match=words):
            explain(LARGE, SMALL, named=[name])


class TestScheduleInfo:
    def test_has_the_verdict_on_every_host(self):
        passed, failed = explain(
            LARGE, full('a'), picked=['large'], every_host=True,
            moment=1767225600.25).schedule_info

        created_at = '2026-01-01 00:00:00.250'
        assert passed == {
            'host': 'large', 'node': 'large', 'result': 'passed',
            'reason': None, 'created_at': created_at, 'filters': []}
        [said] = failed.pop('filters')
        assert failed == {
            'host': 'a', 'node': 'a', 'result': 'failed',
            'reason': 'RamFilter: needs 512 MB of RAM, has 1 MB left, lacks '
                      '511 MB', 'created_at': created_at}
        assert (said['rule'], said['figures'][0]['have_mb']) == (
            'RamFilter', 1)

    def test_is_optional(self):
        assert explain(LARGE).schedule_info is None


class TestOthers:
    """Other services, and the log."""

    def test_are_not_asked(self):
        found = explain(LARGE, SMALL, count=2, picked=['large', 'small'],
                        instance=1, ranker=a_ranker(AskingFilter()))

        assert found.matrix.not_asked == ('AskingFilter',)
        assert found.pick.host == 'small'

    def test_are_asked_if_that_is_wanted(self):
        found = explain(LARGE, placed=False, ask_others=True,
                        ranker=a_ranker(AskingFilter()))

        assert found.matrix.errors.keys() == {'AskingFilter'}

    def test_nothing_is_logged(self, caplog):
        caplog.set_level(logging.DEBUG)

        explain(full('a'), placed=False, ranker=a_ranker(
            'RamFilter', AskingFilter()), ask_others=True,
            request={'ignore_hosts': ['x']})

        assert caplog.records == []
        logging.getLogger('nova_sched.x').warning('after')
        assert caplog.messages == ['after']
