"""Candidates from a mirror over HTTP, and the effect of claims."""

import contextlib
import math

import pytest

from nova_sched.placement.adapter import RequestFailed
from nova_sched.placement.mirror import upkeep
from nova_sched.placement.mirror.reader import ProviderReader
from nova_sched.scheduler.utils import Group
from nova_sched.scheduler.utils import ResourceRequest
from tests.builders import http_placement
from tests.builders.clouds import a_uuid
from tests.builders.http_claims import SPEC
from tests.builders.http_placement import CONTEXT
from tests.builders.http_placement import a_candidate
from tests.builders.http_placement import error
from tests.builders.http_providers import Providers
from tests.builders.http_server import Answer
from tests.builders.waiting import until

A, B, C = a_uuid(1), a_uuid(2), a_uuid(3)
#: An instance, and an aggregate.
ONE, GROUP = a_uuid(11), a_uuid(21)


@pytest.fixture
def providers(placement):
    """The providers of a Placement: A and B."""
    providers = Providers(placement)
    providers.add(A)
    providers.add(B, traits=['CUSTOM_GOLD'], aggregates=[GROUP])
    return providers


@contextlib.contextmanager
def running(client):
    """Run a mirror, complete at first."""
    mirror = client.mirrored(tuple)
    mirror.start()
    until(lambda: mirror.age is not None, 'a complete mirror')
    yield
    mirror.stop()


@pytest.fixture
def mirrored(client, providers):
    """A client with a complete mirror."""
    with running(client):
        yield client


def a_query(vcpus=1, **fields):
    return ResourceRequest({'': Group(resources={'VCPU': vcpus}, **fields)})


def ask(client, *queries):
    return client.mirror_candidates(list(queries) or [a_query()])


def listings(placement):
    return len(placement.to('GET', '/allocation_candidates'))


class TestCandidates:
    def test_mirrored_candidates_equal_listed_ones(self, mirrored, placement):
        asked = listings(placement)

        found = ask(mirrored)
        listed = mirrored.candidates([a_query()], CONTEXT)

        assert listings(placement) == asked + 1
        assert found.of(A) == listed.of(A) == [a_candidate(A)]
        assert found.providers == listed.providers == {A, B}
        assert dict(found.by_provider) == listed.by_provider
        assert found.version == listed.version == '1.36'
        assert found.age >= 0 and listed.age is None

    def test_candidates_follow_order_of_queries(self, mirrored):
        found = ask(mirrored, a_query(2), a_query(1))

        assert found.of(A) == [a_candidate(A, VCPU=2), a_candidate(A, VCPU=1)]

    def test_candidates_may_be_changed(self, mirrored):
        found = ask(mirrored)
        found.of(A)[0]['allocations'].clear()

        assert found.of(A) == [a_candidate(A)]
        assert found.of(C) == []

    def test_members_of_aggregate_are_read_once(self, mirrored, placement):
        for _ in range(2):
            assert ask(mirrored, a_query(member_of=[[GROUP]])).providers == {B}

        assert len(placement.to(
            'GET', f'/resource_providers?member_of={GROUP}')) == 1

    def test_forget_rereads_members(self, mirrored, placement, providers):
        query = a_query(member_of=[[GROUP]])
        ask(mirrored, query)
        providers.there[A]['aggregates'] = [GROUP]

        mirrored._mirror.forget_aggregates()

        assert ask(mirrored, query).providers == {A, B}

    def test_few_aggregates_are_read_per_request(self, mirrored, placement):
        groups = [GROUP, *(a_uuid(40 + number) for number in range(5))]
        query = a_query(member_of=[groups])

        def read():
            return {asked.path for asked in placement.to(
                'GET', '/resource_providers?member_of')}

        assert ask(mirrored, query) is None
        assert len(read()) == 4
        assert ask(mirrored, query).providers == {B}
        assert len(read()) == 6

    @pytest.mark.parametrize('query', [
        a_query(5), a_query(member_of=[['no uuid']]),
        ResourceRequest({'': Group(resources={'VGPU': 1})})])
    def test_unsupported_query_is_left_to_placement(self, mirrored, query):
        assert ask(mirrored, query) is None

    def test_incomplete_mirror_leaves_query_alone(self, client, providers):
        assert ask(client) is None
        client.mirrored(tuple)
        assert ask(client) is None

    def test_old_placement_is_not_mirrored(self, client, placement, providers):
        placement.on('GET', '/', http_placement.versions('1.35'))

        with running(client):
            assert ask(client) is None

    def test_unreadable_aggregate_leaves_query_alone(
            self, mirrored, placement):
        placement.on('GET', '/resource_providers?member_of',
                     error(400, 'Invalid aggregate'))

        assert ask(mirrored, a_query(member_of=[[GROUP]])) is None


class TestInvalidProviders:
    """Provider A has invalid data."""

    @pytest.fixture
    def fill(self, client, providers, monkeypatch, caplog):
        """Function that fills a mirror and returns the client."""
        for name, value in (('LEAST', 0.05), ('CHANGES', 1), ('SINGLE', 1000)):
            monkeypatch.setattr(upkeep, name, value)
        with contextlib.ExitStack() as stack:
            yield lambda: stack.enter_context(running(client)) or client

    def check(self, client, providers, others=frozenset()):
        """Check that the mirror has all other providers and is updated."""
        until(lambda: ask(client).providers == {B, *others},
              'the right providers')
        providers.add(B, vcpus=9, generation=2)
        until(lambda: (found := ask(client, a_query(9)))
              and B in found.providers, 'what has changed')

    @pytest.mark.parametrize('field', [
        {'total': 10 ** 400}, {'total': math.inf},
        {'allocation_ratio': 1e38}, {'allocation_ratio': 10 ** 400},
        {'allocation_ratio': math.inf}, {'max_unit': 10 ** 400}])
    def test_unbounded_inventory_is_offered(self, fill, providers, caplog,
                                            field):
        providers.add(A, **field)

        self.check(fill(), providers, {A})
        assert caplog.messages == []

    @pytest.mark.parametrize('field', [
        *({'total': total} for total in (
            math.nan, -1, -10 ** 400, -math.inf, '9', None, [])),
        *({'allocation_ratio': ratio} for ratio in (
            math.nan, -1.0, '1', None)),
        {'reserved': math.nan}, {'reserved': 10 ** 400}, {'min_unit': None},
        {'min_unit': 10 ** 400}, {'max_unit': math.nan},
        {'step_size': 0}, {'step_size': -1}, {'step_size': 10 ** 400}])
    def test_invalid_inventory_hides_no_other(self, fill, providers, field):
        providers.add(A, **field)

        self.check(fill(), providers)

    @pytest.mark.parametrize('part', [
        *({'used': {'VCPU': used}} for used in (
            10 ** 400, math.inf, math.nan, -1, -math.inf, '0', None, True)),
        *({'generation': generation} for generation in (
            10 ** 400, -2 ** 63, 1.5, math.nan, None, '1')),
        {'traits': None}, {'traits': [7]}, {'traits': [['CUSTOM_GOLD']]},
        {'aggregates': 7}, {'aggregates': [None]}])
    def test_invalid_part_hides_no_other(self, fill, providers, part):
        providers.there[A] |= part

        self.check(fill(), providers)

    @pytest.mark.parametrize('uuid', [
        '', 'a name', '../a', 'a?b#c', '\u2603', '\ud800', 'a\r\nb: c',
        '0' * 4000])
    def test_invalid_uuid_hides_no_other_provider(self, fill, providers, uuid):
        providers.there = {uuid: providers.there[A], B: providers.there[B]}

        self.check(fill(), providers)

    @pytest.mark.parametrize('part', [
        {'uuid': None}, {'uuid': 7}, {'uuid': []}, {}, None, [], 'a'])
    def test_malformed_item_hides_no_other_provider(self, fill, placement,
                                                    providers, part):
        [read] = placement.routes('GET', '/resource_providers')

        def with_odd(asked):
            answer = read(asked)
            if 'resource_providers' in answer.body:
                answer.body['resource_providers'].insert(0, part)
            return answer
        placement.on('GET', '/resource_providers', with_odd)

        self.check(fill(), providers, {A})

    @pytest.mark.parametrize('answer', [
        error(500), error(403), Answer(body='[]'), Answer(body={}),
        *(Answer(body={'resource_provider_generation': 1, **dict.fromkeys(
            ('inventories', 'usages'), told)})
            for told in (None, [], 7, {'VCPU': None}, {'VCPU': []}))])
    @pytest.mark.parametrize('part', ['inventories', 'usages'])
    def test_unreadable_part_hides_no_other_provider(self, fill, placement,
                                                     providers, part, answer):
        providers.add(A, used=4)
        placement.on('GET', f'/resource_providers/{A}/{part}', answer)

        self.check(fill(), providers)

    def test_invalid_provider_is_logged_once(self, fill, providers, caplog):
        providers.add(A, allocation_ratio=math.nan)

        self.check(fill(), providers)

        [line] = caplog.messages
        assert A in line
        assert 'nan is no number' in line

    def test_repaired_provider_is_offered(self, fill, providers, monkeypatch):
        monkeypatch.setattr(upkeep, 'AGAIN', 0.1)
        providers.add(A, step_size=0)
        client = fill()
        self.check(client, providers)

        providers.add(A, generation=2)

        until(lambda: ask(client).providers == {A, B}, 'it is offered')


@pytest.mark.parametrize('amount', [2 ** 31, 2 ** 63, 10 ** 400])
def test_huge_amount_fits_nowhere(mirrored, amount):
    assert ask(mirrored, a_query(amount)) is None


class TestClaims:
    """The mirror's generations after claims."""

    @pytest.fixture
    def known(self, mirrored):
        return mirrored._mirror.providers

    def test_refused_claim_rereads_provider(self, mirrored, known, providers):
        providers.add(A, used=2)
        found = ask(mirrored, a_query(3))
        claims = mirrored.claims(found, CONTEXT)
        assert not claims.claim(ONE, found.of(A)[0], SPEC)

        mirrored.invalidate([A])

        assert A not in ask(mirrored).providers or (
            ask(mirrored, a_query(2)).providers == {A, B})
        until(lambda: ask(mirrored, a_query(2)).providers == {A, B},
              'the provider to be read')
        assert ask(mirrored, a_query(3)).providers == {B}

    def test_joint_claim_raises_generation(self, mirrored, known, providers):
        found = ask(mirrored)
        wanted = {a_uuid(30 + number): found.of(uuid)[0]
                  for number, uuid in enumerate([A, A, B])}

        assert mirrored.claims(found, CONTEXT).claim_all(wanted, SPEC)
        known.written({A: 1, B: 1})

        self.check(known, providers, [A, B])

    def test_claim_raises_generation_once(self, mirrored, known, providers):
        found = ask(mirrored)
        claims = mirrored.claims(found, CONTEXT)
        assert claims.claim(ONE, found.of(A)[0], SPEC)
        known.written(dict.fromkeys(claims.writes, 1))

        self.check(known, providers, [A, B])

    @staticmethod
    def check(known, providers, uuids):
        """Check that the mirror has the current generations."""
        assert known.differing({
            uuid: providers.there[uuid]['generation'] for uuid in uuids}) == []


class TestReader:
    @pytest.mark.parametrize('body', [
        {}, {'resource_providers': [{}]}, {'resource_providers': 7},
        {'resource_providers': [{'uuid': A, 'generation': 1}]}])
    def test_malformed_list_is_refused(self, placement, client, body):
        placement.on('GET', '/resource_providers', Answer(body=body))

        with pytest.raises(RequestFailed, match='not as expected'):
            ProviderReader(client._adapter).generations()

    def test_whole_provider_is_read(self, client, providers):
        providers.add(A, vcpus=8, used=3, traits=['CUSTOM_GOLD'],
                      aggregates=[GROUP], generation=5, reserved=2,
                      allocation_ratio=1.5, min_unit=2, max_unit=6,
                      step_size=2)

        found = ProviderReader(client._adapter).provider(A, None)

        [(name, amounts)] = found.amounts.items()
        assert (found.uuid, found.generation, name) == (A, 5, 'VCPU')
        assert (amounts.capacity, amounts.used) == (9, 3)
        assert (amounts.min_unit, amounts.max_unit, amounts.step_size) == (
            2, 6, 2)
        assert (found.traits, found.aggregates) == ({'CUSTOM_GOLD'}, {GROUP})

    def test_changing_provider_gets_oldest_generation(self, placement, client,
                                                      providers):
        placement.on('GET', f'/resource_providers/{A}/usages', Answer(body={
            'usages': {}, 'resource_provider_generation': 7}))
        placement.on('GET', f'/resource_providers/{A}/traits', Answer(body={
            'traits': [], 'resource_provider_generation': 3}))
        providers.add(A, generation=8)

        assert ProviderReader(client._adapter).provider(
            A, None).generation == 3

    def test_deleted_provider_is_none(self, client, providers):
        reader = ProviderReader(client._adapter)

        assert reader.provider(C, None) is None
        assert reader.used(C) is None
