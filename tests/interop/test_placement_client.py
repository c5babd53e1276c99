"""The Placement client with a real Placement."""

import pytest

from nova_sched import exception
from nova_sched.hosts.allocation_candidates import NO_CANDIDATES
from nova_sched.placement.adapter import PlacementAdapter
from nova_sched.placement.claims import AllocationClaims
from nova_sched.placement.claims import RequestIdentity
from tests.builders import http_placement
from tests.builders import requests
from tests.builders.http_placement import CONTEXT
from tests.builders.http_placement import Query
from tests.builders.http_placement import a_candidate
from tests.interop.placement import Refused
from tests.interop.placement import a_consumer

SPEC = requests.a_request(project_id='p', user_id='u')
INVENTORY = {'VCPU': 4, 'MEMORY_MB': 4096}
SMALL = 'resources=MEMORY_MB%3A512%2CVCPU%3A1'
#: Microversions of eras whose claims differ.
ERAS = ('1.17', '1.25', '1.29', '1.36')


@pytest.fixture
def client(placement, tmp_path):
    return http_placement.client(tmp_path, **placement.options)


def ask(client, text=SMALL, least='1.17', **kwargs):
    return http_placement.ask(client, Query(text, least))


def offered(client, *uuids):
    """List candidates, and check their providers."""
    found = ask(client)
    assert found.providers == set(uuids)
    return found


def take(found, provider, consumer, spec=SPEC):
    """Claim the first candidate of a provider: whether it was granted."""
    return found.claim(consumer, found.of(provider)[0], spec)


def hosts(placement, *names, inventory=INVENTORY):
    """Create providers; return their uuids."""
    return [placement.provider(name, a_consumer(), inventory)
            for name in names]


class TestCandidates:
    def test_are_providers_with_room(self, placement, client):
        a, b = hosts(placement, 'a', 'b')
        placement.allocate(a_consumer(), {a: {'VCPU': 4}})

        found = ask(client)

        assert found.providers == {b}
        assert found.of(b) == [{
            'allocations': {b: {'resources': {'VCPU': 1, 'MEMORY_MB': 512}}},
            'mappings': {'': [b]}}]
        assert found.version == '1.36'

    def test_are_none_for_a_trait_that_does_not_exist(self, placement,
                                                      client):
        assert ask(client, 'resources=VCPU%3A1&required=NO_SUCH').reason == (
            'Failed to retrieve allocation candidates from placement API for '
            'filters: resources=VCPU:1&required=NO_SUCH&limit=1000. Got 400: '
            'The server could not comply with the request since it is either '
            'malformed or otherwise incorrect. No such trait(s): NO_SUCH. '
            'Correct the flavor, image or request accordingly')

    def test_merge_two_queries(self, placement, client):
        a = placement.provider('a', a_consumer(), {'VCPU': 4, 'PCPU': 4})

        found = client.candidates([Query('resources=PCPU%3A1'),
                                   Query('resources=VCPU%3A1')], CONTEXT)

        assert [list(request['allocations'][a]['resources'])
                for request in found.of(a)] == [['PCPU'], ['VCPU']]

    def test_can_be_asked_for_in_a_newer_microversion(self, placement,
                                                      client):
        [a] = hosts(placement, 'a')
        found = ask(client, f'{SMALL}&required=in%3ACOMPUTE_NODE,HW_CPU_X86_A'
                    'VX', '1.39')
        assert found is NO_CANDIDATES
        found = ask(client, SMALL, '1.39')

        assert take(found, a, a_consumer())

    def test_include_nested_providers(self, placement, client):
        [a] = hosts(placement, 'a')
        child = placement.provider('pf', a_consumer(), {'SRIOV_NET_VF': 2},
                                   parent=a)

        found = ask(client, f'{SMALL}&resources1=SRIOV_NET_VF%3A1')

        assert found.providers == {a, child}
        assert found.of(a) == found.of(child)
        assert found.of(a)[0]['mappings'] == {'': [a], '1': [child]}


class TestClaim:
    def test_is_held_by_the_instance(self, placement, client):
        [a] = hosts(placement, 'a')
        consumer = a_consumer()

        assert take(offered(client, a), a, consumer)

        held = placement.consumer(consumer)
        assert placement.allocations(consumer) == {
            a: {'VCPU': 1, 'MEMORY_MB': 512}}
        assert (held['project_id'], held['user_id']) == ('p', 'u')
        assert held['consumer_generation'] == 1

    def test_bears_the_request_id(self, placement, client):
        hosts(placement, 'a')
        ask(client)

        assert CONTEXT.global_request_id in placement.log

    @pytest.mark.parametrize('version', ERAS)
    def test_can_be_made_in_the_form_of_each_era(self, placement, tmp_path,
                                                 version):
        [a], consumer = hosts(placement, 'a'), a_consumer()
        found = in_era(placement, tmp_path, version)

        assert take(found, a, consumer)
        assert placement.usages(a) == {'VCPU': 1, 'MEMORY_MB': 512}
        found.release(consumer)
        assert placement.usages(a) == {'VCPU': 0, 'MEMORY_MB': 0}

    def test_is_refused_where_there_is_no_room_any_more(self, placement,
                                                        client, caplog):
        [a], consumer = hosts(placement, 'a'), a_consumer()
        found = ask(client)
        placement.allocate(a_consumer(), {a: {'VCPU': 4}})

        assert not take(found, a, consumer)
        assert placement.allocations(consumer) == {}
        assert (f'Failed to save allocation for {consumer}. Got HTTP 409: '
                ) in caplog.text
        assert 'The requested amount would exceed the capacity' in caplog.text

    def test_is_refused_where_the_host_is_gone(self, placement, client):
        [a] = hosts(placement, 'a')
        found = ask(client)
        placement.ask('DELETE', f'/resource_providers/{a}')

        assert not take(found, a, a_consumer())

    def test_fails_if_another_claim_for_the_instance_comes_first(
            self, placement, client, monkeypatch):
        """After the instance's allocations were read."""
        a, b, c = hosts(placement, 'a', 'b', 'c')
        consumer, found = a_consumer(), ask(client)
        placement.allocate(consumer, {c: {'VCPU': 1}})
        rival = ask(client)
        put = type(found.claim.__self__)._put

        def late(self, instance_uuid, budget, body):
            if (self is found.claim.__self__
                    and body['consumer_generation'] is not None):
                assert take(rival, b, consumer)
            return put(self, instance_uuid, budget, body)

        monkeypatch.setattr(type(found.claim.__self__), '_put', late)

        with pytest.raises(exception.AllocationUpdateFailed,
                           match='consumer generation conflict'):
            take(found, a, consumer)
        found.release(consumer)
        assert placement.allocations(consumer).keys() == {b, c}


class TestClaimOfAnInstanceThatHoldsSomething:
    @pytest.mark.parametrize('version', ERAS)
    def test_in_an_evacuation_holds_both_hosts(
            self, placement, tmp_path, version):
        a, b = hosts(placement, 'a', 'b')
        consumer = a_consumer()
        placement.allocate(consumer, {a: {'VCPU': 2}})

        assert take(in_era(placement, tmp_path, version), b, consumer)

        assert placement.allocations(consumer) == {
            a: {'VCPU': 2}, b: {'VCPU': 1, 'MEMORY_MB': 512}}

    @pytest.mark.parametrize(('version', 'held'), [
        ('1.17', {'VCPU': 3, 'MEMORY_MB': 512}),
        ('1.25', {'VCPU': 3, 'MEMORY_MB': 512}),
        ('1.29', {'VCPU': 2}), ('1.36', {'VCPU': 2})])
    def test_on_the_same_host_adds_up_until_rocky(
            self, placement, tmp_path, version, held):
        [a], consumer = hosts(placement, 'a'), a_consumer()
        placement.allocate(consumer, {a: {'VCPU': 2}})

        assert take(in_era(placement, tmp_path, version), a, consumer)

        assert placement.allocations(consumer) == {a: held}

    @pytest.mark.parametrize('version', ERAS)
    def test_is_released_by_restoring_the_allocations(
            self, placement, tmp_path, version):
        a, b = hosts(placement, 'a', 'b')
        consumer = a_consumer()
        placement.allocate(consumer, {a: {'VCPU': 2}})
        before = placement.consumer(consumer)
        found = in_era(placement, tmp_path, version)
        assert take(found, b, consumer)

        found.release(consumer)

        after = placement.consumer(consumer)
        assert placement.allocations(consumer) == {a: {'VCPU': 2}}
        assert (after['project_id'], after['user_id']) == (
            before['project_id'], before['user_id'])
        assert placement.usages(b) == {'VCPU': 0, 'MEMORY_MB': 0}


class TestRelease:
    def test_succeeds_for_deleted_allocations(self, placement, client):
        [a], consumer = hosts(placement, 'a'), a_consumer()
        found = ask(client)
        assert take(found, a, consumer)
        placement.allocate(consumer, {})

        assert found.release(consumer)


class TestTwoCallsForOneInstance:
    """The claim of the first call is released after the second's claim."""

    @pytest.fixture
    def claims(self, placement, tmp_path):
        """Function of a microversion that returns claims of a new call."""
        conf = http_placement.a_conf(tmp_path, **placement.options)
        return lambda version: AllocationClaims(
            PlacementAdapter(conf), version, RequestIdentity.of(CONTEXT))

    @pytest.mark.parametrize('version', ['1.12', '1.17', '1.28', '1.36'])
    @pytest.mark.parametrize('other', [True, False])
    def test_keep_the_allocations_of_the_second(self, placement, claims,
                                                version, other, caplog):
        a, b = hosts(placement, 'a', 'b')
        consumer, chosen = a_consumer(), b if other else a
        first, second = claims(version), claims(version)
        assert first.claim(consumer, a_candidate(a), SPEC)
        assert second.claim(consumer, a_candidate(chosen), SPEC)
        before = placement.allocations(consumer)

        assert not first.release(consumer)

        assert placement.allocations(consumer) == before
        assert chosen in before
        assert caplog.text.count('they are left alone') == 1

    @pytest.mark.parametrize('version', ['1.12', '1.17', '1.28', '1.36'])
    def test_leave_nothing_without_the_second(self, placement, claims,
                                              version):
        [a], consumer = hosts(placement, 'a'), a_consumer()
        first = claims(version)
        assert first.claim(consumer, a_candidate(a), SPEC)

        assert first.release(consumer)

        assert placement.consumers(a) == {}
        assert claims(version).claim(consumer, a_candidate(a), SPEC)

    @pytest.mark.parametrize('version', ['1.28', '1.36'])
    def test_for_several_instances_keep_the_second_s(
            self, placement, claims, version):
        a, b = hosts(placement, 'a', 'b')
        consumers, first = [a_consumer() for _ in range(3)], claims(version)
        assert first.claim_all(
            {uuid: a_candidate(a) for uuid in consumers}, SPEC)
        assert claims(version).claim(consumers[1], a_candidate(b), SPEC)

        assert first.release_all(consumers) == []
        assert [first.release(uuid) for uuid in consumers] == [
            True, False, True]

        assert placement.consumers(a).keys() == {consumers[1]}
        assert placement.consumers(b).keys() == {consumers[1]}


class TestAggregates:
    def test_are_those_of_the_provider(self, placement, client):
        aggregates = [a_consumer(), a_consumer()]
        segment = placement.provider('s', a_consumer(),
                                     {'IPV4_ADDRESS': 254},
                                     aggregates=aggregates)

        assert sorted(client.aggregates_of(segment, CONTEXT)) == sorted(
            aggregates)

    def test_raise_for_an_unknown_provider(self, client):
        with pytest.raises(
                exception.ResourceProviderAggregateRetrievalFailed):
            client.aggregates_of(a_consumer(), CONTEXT)


def in_era(placement, directory, version):
    """List candidates with a client that knows no newer microversion."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr('nova_sched.placement.documents.CLAIMS', version)
        return ask(http_placement.client(directory, **placement.options))


class TestNewInstances:
    """Claimed without reading their allocations first."""

    @pytest.fixture
    def found(self, placement, client):
        for name in 'ab':
            placement.provider(name, a_consumer(), INVENTORY)
        return ask(client)

    def wanted(self, found, count, provider=None):
        providers = sorted(found.providers)
        return {a_consumer(): found.of(provider or providers[index % 2])[0]
                for index in range(count)}

    def test_with_a_consumer_left_by_a_failed_claim_are_claimed(
            self, placement, found):
        """Only a refusal has the consumer's generation."""
        consumer = a_consumer()
        with pytest.raises(Refused, match='does not exist'):
            placement.ask('PUT', f'/allocations/{consumer}', {
                'allocations': {a_consumer(): {'resources': {'VCPU': 1}}},
                'project_id': 'p', 'user_id': 'u',
                'consumer_generation': None}, version='1.36')

        assert take(found, next(iter(found.providers)), consumer)
        assert placement.allocations(consumer)

    def test_are_claimed_and_released_together(self, placement, found):
        wanted = self.wanted(found, 6)

        assert found.claim_all(wanted, SPEC)
        assert {uuid: set(placement.allocations(uuid)) for uuid in wanted
                } == {uuid: set(request['allocations'])
                      for uuid, request in wanted.items()}

        assert set(found.release_all(list(wanted))) == set(wanted)
        for provider in found.providers:
            assert placement.consumers(provider) == {}
        assert take(found, next(iter(found.providers)), next(iter(wanted)))

    def test_are_all_refused_if_one_is(self, placement, found):
        provider = next(iter(found.providers))

        assert not found.claim_all(self.wanted(found, 5, provider), SPEC)
        assert placement.consumers(provider) == {}

    def test_are_all_refused_if_one_is_not_new(self, placement, found):
        wanted = self.wanted(found, 3)
        *_, old = wanted
        provider = next(iter(found.providers))
        placement.allocate(old, {provider: {'VCPU': 1}})

        assert not found.claim_all(wanted, SPEC)
        assert all(found.claim(uuid, request, SPEC)
                   for uuid, request in wanted.items())
