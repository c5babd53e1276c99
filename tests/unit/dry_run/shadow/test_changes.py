"""What may have moved between two decisions, and what has not."""

import pytest

from nova_sched.dry_run.shadow import compare
from tests.builders import http_placement
from tests.builders.clouds import a_uuid
from tests.builders.http_server import HANG
from tests.unit.dry_run.shadow.stage import HOSTS
from tests.unit.dry_run.shadow.stage import PATIENCE
from tests.unit.dry_run.shadow.stage import Stage
from tests.unit.dry_run.shadow.stage import offer

NOT_OFFERED = (compare.REFUSED_HERE, compare.OFFERED,
               'Placement did not offer a')


@pytest.fixture
def full(stage):
    """A stage on which Placement does not offer the best host, a."""
    offer(stage.server, 'bc')
    return stage


def moved(stage, uuid):
    """Why the request for an instance is not comparable; None if it is."""
    [entry] = [entry for entry in stage.told() if uuid in entry['instances']]
    if entry['verdict'] != compare.NOT_COMPARABLE:
        return None
    assert entry['rule'] == 'state moved'
    return entry['why']


class TestOfAHostThatPlacementDidNotOffer:
    def test_without_anything_besides_it_is_a_difference_of_rules(self, full):
        uuids = full.ask(2)
        for uuid, host in zip(uuids, 'ab', strict=True):
            full.claim(uuid, host)
            full.later()

        assert full.verdict() == NOT_OFFERED

    def test_the_first_of_several_may_have_been_claimed_before(self, full):
        """As a live scheduler does that is quicker, but not done yet."""
        uuids = [a_uuid(), a_uuid()]
        full.claim(uuids[0], 'a')
        full.ask(uuids=uuids)
        assert full.told() == []

        full.claim(uuids[1], 'b')
        full.later()

        assert moved(full, uuids[0]) == (
            'a was claimed before it was decided here')

    def test_before_is_before_it_was_first_seen(self, full):
        """As long as Placement fails nobody knows what is claimed."""
        full.server.on('GET', '/allocations/',
                       http_placement.error(500, 'broken'))
        uuids = full.ask(2)
        full.server.on('GET', '/allocations/', full.of_consumer)
        for uuid in uuids:
            full.claim(uuid, 'a')
        full.later()

        assert moved(full, uuids[0]).startswith(
            'a was claimed before it was decided here')

    def test_who_was_given_it_and_left_may_have_held_it(self, full):
        other = full.place('a')
        [uuid] = full.ask()
        del full.held[other]
        full.claim(uuid, 'a')
        full.later()

        assert moved(full, uuid) == (
            f'a was given to request req-{other}, which has left it since')

    def test_who_was_given_it_and_is_there_is_no_reason(self, full):
        """The live scheduler found room beside it."""
        full.place('a')
        uuid = full.place('a')

        assert full.told()[-1]['instances'] == [uuid]
        assert full.told()[-1]['why'] == NOT_OFFERED[-1]

    def test_who_was_given_it_long_ago_is_no_reason(self, full):
        other = full.place('a')
        full.later(10)
        del full.held[other]
        uuid = full.place('a')

        assert moved(full, uuid) is None

    def test_time_counts_from_before_placement_was_asked(self, full):
        """However long it takes to answer."""
        other = full.place('a')

        def slow(asked):
            full.now += 30
            return http_placement.candidates()
        full.server.on('GET', '/allocation_candidates', slow)
        del full.held[other]
        uuid = full.place('a')

        assert moved(full, uuid).startswith('a was given to ')

    def test_a_request_for_several_may_hold_it_for_a_while(self, full):
        """It gives back what it has when one of its instances fits nowhere.
        """
        several = full.ask(2)
        uuid = full.place('a')

        assert moved(full, uuid).startswith(
            f'a may have been held for request req-{several[0]}, which is '
            f'for several instances')

    def test_so_may_one_that_was_refused_meanwhile(self, full):
        several, [uuid] = full.ask(2), full.ask()
        full.bury(several[0])
        full.later()
        full.claim(uuid, 'a')
        full.later()

        assert moved(full, uuid).startswith('a may have been held for ')

    def test_one_that_was_refused_before_held_nothing_then(self, full):
        full.bury(full.ask(2)[0])
        full.later()
        full.later()
        uuid = full.place('a')

        assert moved(full, uuid) is None

    def test_a_request_for_one_that_is_refused_holds_nothing(self, full):
        [other], [uuid] = full.ask(), full.ask()
        full.bury(other)
        full.later()
        full.claim(uuid, 'a')
        full.later()

        assert moved(full, uuid) is None

    def test_a_request_for_several_that_shows_is_no_reason(self, full):
        several, [uuid] = full.ask(2), full.ask()
        for one in several:
            full.claim(one, 'c')
        full.later()
        full.claim(uuid, 'a')
        full.later()

        assert moved(full, uuid) is None

    def test_placement_may_have_left_it_out_for_their_number(
            self, hosts, server, tmp_path):
        stage = Stage(hosts(), server, tmp_path,
                      scheduler__max_placement_results=2)
        offer(server, 'bc')
        uuid = stage.place('a')
        stage.close()

        assert moved(stage, uuid) == (
            'Placement may have left out a: it offered as many as '
            '[scheduler] max_placement_results = 2')


class TestOfAHostThatPlacementOffered:
    def test_who_came_and_left_meanwhile_may_have_been_counted(self, stage):
        """Neither before nor after it shows in Placement."""
        [uuid], other = stage.ask(), stage.place('a')
        del stage.held[other]
        stage.claim(uuid, 'b')
        stage.later()

        assert moved(stage, uuid).startswith(
            f'a was given to request req-{other}, which has left')

    def test_one_request_at_a_time_sees_what_became_of_the_last(self, stage):
        other = stage.place('a')
        del stage.held[other]
        uuid = stage.place('b')

        assert moved(stage, uuid) is None

    def test_among_others_who_left_may_have_been_there_before(self, stage):
        other = stage.place('a')
        stage.ask()
        del stage.held[other]
        uuid = stage.place('b')

        assert moved(stage, uuid).startswith('a was given to ')

    def test_a_request_for_several_may_hold_it_for_a_while(self, stage):
        stage.ask(2)
        uuid = stage.place('b')

        assert moved(stage, uuid).startswith('a may have been held for ')


def test_several_of_which_some_had_a_host_may_be_refused(stage):
    """What they had was given back."""
    uuids = stage.ask(2)
    stage.claim(uuids[0], 'a')
    stage.later()
    stage.held.clear()
    stage.bury(*uuids)
    stage.later()

    assert stage.verdict()[0] == compare.NONE_THERE


def test_what_an_instance_takes_on_its_host_before_is_a_change(stage):
    """It is in the row that was read here, though not in Placement's answer.
    """
    uuid = a_uuid()

    def quick(asked):
        stage.claim(uuid, 'a')
        stage.cloud.execute("UPDATE compute_nodes SET free_ram_mb = 10 "
                            "WHERE host = 'a'")
        stage.boot(uuid, 'a')
        return http_placement.candidates(*(
            http_placement.a_candidate(one) for one in HOSTS.values()))
    stage.server.on('GET', '/allocation_candidates', quick)
    stage.ask(uuids=[uuid])

    assert moved(stage, uuid) == (
        'an instance of the request was on a before it was decided here')


def test_a_host_that_came_meanwhile_is_not_compared(stage):
    stage.cloud.execute("UPDATE compute_nodes SET deleted = 1 "
                        "WHERE host = 'a'")
    [uuid] = stage.ask()
    stage.cloud.execute('UPDATE compute_nodes SET deleted = 0')
    stage.claim(uuid, 'a')
    stage.later()

    assert moved(stage, uuid) == (
        'host a was not read when it was decided here')


def test_a_placement_that_fails_here_is_an_error_and_refuses_nobody(stage):
    stage.server.on('GET', '/allocation_candidates',
                    http_placement.error(500, 'broken'))
    stage.place('a')

    assert stage.verdict()[:2] == (compare.FAILED, 'Placement')


def test_without_an_answer_of_placement_a_refusal_is_no_agreement(
        hosts, server, tmp_path):
    stage = Stage(hosts(), server, tmp_path, placement__timeout=1)
    server.on('GET', '/allocation_candidates', HANG)
    [uuid] = stage.ask()
    stage.later(PATIENCE + 1)
    stage.close()

    assert moved(stage, uuid) == (
        'Placement did not answer when it was decided here')
    assert stage.told()[0]['otherwise'] == compare.BOTH_REFUSE


def test_a_stop_waits_for_one_answer_at_most(stage):
    """Whatever else would be asked about a request."""
    [uuid] = stage.ask()

    def ending(asked):
        stage.decider.placement.stop()
        return http_placement.error(500, 'broken')
    stage.server.on('GET', '/allocations/', ending)
    stage.later()
    asked = len(stage.server.asked)
    for _ in range(2):
        stage.later()
        stage.ask()

    assert len(stage.server.asked) == asked
    assert {entry['verdict'] for entry in stage.told()} == {
        compare.NOT_COMPARABLE}
    assert uuid not in str(stage.told())


def test_a_placement_that_fails_then_tells_of_no_changes(stage):
    [uuid] = stage.ask()
    stage.claim(uuid, 'b')
    stage.server.on('GET', '/resource_providers/',
                    http_placement.error(500, 'broken'))
    stage.later()

    assert moved(stage, uuid).startswith('the changes since are not known: ')
    assert 'broken' in moved(stage, uuid)


def test_a_driver_that_tells_no_hosts_has_none_that_changed(hosts, tmp_path):
    stage = Stage(hosts(), None, tmp_path)
    stage.decider.table = lambda: None
    [uuid] = stage.ask()
    stage.cloud.execute('UPDATE compute_nodes SET free_ram_mb = 10')
    stage.boot(uuid, 'b')
    stage.later()
    stage.close()

    assert moved(stage, uuid) is None
    assert stage.verdict()[0] == compare.LOWER
