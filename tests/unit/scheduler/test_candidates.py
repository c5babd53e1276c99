"""Requests that are decided on what Placement offers them."""

import json

import oslo_messaging as messaging
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
from tests.builders import http_placement
from tests.builders import http_server
from tests.builders import requests
from tests.builders.cloud_database import CloudDatabase
from tests.builders.cloud_database import make_tables
from tests.builders.clouds import a_compute_node
from tests.builders.clouds import a_uuid
from tests.builders.drivers import door

A, B, C = a_uuid(1), a_uuid(2), a_uuid(3)


@pytest.fixture(scope='module')
def tables(tmp_path_factory):
    return make_tables(tmp_path_factory.mktemp('tables'))


@pytest.fixture
def cloud(tables, tmp_path):
    """The hosts a, b and c, whose compute nodes have the uuids A, B and C."""
    cloud = CloudDatabase(tables, tmp_path)
    cloud.load_nodes(*(a_compute_node(host, uuid=uuid) for host, uuid
                       in zip('abc', (A, B, C), strict=True)))
    yield cloud
    cloud.close()


@pytest.fixture
def server():
    """A Placement that offers the hosts c and b."""
    with http_placement.offering(C, B, others=[a_uuid()]) as server:
        yield server


@pytest.fixture
def manager(cloud, server, tmp_path):
    """Function: the RPC endpoint before a driver of that name."""
    def manager(name='filter_scheduler', **options):
        conf = http_placement.a_conf(
            tmp_path, auth_type='none', endpoint_override=server.url)
        return door(cloud.driver(name, **options), conf=conf)
    return manager


def ask(manager, count=1, **request):
    """The names of the picked hosts; count: of instances."""
    uuids = [a_uuid() for _ in range(count)]
    spec = requests.a_request(num_instances=count, **request)
    try:
        found = manager.select_destinations(
            RequestContext(user_id='u'), spec_obj=spec.obj_to_primitive(),
            instance_uuids=uuids, return_objects=True, return_alternates=True)
    except messaging.ExpectedException as error:
        raise error.exc_info[1] from None
    return found


def hosts(found):
    return [chosen[0]['nova_object.data']['service_host'] for chosen in found]


def sent(server, method, path=''):
    return [call for call in server.asked
            if call.method == method and call.path.startswith(path)]


def test_hosts_are_those_of_the_providers(manager, server):
    assert set(hosts(ask(manager(), count=3))) == {'b', 'c'}
    [query] = sent(server, 'GET', '/allocation_candidates')
    assert 'resources=DISK_GB%3A1%2CMEMORY_MB%3A512%2CVCPU%3A1' in query.path
    assert 'limit=1000' in query.path


def test_each_instance_is_claimed_with_the_first_request_of_its_host(
        manager, server):
    [[selected, *_]] = ask(manager())

    [claim] = sent(server, 'PUT')
    assert list(claim.body['allocations']) == [B]
    data = selected['nova_object.data']
    assert json.loads(data['allocation_request'])['allocations'] == {
        B: {'resources': {'VCPU': 1}}}
    assert data['allocation_request_version'] == '1.36'


def test_alternates_are_not_claimed_and_carry_what_may_be(manager, server):
    [[_, alternate]] = ask(manager())

    data = alternate['nova_object.data']
    assert data['service_host'] == 'c'
    assert C in json.loads(data['allocation_request'])['allocations']
    assert len(sent(server, 'PUT')) == 1


def test_the_next_host_is_claimed_when_one_refuses(manager, server):
    server.on('PUT', '/allocations/', http_placement.FULL,
              http_placement.TAKEN)
    endpoint = manager()

    assert hosts(ask(endpoint)) == ['c']
    [record] = endpoint.recorder.decisions
    assert [(claim.host, claim.taken) for claim in record.claims] == [
        ('b', False), ('c', True)]


def test_many_instances_are_claimed_in_one_request(manager, server):
    found = ask(manager(), count=3)

    [call] = sent(server, 'POST')
    assert len(call.body) == len(hosts(found)) == 3
    assert not sent(server, 'PUT')


def test_many_instances_are_claimed_one_by_one_if_that_is_refused(
        manager, server):
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
    """What consumers hold after their claims were taken without an answer."""
    holding = http_placement.remembering(server)
    [take] = server.routes('POST', '/allocations')

    def lose(asked):
        take(asked)
        return http_server.DROP
    server.on('POST', '/allocations', lose, take)
    return holding


def test_claims_without_an_answer_are_undone_before_those_one_by_one(
        manager, server, holding):
    found = ask(manager(), count=2)

    assert len(sent(server, 'POST')) == 1
    assert sorted(map(list, (held for held in holding.values()))) == sorted(
        [uuid] for uuid in (dict(zip('bc', (B, C), strict=True))[host]
                            for host in hosts(found)))


def test_claims_without_an_answer_are_given_back_if_there_are_no_others(
        manager, server, holding):
    [put] = server.routes('PUT', '/allocations/')
    # Undoing works, and claiming does not.
    server.on('PUT', '/allocations/', lambda asked: (
        http_placement.FULL if asked.body['allocations'] else put(asked)))

    with pytest.raises(exception.NoValidHost):
        ask(manager(), count=2)

    assert holding == {}


def test_all_claims_of_a_request_that_fails_are_given_back(manager, server):
    server.on('POST', '/allocations', http_placement.FULL,
              http_placement.TAKEN)
    taken = [http_placement.TAKEN] * 2
    server.on('PUT', '/allocations/', *taken, http_placement.FULL)

    with pytest.raises(exception.NoValidHost):
        ask(manager(), count=3)

    claimed = [call.path.rpartition('/')[2]
               for call in sent(server, 'PUT')[:2]]
    given_back = sent(server, 'POST')[-1].body
    assert sorted(given_back) == sorted(claimed)
    assert all(not held['allocations'] for held in given_back.values())


def test_claims_are_given_back_when_the_answer_is_lost(
        manager, server, caplog):
    with call_scope.entered():
        ask(manager(), count=2)
        [claimed] = sent(server, 'POST')

        call_scope.reply_is_lost()

    [_, given_back] = sent(server, 'POST')
    assert given_back.body.keys() == claimed.body.keys()
    assert all(not held['allocations']
               for held in given_back.body.values())
    assert 'does not reach its caller' in caplog.text


def test_a_request_that_is_offered_nothing_gets_no_host(
        manager, server, caplog):
    """Its caller's text is Nova's; the record says why."""
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
def test_trouble_is_on_record_and_not_for_the_caller(
        manager, server, trouble, words, caplog):
    server.on('GET', '/allocation_candidates', trouble)
    endpoint = manager()

    with pytest.raises(exception.NoValidHost) as refused:
        ask(endpoint)

    assert str(refused.value) == 'No valid host was found. '
    [record] = endpoint.recorder.decisions
    assert words in record.reason
    assert record.reason in caplog.text


def test_a_conflict_over_the_instance_is_the_answer(manager, server):
    server.on('PUT', '/allocations/', http_placement.CONSUMER)

    with pytest.raises(exception.AllocationUpdateFailed):
        ask(manager())


@pytest.mark.parametrize('name', ['caching_scheduler', 'chance_scheduler'])
def test_drivers_of_before_placement_do_not_ask(manager, server, name):
    ask(manager(name))

    assert server.asked == []


def test_a_rebuild_neither_asks_nor_claims(manager, server):
    found = ask(manager(), scheduler_hints={'_nova_check_type': ['rebuild']},
                requested_destination=Destination(host='a', node='a'))

    assert hosts(found) == ['a']
    assert server.asked == []


def test_callers_that_send_no_instances_claim_nothing(manager, server):
    """Of before Pike; their hosts are those that Placement offers."""
    found = manager().select_destinations(
        RequestContext(), spec_obj=requests.a_request().obj_to_primitive())

    assert found[0]['host'] == 'b'
    assert not sent(server, 'PUT')


class TestOneHost:
    """A request that is bound to one asks Placement for just that."""

    @pytest.mark.parametrize('bound', [
        {'force_hosts': ['b']}, {'force_nodes': ['b']},
        {'requested_destination': Destination(host='b')}])
    def test_is_the_tree_to_look_in(self, manager, server, bound):
        assert hosts(ask(manager(), **bound)) == ['b']

        [query] = sent(server, 'GET', '/allocation_candidates')
        assert f'in_tree={B}' in query.path

    def test_leaves_the_given_request_as_it_is(self, manager):
        spec = requests.a_request(requested_destination=Destination(host='b'))
        before = spec.obj_to_primitive()

        manager().select_destinations(
            RequestContext(), spec_obj=spec, instance_uuids=[a_uuid()])

        assert spec.obj_to_primitive() == before

    def test_that_is_not_there_is_not_asked_for(self, manager, server):
        made = manager()
        with pytest.raises(exception.NoValidHost,
                           match='No such host - host: x'):
            ask(made, force_hosts=['x'])

        assert server.asked == []
        record, = made.recorder.decisions
        assert record.reason == 'No such host - host: x node: None '

    def test_with_several_nodes_removes_the_limit(
            self, manager, server, cloud):
        cloud.load_nodes(*(a_compute_node('b', hypervisor_hostname=node,
                                          uuid=uuid)
                           for node, uuid in (('n1', A), ('n2', B))))

        ask(manager(), force_hosts=['b'])

        [query] = sent(server, 'GET', '/allocation_candidates')
        assert 'in_tree' not in query.path
        assert 'limit' not in query.path

    def test_of_before_it_had_a_uuid_removes_the_limit(
            self, manager, server, cloud):
        cloud.execute("UPDATE compute_nodes SET uuid = NULL WHERE host = 'b'")

        with pytest.raises(exception.NoValidHost):
            ask(manager(), force_hosts=['b'])

        [query] = sent(server, 'GET', '/allocation_candidates')
        assert 'in_tree' not in query.path


class TestMishap:
    """What goes wrong after claims were taken costs none of them."""

    def test_in_a_driver_gives_them_back(self, manager, server):
        class Raising(type(manager().driver)):
            def select_destinations(self, *args, **kwargs):
                super().select_destinations(*args, **kwargs)
                raise ZeroDivisionError

        endpoint = manager()
        endpoint.driver.__class__ = Raising

        with pytest.raises(ZeroDivisionError):
            ask(endpoint, count=2)

        assert sorted(http_placement.written(server, claims=False)) == sorted(
            http_placement.written(server, claims=True))

    def test_in_the_reply_gives_them_back(self, manager, server, monkeypatch):
        def to_wire(*args):
            raise ZeroDivisionError

        monkeypatch.setattr(selection, 'to_wire', to_wire)

        with pytest.raises(ZeroDivisionError):
            ask(manager())

        assert len(http_placement.written(server, claims=False)) == 1


def test_an_instance_is_named_once(manager, server):
    """It holds one claim, whatever it is told."""
    uuid = a_uuid()
    with pytest.raises(messaging.ExpectedException) as refused:
        manager().select_destinations(
            RequestContext(), instance_uuids=[uuid, uuid],
            spec_obj=requests.a_request().obj_to_primitive())

    assert 'instance_uuids' in str(refused.value.exc_info[1])
    assert not sent(server, 'PUT')


def test_request_groups_learn_their_providers(manager, server, monkeypatch):
    """For what is consumed of a host, and for plug-ins."""
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


def test_a_driver_that_takes_no_offer_does_without_placement(
        cloud, server, tmp_path):
    class Own(FilterScheduler):
        def select_destinations(self, context, spec_obj, instance_uuids,
                                return_alternates=False):
            return super().select_destinations(
                context, spec_obj, instance_uuids, return_alternates)

    driver = Own(cloud.conf())
    driver.start()

    assert hosts(ask(door(driver, conf=http_placement.a_conf(
        tmp_path, auth_type='none', endpoint_override=server.url)))) == ['a']
    assert server.asked == []


@pytest.mark.parametrize('wants', [True, False])
def test_summaries_are_kept_for_a_driver_that_looks_at_them(
        cloud, server, tmp_path, wants):
    """Others need not have them in memory."""
    given = []

    class Own(FilterScheduler):
        WANTS_SUMMARIES = wants

        def select_destinations(self, *args, offer, **kwargs):
            given.append(offer.candidates.summaries)
            return super().select_destinations(*args, offer=offer, **kwargs)

    driver = Own(cloud.conf())
    driver.start()
    ask(door(driver, conf=http_placement.a_conf(
        tmp_path, auth_type='none', endpoint_override=server.url)))

    [summaries] = given
    assert (summaries is not None) is wants
    if wants:
        assert summaries[C] == {
            'resources': {'VCPU': {'capacity': 16, 'used': 0}}, 'traits': []}
