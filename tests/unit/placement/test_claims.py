"""The content of claims and the handling of responses."""

import gc
import types

import pytest

from nova_sched import exception
from nova_sched.hosts.decision import Decision
from nova_sched.placement import claims
from tests.builders import http_placement
from tests.builders import requests
from tests.builders.http_claims import CURRENT
from tests.builders.http_claims import ERAS
from tests.builders.http_claims import PATH
from tests.builders.http_claims import QUEENS
from tests.builders.http_claims import ROCKY
from tests.builders.http_claims import SPEC
from tests.builders.http_claims import STEIN
from tests.builders.http_claims import UUID
from tests.builders.http_claims import WANTED
from tests.builders.http_claims import Kept
from tests.builders.http_placement import CONSUMER
from tests.builders.http_placement import CONTEXT
from tests.builders.http_placement import RACE
from tests.builders.http_placement import TAKEN
from tests.builders.http_placement import a_candidate
from tests.builders.http_placement import held
from tests.builders.http_server import DROP
from tests.builders.http_server import Answer


class TestClaim:
    def test_body_is_candidate_with_owner(self, scene):
        assert scene.claim().body == {
            **WANTED, 'project_id': 'p', 'user_id': 'u',
            'consumer_generation': None}

    @pytest.mark.parametrize(('key', 'before', 'since'), [
        ('consumer_generation', ROCKY, STEIN), ('mappings', '1.32', '1.35')])
    def test_key_is_sent_since_its_version(self, scene, key, before, since):
        assert key in scene.claim(since).body
        assert key not in scene.claim(before).body

    @pytest.mark.parametrize(('version', 'read'), [
        (QUEENS, '1.17'), (ROCKY, '1.25'), (STEIN, '1.28'),
        (CURRENT, '1.28')])
    def test_claim_uses_version_of_candidates(self, scene, placement, version,
                                              read):
        placement.on('GET', PATH, held({'z': {'VCPU': 1}}))

        assert scene.claim(version).version == f'placement {version}'
        assert placement.to('GET', PATH)[0].version == f'placement {read}'

    def test_missing_user_is_that_of_context(self, scene):
        spec = requests.a_request(project_id='p', user_id=None)

        assert scene.claim(spec=spec).body['user_id'] == 'u-caller'

    def test_missing_owner_is_placeholder(self, scene):
        """Placement requires a name."""
        spec = requests.a_request(project_id=None, user_id=None)
        body = scene.claim(spec=spec, identity=claims.RequestIdentity()).body

        assert body['user_id'] == body['project_id'] == claims.NOBODY

    def test_request_id_is_sent(self, scene, placement):
        scene.claim()

        assert {asked.headers['X-Openstack-Request-Id']
                for asked in placement.to('GET', PATH)
                + placement.to('PUT', PATH)} == {
                    CONTEXT.global_request_id}

    def test_attempt_is_logged(self, scene, caplog):
        caplog.set_level('DEBUG')
        scene.claim()

        assert ('Attempting to claim resources in the placement API for '
                f'instance {UUID}') in caplog.text

    def test_candidate_is_not_modified(self, scene, placement):
        placement.on('GET', PATH, held({'a': {'VCPU': 1}}))
        wanted = a_candidate('a')

        scene.claim(QUEENS, request=wanted)

        assert wanted == a_candidate('a')


class TestMove:
    @pytest.mark.parametrize('version', ERAS)
    def test_move_holds_both_hosts(self, scene, placement, version):
        placement.on('GET', PATH, held({'z': {'VCPU': 1}}, generation=4))

        body = scene.claim(version).body

        assert body['allocations'] == {
            'z': {'resources': {'VCPU': 1}},
            'a': {'resources': {'VCPU': 2, 'MEMORY_MB': 512}}}
        assert 'mappings' not in body
        assert body.get('consumer_generation', 4) == 4

    @pytest.mark.parametrize('version', [QUEENS, ROCKY])
    def test_resize_to_same_host_adds_up(self, scene, placement, version):
        placement.on('GET', PATH, held({'a': {'VCPU': 1, 'DISK_GB': 5}}))

        assert scene.claim(version).body['allocations'] == {
            'a': {'resources': {'VCPU': 3, 'DISK_GB': 5, 'MEMORY_MB': 512}}}

    @pytest.mark.parametrize('version', [STEIN, CURRENT])
    def test_same_host_resize_adds_nothing(self, scene, placement, version):
        placement.on('GET', PATH, held({'a': {'VCPU': 1}, 'z': {'VCPU': 4}}))

        assert scene.claim(version).body['allocations'] == {
            'a': {'resources': {'VCPU': 1}}, 'z': {'resources': {'VCPU': 4}}}

    @pytest.mark.parametrize('version', [QUEENS, CURRENT])
    def test_common_host_keeps_allocations(self, scene, placement, version):
        placement.on('GET', PATH, held({'a': {'VCPU': 1}}))
        both = {'allocations': {
            uuid: {'resources': {'VCPU': 2}} for uuid in 'ab'}}

        assert scene.claim(version, request=both).body['allocations'] == {
            'a': {'resources': {'VCPU': 1}}, 'b': {'resources': {'VCPU': 2}}}

    def test_double_allocation_is_logged(self, scene, placement, caplog):
        caplog.set_level('DEBUG')
        placement.on('GET', PATH, held({'z': {'VCPU': 1}}))
        scene.claim()

        assert ('Doubling-up allocation_request for move operation. Current '
                "allocations: {'z': {'VCPU': 1}}") in caplog.text
        assert ('New allocation_request containing both source and '
                'destination hosts in move operation: {') in caplog.text


class TestRefusal:
    @pytest.mark.parametrize('answer', [
        http_placement.FULL, http_placement.error(400, 'No such provider'),
        http_placement.error(404),
        http_placement.error(406), Answer(409, 'Conflict'),
        Answer(409, '<html/>'), Answer(409, '[]'), Answer(409, '{"errors":1}'),
        Answer(409, {'errors': []})])
    def test_refused_claim_is_logged(self, scene, placement, caplog, answer):
        placement.on('PUT', PATH, answer)

        assert not scene.claims().claim(UUID, WANTED, SPEC)
        [record] = caplog.records
        assert record.levelname == 'WARNING'
        assert (f'Failed to save allocation for {UUID}. Got HTTP '
                f'{answer.status}: ') in record.getMessage()
        assert len(placement.to('PUT')) == 1
        assert not placement.to('DELETE')

    @pytest.mark.parametrize('answer', [
        Answer(500, 'Oops'), Answer(502, '<html/>'), Answer(504),
        Answer(200, '<html>It works!</html>')])
    def test_claim_behind_failing_proxy_is_released(self, scene, placement,
                                                    answer):
        """Placement may have accepted the claim."""
        kept = Kept(placement)
        placement.on('PUT', PATH, kept.taking(answer), kept.put)

        assert not scene.claims().claim(UUID, WANTED, SPEC)
        assert len(placement.to('PUT', PATH)) == 2
        assert not kept.allocations

    @pytest.mark.parametrize('answer', [
        Answer(500), Answer(404), Answer(200, '<html>'), Answer(200, '[]'),
        Answer(200, {'allocations': {'a': 1}}), *(
            Answer(200, {'allocations': {'a': {'resources': resources}}})
            for resources in ([['VCPU', 1]], 'ab', {'VCPU': None},
                              {'VCPU': '1'}, {'VCPU': True}, {'VCPU': 0},
                              {'VCPU': -1}, {'VCPU': 1.5}))])
    def test_unreadable_allocations_fail_claim(self, scene, placement, caplog,
                                               answer):
        placement.on('GET', PATH, answer)
        placement.on('PUT', PATH, CONSUMER, TAKEN)

        assert not scene.claims().claim(UUID, WANTED, SPEC)
        assert ('Placement does not return the allocations of instance '
                f'{UUID}. Got {answer.status}: ') in caplog.text
        assert len(placement.to('PUT')) == 1


class TestGeneralRefusal:
    """Other hosts are not tried, as the refusal concerns all claims."""

    @pytest.mark.parametrize('answer', [
        http_placement.error(403, 'No role'), http_placement.error(429),
        Answer(429, headers={'Retry-After': '3600'}),
        Answer(429, headers={'Retry-After': 'soon'}),
        Answer(429, headers={'Retry-After': '1'})])
    def test_general_refusal_raises(self, scene, placement, answer):
        placement.on('PUT', PATH, answer)
        claims = scene.claims(timeout=1)

        with pytest.raises(exception.PlacementUnavailable, match=(
                f'Placement refuses claims. Got {answer.status}: ')) as raised:
            claims.claim(UUID, WANTED, SPEC)

        assert str(raised.value.for_caller('nova')) == (
            f'Placement refuses claims with status {answer.status}')
        assert len(placement.to('PUT')) == 1
        assert not claims.held()

    @pytest.mark.parametrize('after', [
        '0', '1', 'Wed, 21 Oct 2015 07:28:00 GMT'])
    def test_retry_after_is_obeyed(self, scene, placement, after):
        placement.on('PUT', PATH, Answer(
            429, headers={'Retry-After': after}), TAKEN)

        assert scene.claims().claim(UUID, WANTED, SPEC)
        assert len(placement.to('PUT')) == 2


class TestNewInstance:
    """Its allocations are not read."""

    def test_new_instance_needs_one_request(self, scene, placement):
        body = scene.claim().body

        assert [asked.method for asked in placement.asked] == ['PUT']
        assert body['consumer_generation'] is None

    @pytest.mark.parametrize('version', [QUEENS, ROCKY])
    def test_old_version_reads_allocations(self, scene, placement, version):
        scene.claim(version)

        assert [asked.method for asked in placement.asked] == ['GET', 'PUT']

    def test_next_host_needs_one_request(self, scene, placement):
        placement.on('PUT', PATH, http_placement.FULL, TAKEN)
        made = scene.claims()

        assert not made.claim(UUID, WANTED, SPEC)
        assert made.claim(UUID, a_candidate('b'), SPEC)
        assert [asked.body['consumer_generation']
                for asked in placement.asked] == [None, None]

    def test_existing_instance_keeps_its_allocations(self, scene, placement):
        kept = Kept(placement, {'z': {'VCPU': 1}}, generation=4)

        assert scene.claims().claim(UUID, a_candidate('a'), SPEC)
        assert [asked.method for asked in placement.asked] == [
            'PUT', 'GET', 'PUT']
        assert kept.allocations == {'z': {'VCPU': 1}, 'a': {'VCPU': 1}}

    def test_generation_is_taken_from_refusal(self, scene, placement):
        """A claim on an unknown provider leaves such a consumer."""
        placement.on('PUT', PATH, http_placement.error(
            409, 'consumer generation conflict - expected 0 but got None',
            'placement.concurrent_update'), TAKEN)

        assert scene.claims().claim(UUID, WANTED, SPEC)
        assert [asked.body['consumer_generation'] for asked
                in placement.to('PUT')] == [None, 0]

    def test_allocations_survive_unanswered_claim(self, scene, placement):
        kept = Kept(placement, {'z': {'VCPU': 1}}, generation=4)
        placement.on('PUT', PATH, DROP, kept.put)
        made = scene.claims()
        assert not made.claim(UUID, WANTED, SPEC)

        assert made.claim(UUID, a_candidate('b'), SPEC)
        assert kept.allocations == {'z': {'VCPU': 1}, 'b': {'VCPU': 1}}

        made.release(UUID)

        assert kept.allocations == {'z': {'VCPU': 1}}


class TestRace:
    """Another client has changed the same provider."""

    OLD = http_placement.error(
        409, 'Another thread concurrently updated the data. Please retry '
        'your update', code=None)

    @pytest.mark.parametrize(('version', 'answer', 'gets'), [
        (CURRENT, RACE, 0), (STEIN, RACE, 0), (ROCKY, RACE, 3),
        (QUEENS, OLD, 3)])
    def test_race_is_retried(self, scene, placement, caplog, version, answer,
                             gets):
        """Without generations, allocations are read again."""
        caplog.set_level('DEBUG')
        placement.on('PUT', PATH, answer, answer, TAKEN)

        assert scene.claims(version).claim(UUID, WANTED, SPEC)
        assert len(placement.to('PUT', PATH)) == 3
        assert len(placement.to('GET', PATH)) == gets
        assert (
            'Unable to claim_resources because another process changed the '
            'resource providers involved in our attempt to put allocations '
            f'for consumer {UUID}; retrying...') in caplog.text

    def test_changed_consumer_is_read_again(self, scene, placement):
        """The consumer has changed since the first attempt."""
        placement.on('PUT', PATH, CONSUMER, RACE, CONSUMER, CONSUMER, TAKEN)
        placement.on('GET', PATH, held({'z': {'VCPU': 1}}))

        assert scene.claims(CURRENT).claim(UUID, WANTED, SPEC)
        assert len(placement.to('GET', PATH)) == 2

    def test_race_is_given_up_after_4_attempts(self, scene, placement, caplog):
        placement.on('PUT', PATH, RACE)

        assert not scene.claims().claim(UUID, WANTED, SPEC)
        assert len(placement.to('PUT', PATH)) == 4
        assert scene.slept == [0, 0, 2, 4]
        assert ('Failed scheduler client operation claim_resources: out of '
                'retries') in caplog.text

    def test_race_for_instance_fails_request(self, scene, placement):
        placement.on('PUT', PATH, CONSUMER)
        made = scene.claims()

        with pytest.raises(exception.AllocationUpdateFailed) as failed:
            made.claim(UUID, WANTED, SPEC)
        assert failed.value.kwargs['consumer_uuid'] == UUID
        assert 'expected 1 but got None' in failed.value.kwargs['error']

    def test_race_for_instance_is_left_to_winner(self, scene, placement):
        placement.on('PUT', PATH, CONSUMER)
        made = scene.claims()
        with pytest.raises(exception.AllocationUpdateFailed):
            made.claim(UUID, WANTED, SPEC)

        made.release(UUID)

        assert not placement.to('DELETE')


def texts_in(found):
    """Return all texts reachable from an object, except code: set."""
    texts, seen, left = set(), set(), [found]
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, type | types.ModuleType
                                         | types.FunctionType):
            continue
        seen.add(id(one))
        if isinstance(one, str):
            texts.add(one)
        left += gc.get_referents(one)
    return texts


def test_record_contains_no_token(client, placement):
    """Neither the caller's nor the service's token."""
    placement.on('GET', '/allocation_candidates',
                 http_placement.candidates(WANTED))
    offered = client.candidates([http_placement.Query()], CONTEXT)
    record = Decision(offer=offered)
    assert 'token-of-the-service' in texts_in(client)

    assert not {'token-of-the-service', 'token-of-the-caller'} & texts_in(
        record)
