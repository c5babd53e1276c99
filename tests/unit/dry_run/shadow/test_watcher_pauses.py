"""How long live decisions are waited for, and what comes in between."""

import pytest

from nova_sched.dry_run.shadow import compare
from nova_sched.dry_run.shadow import watcher
from tests.builders import http_placement
from tests.builders.clouds import a_uuid
from tests.unit.dry_run.shadow.stage import PATIENCE


def test_a_live_decision_is_looked_for_less_and_less_often(stage):
    """After a tenth of a second at first, and every two seconds at last."""
    stage.ask()
    [one], pauses = stage.watcher._pending, []
    for _ in range(10):
        due, asked = one.due_at, len(stage.server.asked)
        pauses.append(due - stage.now)
        stage.later(due - stage.now - 0.001)
        assert len(stage.server.asked) == asked
        stage.now = due
        stage.watcher.poll()
        assert len(stage.server.asked) > asked

    assert pauses == pytest.approx([
        0.1, 0.15, 0.225, 0.3375, 0.50625, 0.759375, 1.1390625, 1.70859375,
        2.0, 2.0])


def test_of_too_many_requests_the_oldest_is_given_up(stage, monkeypatch):
    monkeypatch.setattr(watcher, '_MAX_PENDING', 2)
    [first], *_ = [stage.ask() for _ in range(3)]

    assert len(stage.watcher) == 2
    [entry] = stage.told()
    assert entry['instances'] == [first]
    assert (entry['rule'], entry['why']) == (
        'not seen', 'too many requests were waited for')


def test_a_fault_costs_its_own_request_alone(stage, caplog):
    [odd], [uuid] = stage.ask(), stage.ask()
    places = stage._live_picks.find_places

    def failing(uuids, before):
        if odd in uuids:
            raise ZeroDivisionError('a fault')
        return places(uuids, before)
    stage._live_picks.find_places = failing
    stage.claim(uuid, 'a')
    stage.later()

    assert [entry['instances'] for entry in stage.told()] == [[uuid]]
    assert caplog.messages == [
        f'Cannot compare the decisions on request req-{odd}']
    assert len(stage.watcher) == 0


def test_a_placement_that_fails_to_the_end_says_nothing_of_a_decision(stage):
    stage.ask()
    stage.server.on('GET', '/allocations/',
                    http_placement.error(500, 'broken'))
    stage.later(PATIENCE)

    [entry] = stage.told()
    assert entry['rule'] == 'not seen'
    assert 'broken' in entry['why']


def test_some_instances_of_a_request_are_no_decision_about_it(stage):
    uuids = stage.ask(3)
    for uuid in uuids[:2]:
        stage.claim(uuid, 'a')
    stage.later(PATIENCE)

    assert stage.verdict() == (compare.NOT_COMPARABLE, 'not seen',
                               '2 of 3 instances have a host')


def test_a_host_that_nobody_knows_goes_by_its_provider(stage):
    """The first of several."""
    [uuid] = stage.ask()
    stage.held[uuid] = {a_uuid(9): {'VCPU': 1}, a_uuid(8): {'VCPU': 1}}
    stage.later()

    [entry] = stage.told()
    assert entry['live']['hosts'] == [f'of provider {a_uuid(8)}']
    assert entry['rule'] == 'unknown host'
