"""Requests decided beside a live scheduler, and what they come to."""

import logging

from oslo_context import context as oslo_context
import pytest

from nova_sched.dry_run.shadow import compare
from nova_sched.dry_run.shadow import tap
from tests.builders import http_placement
from tests.builders import requests
from tests.builders.clouds import a_compute_node
from tests.builders.clouds import a_service
from tests.builders.clouds import a_uuid
from tests.builders.clouds import an_instance
from tests.builders.http_server import HANG
from tests.unit.dry_run.shadow.stage import HOSTS
from tests.unit.dry_run.shadow.stage import PATIENCE
from tests.unit.dry_run.shadow.stage import TOKEN
from tests.unit.dry_run.shadow.stage import B
from tests.unit.dry_run.shadow.stage import Stage
from tests.unit.dry_run.shadow.stage import offer


def test_the_same_host_is_agreement(stage):
    [uuid] = stage.ask()
    assert stage.told() == []

    stage.claim(uuid, 'a')
    stage.later()

    assert stage.verdict() == (compare.SAME, None, None)
    assert len(stage.watcher) == 0


def test_placement_is_read_and_nothing_else(stage):
    """Two instances would be claimed by a scheduler that serves."""
    for uuid in stage.ask(2):
        stage.claim(uuid, 'a')
    stage.later()

    assert stage.told()
    assert {asked.method for asked in stage.server.asked} == {'GET'}


def test_the_callers_token_is_kept_nowhere(stage, caplog):
    caplog.set_level(logging.DEBUG)
    [uuid] = stage.ask()
    assert oslo_context.get_current().auth_token is None

    stage.claim(uuid, 'b')
    stage.later()

    assert TOKEN not in stage.path.read_text() + caplog.text


def test_a_host_that_a_filter_refuses_is_told_with_it(
        hosts, server, tmp_path):
    stage = Stage(hosts(disabled='b'), server, tmp_path)
    stage.place('b')
    stage.close()

    assert stage.verdict() == (compare.REFUSED_HERE, 'ComputeFilter',
                               'ComputeFilter refuses b')


def test_an_instance_in_error_without_a_host_was_refused(stage):
    [uuid] = stage.ask()
    stage.bury(uuid)
    stage.later()

    assert stage.verdict() == (compare.NONE_THERE, 'refused there', 'here: a')


def test_an_instance_of_which_nothing_shows_in_time_is_not_compared(stage):
    """Its claim may have been given back before anybody looked."""
    stage.ask()
    stage.later(PATIENCE - 1)
    assert stage.told() == []
    stage.later(2)

    verdict, rule, why = stage.verdict()
    assert (verdict, rule) == (compare.NOT_COMPARABLE, 'not seen')
    assert 'neither on a host nor in cell0' in why


def test_that_nothing_shows_agrees_with_a_refusal_here(stage):
    offer(stage.server, '')
    stage.ask()
    stage.later(PATIENCE + 1)

    assert stage.verdict()[0] == compare.BOTH_REFUSE


def test_a_refusal_here_alone_is_told(stage):
    offer(stage.server, '')
    stage.place('a')

    assert stage.verdict()[:2] == (compare.NONE_HERE, compare.OFFERED)


def test_what_others_claimed_meanwhile_makes_it_not_comparable(stage):
    [uuid] = stage.ask()
    stage.claim(uuid, 'b')
    stage.claim(a_uuid(), 'a', vcpus=3)
    stage.later()

    assert stage.verdict() == (
        compare.NOT_COMPARABLE, 'state moved',
        'VCPU of a taken by others in Placement: 0 became 3')
    assert stage.told()[0]['otherwise'] == compare.LOWER


def test_what_the_instance_itself_takes_is_no_change(stage):
    """Its compute service may report it before it is looked for."""
    [uuid] = stage.ask()
    stage.cloud.execute("UPDATE compute_nodes SET free_ram_mb = 10 "
                        "WHERE host = 'a'")
    stage.boot(uuid, 'a')
    stage.claim(uuid, 'a')
    stage.later()

    assert stage.verdict()[0] == compare.SAME


def test_what_an_instance_had_before_is_not_its_new_host(stage):
    """As with an evacuation, whose instance keeps its old claim."""
    uuid = a_uuid()
    stage.claim(uuid, 'c')
    stage.ask(uuids=[uuid], ignore_hosts=['c'])
    stage.later()
    assert stage.told() == []

    stage.held[uuid] |= {B: {'VCPU': 1}}
    stage.later()

    assert stage.told()[0]['live']['hosts'] == ['b']


def test_nothing_new_for_what_had_a_host_says_nothing(stage):
    uuid = a_uuid()
    stage.claim(uuid, 'c')
    stage.ask(uuids=[uuid])
    stage.later(PATIENCE + 1)

    assert stage.verdict()[:2] == (compare.NOT_COMPARABLE, 'not seen')


def test_instances_of_one_request_are_compared_together(stage):
    uuids = stage.ask(2)
    stage.claim(uuids[0], 'a')
    stage.later()
    assert stage.told() == []

    stage.claim(uuids[1], 'a')
    stage.later()

    [entry] = stage.told()
    assert entry['instances'] == uuids
    assert sorted(entry['live']['hosts']) == ['a', 'a']


def test_a_rebuild_shows_nowhere(stage):
    stage.ask(hints={'_nova_check_type': ['rebuild']})

    assert stage.verdict()[:2] == (compare.NOT_COMPARABLE, 'not seen')


def test_callers_that_name_no_instances_cannot_be_followed(stage):
    stage.watcher.add(tap.Call('select_destinations', {
        'spec_obj': requests.a_request(
            num_instances=2).obj_to_primitive()}, {}))

    assert stage.verdict()[:2] == (compare.NOT_COMPARABLE, 'not seen')


@pytest.mark.parametrize('args', [
    {}, {'spec_obj': None}, {'spec_obj': 7, 'instance_uuids': 7},
    {'what': 'else'}])
def test_a_wrong_request_is_no_end(stage, args):
    """Nor is one that a live scheduler of another release understands."""
    stage.watcher.add(tap.Call('select_destinations', args, {}))
    [uuid] = stage.ask()
    stage.claim(uuid, 'a')
    stage.later(PATIENCE + 1)

    assert stage.told()[-1]['verdict'] == compare.SAME


def test_a_placement_that_fails_is_told_once_and_waited_for(stage, caplog):
    [uuid] = stage.ask()
    stage.server.on('GET', '/allocations/',
                    http_placement.error(500, 'broken'))
    for _ in range(3):
        stage.later()
    assert stage.told() == []
    assert caplog.text.count('Cannot read the decisions') == 1

    stage.server.on('GET', '/allocations/', stage.of_consumer)
    stage.claim(uuid, 'a')
    stage.later()
    assert stage.verdict()[0] == compare.SAME


def test_a_pick_is_not_taken_for_what_an_instance_had_before(stage):
    """Where Placement has not told that, before the decision."""
    stage.server.on('GET', '/allocations/',
                    http_placement.error(500, 'broken'))
    stage.ask()

    verdict, rule, why = stage.verdict()
    assert (verdict, rule) == (compare.NOT_COMPARABLE, 'not seen')
    assert why.startswith('the allocations of the instance before are not ')


class TestWithoutPlacement:
    @pytest.fixture
    def stage(self, hosts, tmp_path):
        made = Stage(hosts(), None, tmp_path)
        yield made
        made.close()

    def test_the_host_in_the_database_is_the_live_pick(self, stage):
        [uuid] = stage.ask()
        stage.boot(uuid, 'b')
        stage.later()

        assert stage.verdict()[:2] == (compare.LOWER, 'weight')

    def test_a_host_that_another_request_was_given_is_not_compared(
            self, stage):
        """Nobody tells which of the two the live scheduler had first."""
        uuids = [*stage.ask(), *stage.ask()]
        for uuid in uuids:
            stage.boot(uuid, 'b')
            stage.later()

        assert (f'b was given to request req-{uuids[0]}, too'
                in stage.told()[-1]['why'])

    def test_the_host_it_was_on_before_is_none(self, stage, cloud):
        cloud.load_nodes(*(a_compute_node(host) for host in 'ab'),
                         instances=[an_instance('b', uuid=a_uuid(9))])
        stage.ask(uuids=[a_uuid(9)])
        stage.later(PATIENCE + 1)

        assert stage.verdict()[:2] == (compare.NOT_COMPARABLE, 'not seen')

    def test_what_is_chosen_here_takes_nothing(self, stage):
        """Three requests for all of a host, none of which is built here."""
        for _ in range(3):
            stage.ask(memory_mb=8500)
        stage.later(PATIENCE + 1)

        assert [entry['here']['hosts'] for entry in stage.told()] == [
            ['a']] * 3


def test_cell0_shows_who_was_refused(mapped_cloud, tmp_path):
    stage = Stage(mapped_cloud, None, tmp_path)
    [uuid] = stage.ask()
    mapped_cloud.cell0.execute(
        "INSERT INTO instances (uuid, vm_state, deleted) VALUES (?, 'error', "
        "0)", uuid)
    stage.later()
    stage.close()

    assert stage.verdict()[0] == compare.NONE_THERE


def test_a_placement_that_hangs_is_waited_for_once(hosts, server, tmp_path):
    stage = Stage(hosts(), server, tmp_path, placement__timeout=1)
    for _ in range(3):
        stage.ask()
    server.on('GET', '/allocations/', HANG)
    asked = len(server.asked)

    stage.later()
    stage.close()

    assert len(server.asked) == asked + 1
    assert len(stage.watcher) == 3


def test_where_an_instance_is_before_it_moves_is_no_live_decision(
        cloud, tmp_path):
    """Callers of before Pike name it in the request alone."""
    uuid = a_uuid()
    cloud.load_nodes(
        *(a_compute_node(host, uuid=node) for host, node in HOSTS.items()),
        services=[a_service(host) for host in HOSTS],
        instances=[an_instance('c', uuid=uuid)])
    stage = Stage(cloud, None, tmp_path)

    stage.watcher.add(tap.Call('select_destinations', {
        'spec_obj': requests.a_request(
            instance_uuid=uuid, ignore_hosts=['c']).obj_to_primitive()}, {}))
    stage.close()

    assert stage.told() == []
    assert len(stage.watcher) == 1
