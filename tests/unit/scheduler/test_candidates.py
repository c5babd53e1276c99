"""Requests that are decided on Placement's candidates, over HTTP."""

import json

import pytest

from nova_sched import exception
from nova_sched.context import RequestContext
from nova_sched.hosts import decision
from nova_sched.hosts import snapshot
from nova_sched.objects import Destination
from nova_sched.objects import RequestGroup
from nova_sched.objects import selection
from nova_sched.rpc import call_scope
from nova_sched.scheduler.filter_scheduler import FilterScheduler
from tests.builders import drivers
from tests.builders import http_placement
from tests.builders import http_server
from tests.builders import requests
from tests.builders.clouds import a_compute_node
from tests.builders.clouds import a_uuid
from tests.builders.drivers import door
from tests.builders.drivers import hosts_in as hosts

A, B, C = a_uuid(1), a_uuid(2), a_uuid(3)


@pytest.fixture
def cloud(cloud):
    """The hosts a, b and c, with nodes of the uuids A, B and C."""
    cloud.load_nodes(*(a_compute_node(host, uuid=uuid) for host, uuid
                       in zip('abc', (A, B, C), strict=True)))
    return cloud


@pytest.fixture
def server():
    """A Placement that offers the hosts c and b."""
    with http_placement.offering(C, B, others=[a_uuid()]) as server:
        yield server


@pytest.fixture
def manager(cloud, server, tmp_path):
    """Function: the RPC endpoint before a driver of that name."""
    def manager(name='filter_scheduler', **options):
        return door(cloud.driver(name, **options),
                    conf=http_placement.conf_of(server, tmp_path))
    return manager


def ask(manager, count=1, **request):
    """The answer to a request for so many instances."""
    return drivers.ask(
        manager, requests.a_request(num_instances=count, **request),
        [a_uuid() for _ in range(count)], return_alternates=True)


def sent(server, method, path=''):
    return [call for call in server.asked
            if call.method == method and call.path.startswith(path)]


def test_hosts_are_those_of_the_candidates(manager, server):
    assert set(hosts(ask(manager(), count=3))) == {'b', 'c'}
    [query] = sent(server, 'GET', '/allocation_candidates')
    assert 'resources=DISK_GB%3A1%2CMEMORY_MB%3A512%2CVCPU%3A1' in query.path
    assert 'limit=1000' in query.path


def test_instance_is_claimed_with_first_request_of_its_host(manager, server):
    [[selected, alternate]] = ask(manager())

    [claim] = sent(server, 'PUT')
    assert list(claim.body['allocations']) == [B]
    data = selected['nova_object.data']
    assert json.loads(data['allocation_request'])['allocations'] == {
        B: {'resources': {'VCPU': 1}}}
    assert data['allocation_request_version'] == '1.36'
    # The alternate is not claimed, and has its own request.
    data = alternate['nova_object.data']
    assert data['service_host'] == 'c'
    assert C in json.loads(data['allocation_request'])['allocations']


def test_refused_joint_claim_is_made_one_by_one(manager, server):
    server.on('POST', '/allocations', http_placement.FULL)
    server.on('PUT', '/allocations/', http_placement.FULL,
              http_placement.TAKEN)
    deciding = manager()

    assert hosts(ask(deciding, count=2)) == ['c', 'b']
    assert len(sent(server, 'PUT')) == 3
    [*_, record] = deciding.recorder.decisions
    assert [(claim.host, claim.taken) for claim in record.claims] == [
        ('b', False), ('c', True), ('b', True)]


@pytest.fixture
def holding(server):
    """Allocations of consumers after claims without an answer."""
    holding = http_placement.remembering(server)
    [take] = server.routes('POST', '/allocations')

    def lose(asked):
        take(asked)
        return http_server.DROP
    server.on('POST', '/allocations', lose, take)
    return holding


def test_claims_without_an_answer_are_released_before_single_claims(
        manager, server, holding):
    found = ask(manager(), count=2)

    assert len(sent(server, 'POST')) == 1
    assert sorted(map(list, (held for held in holding.values()))) == sorted(
        [uuid] for uuid in (dict(zip('bc', (B, C), strict=True))[host]
                            for host in hosts(found)))


def test_refusal_releases_unanswered_claims(manager, server, holding):
    [put] = server.routes('PUT', '/allocations/')
    # Releases work, and claims do not.
    server.on('PUT', '/allocations/', lambda asked: (
        http_placement.FULL if asked.body['allocations'] else put(asked)))

    with pytest.raises(exception.NoValidHost):
        ask(manager(), count=2)

    assert holding == {}


def test_a_refused_request_releases_its_claims(manager, server):
    server.on('POST', '/allocations', http_placement.FULL,
              http_placement.TAKEN)
    taken = [http_placement.TAKEN] * 2
    server.on('PUT', '/allocations/', *taken, http_placement.FULL)

    with pytest.raises(exception.NoValidHost):
        ask(manager(), count=3)

    claimed = [call.path.rpartition('/')[2]
               for call in sent(server, 'PUT')[:2]]
    released = sent(server, 'POST')[-1].body
    assert sorted(released) == sorted(claimed)
    assert all(not held['allocations'] for held in released.values())


def test_a_lost_reply_releases_the_claims(manager, server, caplog):
    with call_scope.entered():
        ask(manager(), count=2)
        [claimed] = sent(server, 'POST')

        call_scope.reply_is_lost()

    [_, released] = sent(server, 'POST')
    assert released.body.keys() == claimed.body.keys()
    assert all(not held['allocations'] for held in released.body.values())
    assert 'does not reach its caller' in caplog.text


def test_without_candidates_there_is_no_valid_host(manager, server, caplog):
    """The caller sees Nova's text, and the record has the reason."""
    caplog.set_level('INFO')
    server.on('GET', '/allocation_candidates', http_placement.candidates())
    endpoint = manager()

    with pytest.raises(exception.NoValidHost) as refused:
        ask(endpoint)

    assert str(refused.value) == 'No valid host was found. '
    [record] = endpoint.recorder.decisions
    assert record.outcome == decision.REFUSED
    assert record.reason.startswith('Placement offers no host')
    assert 'Got no allocation candidates' in caplog.text
    assert record.milliseconds['placement'] > 0


@pytest.mark.parametrize('trouble, words', [
    (http_server.DROP, 'Placement'), (http_placement.error(500), '500'),
    (http_server.Answer(200, '<html>'), 'Placement'),
    (http_placement.error(400, 'Invalid resource class'), 'Invalid resource')])
def test_errors_of_placement_are_on_record_only(
        manager, server, trouble, words, caplog):
    server.on('GET', '/allocation_candidates', trouble)
    endpoint = manager()

    with pytest.raises(exception.NoValidHost) as refused:
        ask(endpoint)

    assert str(refused.value) == 'No valid host was found. '
    [record] = endpoint.recorder.decisions
    assert words in record.reason
    assert record.reason in caplog.text


def test_a_conflict_over_the_instance_fails_the_request(manager, server):
    server.on('PUT', '/allocations/', http_placement.CONSUMER)

    with pytest.raises(exception.AllocationUpdateFailed):
        ask(manager())


def test_an_instance_must_be_named_once(manager, server, caplog):
    """It has one claim."""
    with pytest.raises(exception.InvalidInput, match='instance_uuids'):
        drivers.ask(manager(), requests.a_request(), [A, A])

    assert 'Request not answered: ' in caplog.text
    assert not sent(server, 'PUT')


@pytest.mark.parametrize('name', ['caching_scheduler', 'chance_scheduler'])
def test_drivers_before_placement_do_not_query_it(manager, server, name):
    ask(manager(name))

    assert server.asked == []


def test_a_rebuild_neither_queries_nor_claims(manager, server):
    found = ask(manager(), scheduler_hints={'_nova_check_type': ['rebuild']},
                requested_destination=Destination(host='a', node='a'))

    assert hosts(found) == ['a']
    assert server.asked == []


def test_callers_without_instances_claim_nothing(manager, server):
    """Callers before Pike."""
    found = manager().select_destinations(
        RequestContext(), spec_obj=requests.a_request().obj_to_primitive())

    assert found[0]['host'] == 'b'
    assert not sent(server, 'PUT')


class TestOneHost:
    """The query of a request that is bound to one host."""

    @pytest.mark.parametrize('bound', [
        {'force_hosts': ['b']}, {'force_nodes': ['b']},
        {'requested_destination': Destination(host='b')}])
    def test_is_in_the_query_as_its_tree(self, manager, server, bound):
        assert hosts(ask(manager(), **bound)) == ['b']

        [query] = sent(server, 'GET', '/allocation_candidates')
        assert f'in_tree={B}' in query.path

    def test_unknown_is_refused_without_a_query(self, manager, server):
        made = manager()
        with pytest.raises(exception.NoValidHost,
                           match='No such host - host: x'):
            ask(made, force_hosts=['x'])

        assert server.asked == []
        record, = made.recorder.decisions
        assert record.reason == 'No such host - host: x node: None '

    def test_with_several_nodes_removes_limit(self, manager, server, cloud):
        cloud.load_nodes(*(a_compute_node('b', hypervisor_hostname=node,
                                          uuid=uuid)
                           for node, uuid in (('n1', A), ('n2', B))))

        ask(manager(), force_hosts=['b'])

        [query] = sent(server, 'GET', '/allocation_candidates')
        assert 'in_tree' not in query.path
        assert 'limit' not in query.path

    def test_without_a_uuid_removes_the_limit(self, manager, server, cloud):
        cloud.execute("UPDATE compute_nodes SET uuid = NULL WHERE host = 'b'")

        with pytest.raises(exception.NoValidHost):
            ask(manager(), force_hosts=['b'])

        [query] = sent(server, 'GET', '/allocation_candidates')
        assert 'in_tree' not in query.path


class TestFailure:
    """A failure after the claims."""

    @pytest.mark.parametrize('error', [ZeroDivisionError, SystemExit])
    def test_in_a_driver_releases_the_claims(self, manager, server, error):
        class Raising(type(manager().driver)):
            def select_destinations(self, *args, **kwargs):
                super().select_destinations(*args, **kwargs)
                raise error

        endpoint = manager()
        endpoint.driver.__class__ = Raising

        with pytest.raises(error):
            ask(endpoint, count=2)

        assert endpoint.recorder.decisions[-1].outcome == decision.FAILED
        assert sorted(http_placement.written(server, claims=False)) == sorted(
            http_placement.written(server, claims=True))

    def test_in_reply_releases_claims(self, manager, server, monkeypatch):
        def to_wire(*args):
            raise ZeroDivisionError

        monkeypatch.setattr(selection, 'to_wire', to_wire)

        with pytest.raises(ZeroDivisionError):
            ask(manager())

        assert len(http_placement.written(server, claims=False)) == 1


def test_request_groups_get_their_providers(manager, server, monkeypatch):
    """For consumption, and for plug-ins."""
    seen, consume = [], snapshot.HostSnapshot.consume

    def consumed(self, row, spec_obj, *args):
        seen.append([group.provider_uuids
                     for group in spec_obj.requested_resources])
        return consume(self, row, spec_obj, *args)

    monkeypatch.setattr(snapshot.HostSnapshot, 'consume', consumed)
    requester = a_uuid()
    candidate = http_placement.a_candidate(B)
    candidate['mappings'][requester] = [C]
    server.on('GET', '/allocation_candidates',
              http_placement.candidates(candidate))

    ask(manager(), requested_resources=[RequestGroup(
        requester_id=requester, resources={'CUSTOM_X': 1})])

    assert seen == [[[C]]]


def test_driver_without_offer_skips_placement(cloud, server, tmp_path):
    class Own(FilterScheduler):
        def select_destinations(self, context, spec_obj, instance_uuids,
                                return_alternates=False):
            return super().select_destinations(
                context, spec_obj, instance_uuids, return_alternates)

    driver = Own(cloud.conf())
    driver.start()

    assert hosts(ask(door(driver, conf=http_placement.conf_of(
        server, tmp_path)))) == ['a']
    assert server.asked == []


@pytest.mark.parametrize('wants', [True, False])
def test_drivers_may_want_summaries(cloud, server, tmp_path, wants):
    """Other drivers save the memory."""
    summaries_of = []

    class Own(FilterScheduler):
        WANTS_SUMMARIES = wants

        def select_destinations(self, *args, offer, **kwargs):
            summaries_of.append(offer.candidates.summaries)
            return super().select_destinations(*args, offer=offer, **kwargs)

    driver = Own(cloud.conf())
    driver.start()
    ask(door(driver, conf=http_placement.conf_of(server, tmp_path)))

    [summaries] = summaries_of
    assert (summaries is not None) is wants
    if wants:
        assert summaries[C] == {
            'resources': {'VCPU': {'capacity': 16, 'used': 0}}, 'traits': []}
