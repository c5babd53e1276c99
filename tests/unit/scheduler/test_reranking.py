"""The next instance of a request is ranked by changes of the last pick."""

import logging

import pytest

from nova_sched.plugins import loading as plugins
from nova_sched.rules import rule_inputs
from nova_sched.scheduler import ranking
from nova_sched.scheduler import weights
from tests.builders import requests
from tests.builders import rules
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import picks
from tests.builders.hosts import a_host

UUIDS = [f'u{number}' for number in range(6)]


class YoungestHostWeigher(weights.BaseHostWeigher):
    def _weigh_object(self, host_state, weight_properties):
        return -host_state.num_instances


def hosts(count=4, **values):
    """Hosts with ever less free memory."""
    return [a_host(f'h{number}', free_ram_mb=3000 - 100 * number, **values)
            for number in range(count)]


@pytest.fixture
def judgements(monkeypatch):
    """How many hosts were judgements again, a number for each pick."""
    found, judge = [], ranking.Reranker._passing

    def noted(reranker, block, *args):
        found.append(len(block))
        return judge(reranker, block, *args)
    monkeypatch.setattr(ranking.Reranker, '_passing', noted)
    return found


def placed(spec=None, records=None, **options):
    """The hosts of six instances."""
    driver = MemoryScheduler(*(records or hosts()), **{
        'weight_classes': ['nova.scheduler.weights.ram.RAMWeigher'],
        **options})
    return picks(driver, spec or requests.a_request(memory_mb=150), UUIDS)


def in_a_group(policy, **values):
    """A request of a server group with its members."""
    group = requests.a_group(policy, members=UUIDS)
    group.wire_version = '1.11'
    return requests.a_request(group=group, **values)


class TestPlainRequest:
    def test_judges_the_picked_host_only(self, judgements):
        assert placed() == ['h0', 'h1', 'h0', 'h2', 'h1', 'h0']
        assert judgements == [1] * 5

    def test_judges_all_nodes_of_the_picked_host(self, judgements):
        records = [*hosts(), a_host('h0', nodename='n', free_ram_mb=10)]

        assert placed(records=records)[0] == 'h0'
        assert judgements[0] == 2

    def test_leaves_out_a_host_that_is_full(self, judgements):
        assert placed(requests.a_request(memory_mb=1000),
                      enabled_filters=['RamFilter'],
                      records=hosts(ram_allocation_ratio=1.0,
                                    total_usable_ram_mb=3000)) == [
            'h0', 'h1', 'h2', 'h3', 'h0', 'h1']


class TestServerGroup:
    def test_with_affinity_stays_on_the_first_host(self):
        spec = in_a_group('affinity', memory_mb=150)

        assert placed(spec, enabled_filters=[
            'ServerGroupAffinityFilter']) == ['h0'] * 6

    def test_with_anti_affinity_takes_each_host_once(self, judgements):
        spec = in_a_group('anti-affinity', memory_mb=1)

        assert placed(spec, records=hosts(8), enabled_filters=[
            'ServerGroupAntiAffinityFilter']) == [
            'h0', 'h1', 'h2', 'h3', 'h4', 'h5']
        assert judgements == [1] * 5

    @pytest.mark.parametrize('policy, name, where', [
        ('soft-affinity', 'ServerGroupSoftAffinityWeigher', ['h0'] * 6),
        ('soft-anti-affinity', 'ServerGroupSoftAntiAffinityWeigher',
         ['h0', 'h1', 'h2', 'h3', 'h3', 'h2'])])
    def test_with_a_soft_policy_is_weighed_by_its_members(self, policy, name,
                                                          where, judgements):
        spec = in_a_group(policy)

        assert placed(spec, weight_classes=[
            f'nova.scheduler.weights.affinity.{name}']) == where
        assert judgements == [1] * 5


@pytest.mark.parametrize('spec, options', [
    (requests.a_request(memory_mb=150),
     {'weight_classes': [f'{__name__}.YoungestHostWeigher']}),
    (requests.a_request(force_hosts=['h0']), {}),
    (requests.a_request(requested_destination=requests.a_destination(
        host='h0')), {}),
    (in_a_group('affinity'),
     {'enabled_filters': ['ServerGroupAffinityFilter']}),
    (requests.a_request(hints={'query': ['["=", "$host", "h0"]']}),
     {'enabled_filters': ['JsonFilter']})],
    ids=['plug-in', 'forced', 'destination', 'affinity', 'query'])
def test_judges_all_hosts_where_a_pick_may_change_more(spec, options,
                                                       judgements):
    placed(spec, **options)

    assert not judgements


def test_judges_all_hosts_for_debug_lines(judgements, caplog):
    caplog.set_level(logging.DEBUG)
    placed()

    assert not judgements


@pytest.mark.parametrize('cls', [*plugins.all_filters(),
                                 *plugins.all_weighers()])
def test_plain_requests_do_not_affect_other_hosts(cls):
    rule = rules.configured(cls)

    assert rule_inputs.changed_by_picks(
        [rule], requests.a_request()) is not None
