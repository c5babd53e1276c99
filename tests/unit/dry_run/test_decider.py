"""The decision of a dry run, and its state."""

import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched.dry_run import decider
from nova_sched.dry_run.shadow import compare
from nova_sched.hosts import decision
from nova_sched.hosts.allocation_candidates import NO_CANDIDATES
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from tests.builders import clouds
from tests.builders import http_placement
from tests.builders import requests
from tests.builders.clouds import a_uuid

A, B = a_uuid(1), a_uuid(2)


@pytest.fixture
def made(cloud):
    """Function: start a Decider on the hosts a and b."""
    cloud.load_nodes(
        clouds.a_compute_node('a', uuid=A, free_ram_mb=9000),
        clouds.a_compute_node('b', uuid=B, free_ram_mb=8000))
    started = []

    def made(server=None, **options):
        if server is not None:
            options |= {'placement__auth_type': 'none',
                        'placement__endpoint_override': server.url}
        started.append(decider.Decider(cloud.conf(**options)))
        started[-1].start()
        return started[-1]
    yield made
    for scheduler in started:
        scheduler.stop()


def decide(made, count=1, **request):
    uuids = [a_uuid() for _ in range(count)]
    return made.decide(context.RequestContext(), {
        'spec_obj': requests.a_request(
            num_instances=count, **request).obj_to_primitive(),
        'instance_uuids': uuids, 'return_objects': True,
        'return_alternates': True})


def test_snapshot_shows_the_hosts_before_the_first_instance(made):
    dry_run = decide(made(), count=3, memory_mb=3000)

    for _ in range(2):
        hosts = dry_run.snapshot()
        assert [hosts.value('free_ram_mb', row) for row in range(2)] == [
            9000, 8000]
        assert hosts.moment == dry_run.record.state.clock
        hosts.consume(0, dry_run.spec_obj, 1.0)
    assert hosts.value('free_ram_mb', 0) == 6000


def test_refusal_has_hosts_and_rules(made):
    dry_run = decide(made(), memory_mb=10 ** 6)

    assert dry_run.record.outcome == decision.REFUSED
    assert isinstance(dry_run.error, exception.NoValidHost)
    assert dry_run.is_expected
    assert dry_run.offer is PLACEMENT_NOT_USED
    ram, = (filter_ for filter_ in dry_run.ranker.filters
            if type(filter_).__name__ == 'RamFilter')
    assert not any(ram.keep(dry_run.snapshot().block(), dry_run.spec_obj))


def test_spec_is_the_one_after_request_filters(made, server):
    """Also without candidates from Placement."""
    dry_run = decide(made(server), requested_destination=(
        requests.a_destination(host='a')))

    assert dry_run.spec_obj.requested_destination.node == 'a'
    assert (dry_run.offer, dry_run.snapshot().size) == (NO_CANDIDATES, 2)


def test_candidates_of_placement_are_in_the_snapshot(made, server):
    server.on('GET', '/allocation_candidates', http_placement.candidates(
        http_placement.a_candidate(B)))

    dry_run = decide(made(server))

    [[chosen]] = dry_run.record.selections
    assert chosen.service_host == 'b'
    assert dry_run.offer.providers == {B}
    assert dry_run.snapshot().offer is dry_run.offer


def test_invalid_request_has_no_spec(made):
    dry_run = made().decide(context.RequestContext(), {
        'spec_obj': {}, 'instance_uuids': None})

    assert isinstance(dry_run.error, exception.InvalidInput)
    assert dry_run.spec_obj is None
    assert dry_run.snapshot().size == 2


def test_fault_is_not_expected(made, monkeypatch):
    scheduler = made()
    monkeypatch.setattr(scheduler.driver, 'select_destinations', None)

    dry_run = decide(scheduler)

    assert isinstance(dry_run.error, TypeError)
    assert (dry_run.is_expected, dry_run.record.outcome) == (
        False, decision.FAILED)


def test_copies_of_the_snapshot_share_instances(made, cloud):
    """So instances are read once."""
    scheduler = made(enabled_filters=['TypeAffinityFilter'])
    cloud.execute('INSERT INTO instances (uuid, host, vm_state, deleted, '
                  "instance_type_id) VALUES (?, 'a', 'active', 0, 7)",
                  a_uuid())
    hosts = decide(scheduler).snapshot()
    cloud.execute('DELETE FROM instances')

    assert hosts.copy().instances.each('instance_type_id') == {'a': {7}}


def test_request_has_instances_and_json_options(made, tmp_path):
    file = tmp_path / 'scheduler.json'
    file.write_text('{"x": 1}')
    dry_run = decide(made(
        DEFAULT__scheduler_json_config_location=str(file)), count=2)

    assert dry_run.request.count == 2
    assert dry_run.request.instance_uuids == (dry_run.record.instance_uuids())
    assert dry_run.request.options == {'x': 1}


def test_all_hosts_have_weights_for_the_comparison(cloud, made):
    """Many of equal weight, and the last one."""
    cloud.load_nodes(*(
        clouds.a_compute_node(f'c{number:02}', uuid=a_uuid(),
                              free_ram_mb=8000 if number == 20 else 9000)
        for number in range(21)))
    record = decide(made()).record

    assert len(record.weighing.kept[0].rows) == 21
    for host, verdict in (('c19', compare.EQUALS), ('c20', compare.LOWER)):
        assert compare.compare(record, compare.LiveDecision(
            ((host, None),))).verdict == verdict
