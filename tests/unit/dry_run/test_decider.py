"""What a rehearsal leaves behind: the decision, and what it was made on."""

import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched.dry_run import decider
from nova_sched.dry_run import read_only_placement
from nova_sched.hosts import decision
from nova_sched.hosts.allocation_candidates import NO_CANDIDATES
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.plugins.nova import reach
from nova_sched.shadow import compare
from tests.builders import clouds
from tests.builders import http_placement
from tests.builders import requests
from tests.builders.clouds import a_uuid

A, B = a_uuid(1), a_uuid(2)


@pytest.fixture(autouse=True)
def plug_ins():
    """What a rehearsal in this process keeps plug-ins from, the next may do.
    """
    yield
    reach.limit(None)


@pytest.fixture
def made(cloud):
    """Function: a Decider of the hosts a and b that was started."""
    cloud.load_nodes(
        clouds.a_compute_node('a', uuid=A, free_ram_mb=9000),
        clouds.a_compute_node('b', uuid=B, free_ram_mb=8000))
    started = []

    def made(server=None, **options):
        if server is not None:
            options |= {'placement__auth_type': 'none',
                        'placement__endpoint_override': server.url}
        conf = cloud.conf(**options)
        placement = server and read_only_placement.ReadOnlyPlacement(conf)
        started.append(decider.Decider(
            conf, read_only_placement.StrictReportClient(conf, placement)))
        started[-1].start()
        return started[-1]
    yield made
    for each in started:
        each.stop()


def decide(made, count=1, **request):
    uuids = [a_uuid() for _ in range(count)]
    return made.decide(context.RequestContext(), {
        'spec_obj': requests.a_request(
            num_instances=count, **request).obj_to_primitive(),
        'instance_uuids': uuids, 'return_objects': True,
        'return_alternates': True})


@pytest.fixture
def server():
    with http_placement.placement() as server:
        yield server


def test_the_same_request_has_the_same_answer_again(made):
    """Nothing is in flight from one to the next."""
    scheduler = made()

    for _ in range(2):
        [[chosen, *others]] = decide(scheduler, memory_mb=5000).selections
        assert chosen.service_host == 'a'
        assert [other.service_host for other in others] == ['b']


def test_the_hosts_are_there_as_before_the_first_instance(made):
    rehearsed = decide(made(), count=3, memory_mb=3000)

    for _ in range(2):
        hosts = rehearsed.snapshot()
        assert [hosts.cell('free_ram_mb', row) for row in range(2)] == [
            9000, 8000]
        assert hosts.moment == rehearsed.record.clock
        hosts.consume(0, rehearsed.spec_obj, 1.0)
    assert hosts.cell('free_ram_mb', 0) == 6000


def test_a_refusal_has_the_hosts_and_the_rules_as_well(made):
    rehearsed = decide(made(), memory_mb=10 ** 6)

    assert rehearsed.record.outcome == decision.REFUSED
    assert isinstance(rehearsed.error, exception.NoValidHost)
    assert rehearsed.is_expected
    assert rehearsed.selections == []
    assert rehearsed.offer is PLACEMENT_NOT_USED
    ram, = (each for each in rehearsed.ranker.filters
            if type(each).__name__ == 'RamFilter')
    assert not any(ram.keep(rehearsed.snapshot().block(),
                            rehearsed.spec_obj))


def test_the_request_is_there_as_request_filters_leave_it(made, server):
    """Also of one that Placement offers nothing."""
    rehearsed = decide(made(server), requested_destination=(
        requests.a_destination(host='a')))

    assert rehearsed.spec_obj.requested_destination.node == 'a'
    assert rehearsed.offer == NO_CANDIDATES
    assert rehearsed.snapshot().size == 2


def test_what_placement_offers_goes_with_the_hosts(made, server):
    server.on('GET', '/allocation_candidates', http_placement.candidates(
        http_placement.a_candidate(B)))

    rehearsed = decide(made(server))

    [[chosen]] = rehearsed.selections
    assert chosen.service_host == 'b'
    assert rehearsed.offer.providers == {B}
    assert rehearsed.snapshot().offer is rehearsed.offer


def test_a_request_that_cannot_be_read_has_no_spec(made):
    rehearsed = made().decide(context.RequestContext(), {
        'spec_obj': {}, 'instance_uuids': None})

    assert isinstance(rehearsed.error, exception.InvalidInput)
    assert rehearsed.spec_obj is None
    assert rehearsed.snapshot().size == 2


def test_a_fault_is_none_that_is_expected(made, monkeypatch):
    scheduler = made()
    monkeypatch.setattr(scheduler.driver, 'select_destinations', None)

    rehearsed = decide(scheduler)

    assert isinstance(rehearsed.error, TypeError)
    assert (rehearsed.is_expected, rehearsed.record.outcome) == (
        False, decision.FAILED)


def test_copies_of_the_hosts_share_where_instances_run(made, cloud):
    """What a rule looks at of all of them is read once."""
    rehearsed = decide(made(enabled_filters=['TypeAffinityFilter']))
    cloud.execute('INSERT INTO instances (uuid, host, vm_state, deleted, '
                  "instance_type_id) VALUES (?, 'a', 'active', 0, 7)",
                  a_uuid())
    hosts = rehearsed.snapshot()
    cloud.execute('DELETE FROM instances')

    assert hosts.copy().instances.each('instance_type_id') == {'a': {7}}


def test_the_request_has_its_instances_and_the_options_of_the_file(
        made, tmp_path):
    file = tmp_path / 'scheduler.json'
    file.write_text('{"x": 1}')
    rehearsed = decide(made(
        DEFAULT__scheduler_json_config_location=str(file)), count=2)

    assert rehearsed.request.count == 2
    assert rehearsed.request.instance_uuids == rehearsed.uuids
    assert rehearsed.request.options == {'x': 1}


def test_any_host_can_be_compared_with_what_others_have_chosen(cloud, made):
    """It is one of many that are as good, or the worst of them."""
    cloud.load_nodes(*(
        clouds.a_compute_node(f'c{number:02}', uuid=a_uuid(),
                              free_ram_mb=8000 if number == 20 else 9000)
        for number in range(21)))
    record = decide(made()).record

    assert len(record.weighed[0].rows) == 21
    for host, verdict in (('c19', compare.EQUALS), ('c20', compare.LOWER)):
        assert compare.compare(record, compare.LiveDecision(
            ((host, None),))).verdict == verdict
