"""Requests that are decided here and wait for their live decisions."""

import logging
import types

from oslo_context import context as oslo_context
import pytest

from nova_sched import exception
from nova_sched.db.cells import CELL0_UUID
from nova_sched.dry_run.shadow import compare
from nova_sched.dry_run.shadow import watcher
from nova_sched.dry_run.shadow.live_picks import LivePicks
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

NOT_SEEN = compare.NOT_COMPARABLE, 'not seen'


def test_same_hosts_are_agreement(stage):
    """Placement is only read."""
    uuids = stage.request(2)
    stage.claim_and_wait(uuids[0], 'a')
    assert stage.entries() == []

    stage.claim_and_wait(uuids[1], 'b')

    assert stage.verdict() == (compare.SAME, None, None)
    [entry] = stage.entries()
    assert (entry['instances'], entry['live']['hosts']) == (uuids, ['a', 'b'])
    assert len(stage.watcher) == 0
    assert {asked.method for asked in stage.server.asked} == {'GET'}


def test_token_of_caller_is_not_kept(stage, caplog):
    caplog.set_level(logging.DEBUG)
    [uuid] = stage.request()
    assert oslo_context.get_current().auth_token is None

    stage.claim_and_wait(uuid, 'b')

    assert TOKEN not in stage.path.read_text() + caplog.text


def test_rejected_live_host_is_reported_with_the_filter(
        hosts, server, tmp_path):
    stage = Stage(hosts(disabled='b'), server, tmp_path)
    stage.place('b')
    stage.close()

    assert stage.verdict() == (compare.REFUSED_HERE, 'ComputeFilter',
                               'ComputeFilter refuses b')


@pytest.mark.parametrize('claimed', [False, True])
def test_instance_in_error_without_a_host_is_refused(stage, claimed):
    """Claims for other instances of the request are released."""
    uuids = stage.request(2)
    if claimed:
        stage.claim_and_wait(uuids[0], 'a')
        stage.held.clear()
    stage.refuse(*uuids)

    assert stage.verdict() == (compare.NONE_THERE, 'refused there',
                               'here: a, b')


def test_refusal_here_is_compared(stage):
    """A live decision that does not show is a refusal as well."""
    offer(stage.server, '')
    stage.place('a')
    stage.request()
    stage.wait(PATIENCE + 1)

    first, second = stage.entries()
    assert (first['verdict'], first['rule']) == (
        compare.NONE_HERE, compare.OFFERED)
    assert second['verdict'] == compare.BOTH_REFUSE


def test_failing_placement_here_is_an_error(stage):
    stage.server.on('GET', '/allocation_candidates',
                    http_placement.error(500, 'broken'))
    stage.place('a')

    assert stage.verdict()[:2] == (compare.FAILED, 'Placement')


@pytest.mark.parametrize(('count', 'placed', 'before', 'why'), [
    (1, 0, None, 'the instance shows neither on a host nor in cell0: '),
    (1, 0, 'c', 'the instance has only the allocations from before '),
    (3, 2, None, '2 of 3 instances have a host')])
def test_decision_that_does_not_show_in_time_is_not_seen(
        stage, count, placed, before, why):
    uuids = [a_uuid() for _ in range(count)]
    if before:
        stage.claim(uuids[0], before)
    stage.request(uuids=uuids)
    for uuid in uuids[:placed]:
        stage.claim(uuid, 'a')
    stage.wait(PATIENCE - 1)
    assert stage.entries() == []
    stage.wait(2)

    assert stage.verdict()[:2] == NOT_SEEN
    assert stage.verdict()[2].startswith(why)


def test_earlier_allocation_is_not_the_live_pick(stage):
    """An evacuated instance keeps it."""
    uuid = a_uuid()
    stage.claim(uuid, 'c')
    stage.request(uuids=[uuid], ignore_hosts=['c'])
    stage.wait()
    assert stage.entries() == []

    stage.held[uuid] |= {B: {'VCPU': 1}}
    stage.wait()

    assert stage.entries()[0]['live']['hosts'] == ['b']


def test_unknown_earlier_allocation_is_not_comparable(stage):
    stage.server.on('GET', '/allocations/',
                    http_placement.error(500, 'broken'))
    stage.request()

    assert stage.verdict()[:2] == NOT_SEEN
    assert stage.verdict()[2].startswith(
        'the allocations of the instance before are not known: ')


@pytest.mark.parametrize('request_', [
    {'spec_obj': requests.a_request(num_instances=2).obj_to_primitive()},
    {'spec_obj': requests.a_request(hints={
        '_nova_check_type': ['rebuild']}).obj_to_primitive(),
     'instance_uuids': [a_uuid()]}])
def test_rebuild_and_unnamed_instances_are_not_seen(stage, request_):
    stage.call(**request_)

    assert stage.verdict()[:2] == NOT_SEEN


@pytest.mark.parametrize('args', [
    {}, {'spec_obj': None}, {'spec_obj': 7, 'instance_uuids': [7]},
    {'what': 'else'}])
def test_invalid_request_does_not_end_the_watcher(stage, args):
    """Also a request of an unknown release."""
    stage.call(**args)
    [uuid] = stage.request()
    stage.claim(uuid, 'a')
    stage.wait(PATIENCE + 1)

    assert stage.entries()[-1]['verdict'] == compare.SAME


def test_failing_placement_is_logged_once_and_retried(stage, caplog):
    uuids = [*stage.request(), *stage.request()]
    stage.server.on('GET', '/allocations/',
                    http_placement.error(500, 'broken'))
    for _ in range(3):
        stage.wait()
    assert stage.entries() == []
    assert caplog.text.count('Cannot read the decisions') == 1

    stage.wait(PATIENCE)
    stage.server.on('GET', '/allocations/', stage.of_consumer)
    stage.claim_and_wait(uuids[1], 'a')

    failed, same = stage.entries()
    assert (failed['instances'], failed['rule']) == (uuids[:1], 'not seen')
    assert 'broken' in failed['why']
    assert same['verdict'] == compare.SAME


def test_hanging_placement_is_queried_once(hosts, server, tmp_path):
    stage = Stage(hosts(), server, tmp_path, placement__timeout=1)
    for _ in range(3):
        stage.request()
    server.on('GET', '/allocations/', HANG)
    asked = len(server.asked)

    stage.wait()
    stage.close()

    assert len(server.asked) == asked + 1
    assert len(stage.watcher) == 3


def test_stop_waits_for_at_most_one_answer(stage):
    [uuid] = stage.request()

    def ending(asked):
        stage.decider.placement.stop()
        return http_placement.error(500, 'broken')
    stage.server.on('GET', '/allocations/', ending)
    stage.wait()
    asked = len(stage.server.asked)
    for _ in range(2):
        stage.wait()
        stage.request()

    assert len(stage.server.asked) == asked
    assert {entry['verdict'] for entry in stage.entries()} == {
        compare.NOT_COMPARABLE}
    assert uuid not in str(stage.entries())


def test_pauses_between_polls_grow(stage):
    """From a tenth of a second to two seconds."""
    stage.request()
    [request], pauses = stage.watcher._pending, []
    for _ in range(10):
        due, asked = request.due_at, len(stage.server.asked)
        pauses.append(due - stage.now)
        stage.wait(due - stage.now - 0.001)
        assert len(stage.server.asked) == asked
        stage.now = due
        stage.watcher.poll()
        assert len(stage.server.asked) > asked

    assert pauses == pytest.approx([
        0.1, 0.15, 0.225, 0.3375, 0.50625, 0.759375, 1.1390625, 1.70859375,
        2.0, 2.0])


def test_oldest_of_too_many_requests_is_not_seen(stage, monkeypatch):
    monkeypatch.setattr(watcher, '_MAX_PENDING', 2)
    first, *_ = [stage.request() for _ in range(3)]

    assert len(stage.watcher) == 2
    assert stage.verdict() == (*NOT_SEEN, 'too many requests were waited for')
    assert stage.entries()[0]['instances'] == first


def test_fault_affects_one_request(stage, caplog):
    [odd], [uuid] = stage.request(), stage.request()
    find_places = stage.live_picks.find_places

    def failing(uuids, before):
        if odd in uuids:
            raise ZeroDivisionError('a fault')
        return find_places(uuids, before)
    stage.live_picks.find_places = failing
    stage.claim_and_wait(uuid, 'a')

    assert [entry['instances'] for entry in stage.entries()] == [[uuid]]
    assert caplog.messages == [
        f'Cannot compare the decisions on request req-{odd}']
    assert len(stage.watcher) == 0


def test_unknown_host_is_reported_by_its_provider(stage):
    """The first of several."""
    [uuid] = stage.request()
    stage.held[uuid] = {a_uuid(9): {'VCPU': 1}, a_uuid(8): {'VCPU': 1}}
    stage.wait()

    [entry] = stage.entries()
    assert entry['live']['hosts'] == [f'of provider {a_uuid(8)}']
    assert entry['rule'] == 'unknown host'


class TestWithoutPlacement:
    @pytest.fixture
    def stage(self, hosts, tmp_path):
        made = Stage(hosts(), None, tmp_path)
        yield made
        made.close()

    def test_host_in_the_database_is_the_live_pick(self, stage):
        [uuid] = stage.request()
        stage.boot(uuid, 'b')
        stage.wait()

        assert stage.verdict()[:2] == (compare.LOWER, 'weight')

    def test_host_of_two_requests_is_not_comparable(self, stage):
        """The order of the live decisions is not known."""
        uuids = [*stage.request(), *stage.request()]
        for uuid in uuids:
            stage.boot(uuid, 'b')
            stage.wait()

        assert (f'b was given to request req-{uuids[0]}, too'
                in stage.entries()[-1]['why'])

    def test_picks_here_take_no_room(self, stage):
        """Three requests for all memory of a host."""
        for _ in range(3):
            stage.request(memory_mb=8500)
        stage.wait(PATIENCE + 1)

        assert [entry['here']['hosts'] for entry in stage.entries()] == [
            ['a']] * 3

    @pytest.mark.parametrize('named', [True, False])
    def test_earlier_host_is_not_the_live_pick(self, stage, cloud, named):
        """Callers before Pike name the instance only in the request."""
        uuid = a_uuid()
        cloud.load_nodes(
            *(a_compute_node(host, uuid=node) for host, node in HOSTS.items()),
            services=[a_service(host) for host in HOSTS],
            instances=[an_instance('c', uuid=uuid)])
        stage.call(spec_obj=requests.a_request(
            instance_uuid=uuid, ignore_hosts=['c']).obj_to_primitive(),
            **{'instance_uuids': [uuid]} if named else {})

        assert (stage.entries(), len(stage.watcher)) == ([], 1)


def test_refused_instance_is_read_in_cell0(mapped_cloud, tmp_path, opened):
    """Closing ends all connections."""
    uuid = a_uuid()
    mapped_cloud.cell0.execute(
        "INSERT INTO instances (uuid, vm_state, deleted) VALUES (?, 'error', "
        "0)", uuid)
    before = opened()
    stage = Stage(mapped_cloud, None, tmp_path)
    stage.request(uuids=[uuid])
    assert opened() > before + 1
    stage.close()

    assert stage.verdict()[0] == compare.NONE_THERE
    assert opened() == before


def test_invalid_url_of_cell0_is_an_error(mapped_cloud):
    mapped_cloud.change(CELL0_UUID, database_connection='{nonsense}')
    picks = LivePicks(mapped_cloud.conf(),
                      types.SimpleNamespace(placement=None))

    with pytest.raises(exception.DatabaseUnavailable,
                       match='cell0 cannot be read: cell_mappings'):
        picks.find_refused([a_uuid()])
    picks.close()
