"""Changes of state between the two decisions on one request."""

import pytest

from nova_sched.dry_run.shadow import changes
from nova_sched.dry_run.shadow import compare
from tests.builders import hosts as tables
from tests.builders import http_placement
from tests.builders.clouds import a_uuid
from tests.builders.http_server import HANG
from tests.unit.dry_run.shadow.stage import HOSTS
from tests.unit.dry_run.shadow.stage import PATIENCE
from tests.unit.dry_run.shadow.stage import Stage
from tests.unit.dry_run.shadow.stage import offer


@pytest.fixture
def full(stage):
    """A stage where Placement does not offer the best host, a."""
    offer(stage.server, 'bc')
    return stage


def moved(stage, uuid):
    """Return why a request is not comparable; None if it is."""
    [entry] = [entry for entry in stage.entries()
               if uuid in entry['instances']]
    if entry['verdict'] != compare.NOT_COMPARABLE:
        return None
    assert entry['rule'] == 'state moved'
    return entry['why']


class TestHostThatPlacementDidNotOffer:
    def test_host_without_other_requests_is_compared(self, full):
        for uuid, host in zip(full.request(2), 'ab', strict=True):
            full.claim_and_wait(uuid, host)

        assert full.verdict() == (compare.REFUSED_HERE, compare.OFFERED,
                                  'Placement did not offer a')

    def test_claim_before_the_decision_counts(self, full):
        """The first claim of a live scheduler that is faster."""
        uuids = [a_uuid(), a_uuid()]
        full.claim(uuids[0], 'a')
        full.request(uuids=uuids)
        assert full.entries() == []

        full.claim_and_wait(uuids[1], 'b')

        assert moved(full, uuids[0]) == (
            'a was claimed before it was decided here')

    def test_claim_before_the_first_answer_of_placement_counts(self, full):
        """The time of the claim is not known then."""
        full.server.on('GET', '/allocations/',
                       http_placement.error(500, 'broken'))
        uuids = full.request(2)
        full.server.on('GET', '/allocations/', full.of_consumer)
        for uuid in uuids:
            full.claim(uuid, 'a')
        full.wait()

        assert moved(full, uuids[0]).startswith(
            'a was claimed before it was decided here')

    @pytest.mark.parametrize(('seconds', 'counts'), [(0, True), (10, False)])
    def test_request_that_left_the_host_counts_for_some_time(
            self, full, seconds, counts):
        other = full.place('a')
        full.wait(seconds)
        [uuid] = full.request()
        del full.held[other]
        full.claim_and_wait(uuid, 'a')

        assert moved(full, uuid) == (
            f'a was given to request req-{other}, which has left it since'
            if counts else None)

    def test_request_that_holds_the_host_does_not_count(self, full):
        """The live scheduler found room beside it."""
        full.place('a')
        assert moved(full, full.place('a')) is None

    def test_time_counts_from_before_the_query_to_placement(self, full):
        other = full.place('a')

        def slow(asked):
            full.now += 30
            return http_placement.candidates()
        full.server.on('GET', '/allocation_candidates', slow)
        del full.held[other]

        assert moved(full, full.place('a')).startswith('a was given to ')

    @pytest.mark.parametrize('refused', [False, True])
    def test_concurrent_request_for_several_instances_counts(
            self, full, refused):
        """It releases its claims if an instance fits on no host."""
        several, [uuid] = full.request(2), full.request()
        if refused:
            full.refuse(several[0])
        full.claim_and_wait(uuid, 'a')

        assert moved(full, uuid).startswith(
            f'a may have been held for request req-{several[0]}, which is '
            f'for several instances')

    def test_request_refused_before_does_not_count(self, full):
        full.refuse(full.request(2)[0])
        full.wait()

        assert moved(full, full.place('a')) is None

    @pytest.mark.parametrize('count', [1, 2])
    def test_request_that_shows_or_for_one_instance_does_not_count(
            self, full, count):
        others, [uuid] = full.request(count), full.request()
        if count == 1:
            full.refuse(*others)
        else:
            for other in others:
                full.claim(other, 'c')
            full.wait()

        full.claim_and_wait(uuid, 'a')
        assert moved(full, uuid) is None

    def test_full_list_of_placement_may_lack_the_host(
            self, hosts, server, tmp_path):
        stage = Stage(hosts(), server, tmp_path,
                      scheduler__max_placement_results=2)
        offer(server, 'bc')
        uuid = stage.place('a')
        stage.close()

        assert moved(stage, uuid) == (
            'Placement may have left out a: it offered as many as '
            '[scheduler] max_placement_results = 2')


class TestHostThatPlacementOffered:
    def test_usage_of_others_counts(self, stage):
        [uuid] = stage.request()
        stage.claim(uuid, 'b')
        stage.claim(a_uuid(), 'a', vcpus=3)
        stage.wait()

        assert moved(stage, uuid) == (
            'VCPU of a taken by others in Placement: 0 became 3')
        assert stage.entries()[0]['otherwise'] == compare.LOWER

    def test_request_that_came_and_left_counts(self, stage):
        """Placement shows it neither before nor after."""
        [uuid], other = stage.request(), stage.place('a')
        del stage.held[other]
        stage.claim_and_wait(uuid, 'b')

        assert moved(stage, uuid).startswith(
            f'a was given to request req-{other}, which has left')

    @pytest.mark.parametrize('concurrent', [False, True])
    def test_request_that_left_before_counts_beside_others(
            self, stage, concurrent):
        """Otherwise Placement shows that it has left."""
        other = stage.place('a')
        if concurrent:
            stage.request()
        del stage.held[other]
        why = moved(stage, stage.place('b'))

        assert why is None or why.startswith('a was given to ')
        assert bool(why) is concurrent

    def test_concurrent_request_for_several_instances_counts(self, stage):
        stage.request(2)

        assert moved(stage, stage.place('b')).startswith(
            'a may have been held for ')

    def test_usage_of_the_instance_does_not_count(self, stage):
        """Its compute service may report it early."""
        [uuid] = stage.request()
        stage.cloud.execute("UPDATE compute_nodes SET free_ram_mb = 10 "
                            "WHERE host = 'a'")
        stage.boot(uuid, 'a')
        stage.claim_and_wait(uuid, 'a')

        assert stage.verdict()[0] == compare.SAME

    def test_usage_of_the_instance_before_the_decision_counts(self, stage):
        """The row shows it, and Placement's list does not."""
        uuid = a_uuid()

        def quick(asked):
            stage.claim(uuid, 'a')
            stage.cloud.execute("UPDATE compute_nodes SET free_ram_mb = 10 "
                                "WHERE host = 'a'")
            stage.boot(uuid, 'a')
            return http_placement.candidates(*map(
                http_placement.a_candidate, HOSTS.values()))
        stage.server.on('GET', '/allocation_candidates', quick)
        stage.request(uuids=[uuid])

        assert moved(stage, uuid) == (
            'an instance of the request was on a before it was decided here')

    def test_new_host_counts(self, stage):
        stage.cloud.execute("UPDATE compute_nodes SET deleted = 1 "
                            "WHERE host = 'a'")
        [uuid] = stage.request()
        stage.cloud.execute('UPDATE compute_nodes SET deleted = 0')
        stage.claim_and_wait(uuid, 'a')

        assert moved(stage, uuid) == (
            'host a was not read when it was decided here')

    def test_failure_of_placement_counts(self, stage):
        [uuid] = stage.request()
        stage.server.on('GET', '/resource_providers/',
                        http_placement.error(500, 'broken'))
        stage.claim_and_wait(uuid, 'b')

        assert moved(stage, uuid).startswith(
            'the changes since are not known: ')
        assert 'broken' in moved(stage, uuid)


def test_refusal_without_answer_of_placement_is_not_comparable(
        hosts, server, tmp_path):
    stage = Stage(hosts(), server, tmp_path, placement__timeout=1)
    server.on('GET', '/allocation_candidates', HANG)
    [uuid] = stage.request()
    stage.wait(PATIENCE + 1)
    stage.close()

    assert moved(stage, uuid) == (
        'Placement did not answer when it was decided here')
    assert stage.entries()[0]['otherwise'] == compare.BOTH_REFUSE


def test_driver_without_hosts_has_no_changes(hosts, tmp_path):
    stage = Stage(hosts(), None, tmp_path)
    stage.decider.table = lambda: None
    [uuid] = stage.request()
    stage.cloud.execute('UPDATE compute_nodes SET free_ram_mb = 10')
    stage.boot(uuid, 'b')
    stage.wait()
    stage.close()

    assert moved(stage, uuid) is None
    assert stage.verdict()[0] == compare.LOWER


def test_provider_of_host_is_the_uuid_of_its_node():
    table = tables.table(tables.a_host('a', nodename='a.org', uuid='A'))

    for place, rows, provider in ((('a', 'a.org'), table, 'A'),
                                  (('c', None), table, None),
                                  (('a', 'a.org'), None, None)):
        assert changes.provider_of(place, rows) == provider


@pytest.mark.parametrize(('before', 'now', 'held', 'changed'), [
    ({'VCPU': 2, 'DISK_GB': 0}, {'x': {'VCPU': 2}}, {}, None),
    ({'VCPU': 2}, {'x': {'VCPU': 1}, 'y': {'VCPU': 2}}, {}, '2 became 3'),
    ({'VCPU': 2}, {}, {}, '2 became 0'),
    # A later claim of the request itself is no change.
    ({'VCPU': 2}, {'x': {'VCPU': 2}, 'me': {'VCPU': 4}}, {}, None),
    ({'VCPU': 6}, {'x': {'VCPU': 2}, 'me': {'VCPU': 4}}, {}, '6 became 2'),
    ({'VCPU': 3}, {'x': {'VCPU': 2}, 'me': {'VCPU': 1}}, {'VCPU': 1}, None),
    # Only classes in Placement's list are compared.
    ({'VCPU': 2}, {'x': {'VCPU': 2, 'VGPU': 1}}, {}, None)])
def test_changed_usage_of_others(before, now, held, changed):
    assert changes.usage_changes('a', before, now, {'me'}, held) == (
        [f'VCPU of a taken by others in Placement: {changed}']
        if changed else [])
