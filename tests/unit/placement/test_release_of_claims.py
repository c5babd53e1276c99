"""Release of claims, also of unanswered claims."""


import pytest

from nova_sched import exception
from tests.builders import http_placement
from tests.builders.http_claims import CURRENT
from tests.builders.http_claims import PATH
from tests.builders.http_claims import QUEENS
from tests.builders.http_claims import ROCKY
from tests.builders.http_claims import SPEC
from tests.builders.http_claims import UUID
from tests.builders.http_claims import WANTED
from tests.builders.http_claims import Kept
from tests.builders.http_placement import TAKEN
from tests.builders.http_placement import held
from tests.builders.http_server import DROP
from tests.builders.http_server import Answer

#: The claim of WANTED, below microversion 1.28.
HELD = held({'a': {'VCPU': 2, 'MEMORY_MB': 512}}, generation=None)


class TestUnansweredClaim:
    @pytest.mark.parametrize('failures', [0, 1])
    def test_unanswered_claim_is_released(self, scene, placement, failures):
        """If the first release fails, a later one succeeds."""
        kept = Kept(placement)
        placement.on('PUT', PATH, kept.taking(DROP), *[DROP] * failures,
                     kept.put)
        made = scene.claims()

        assert not made.claim(UUID, WANTED, SPEC)
        assert bool(kept.allocations) is bool(failures)
        assert made.claim(UUID, http_placement.a_candidate('b'), SPEC)
        assert [asked.method for asked in placement.asked] == [
            'PUT', *['GET', 'PUT'] * (1 + failures), 'PUT']
        assert kept.allocations == {'b': {'VCPU': 1}}

    def test_unanswered_claim_is_deleted_below_1_28(self, scene, placement):
        placement.on('GET', PATH, held(), HELD, held())
        placement.on('PUT', PATH, DROP, TAKEN)
        made = scene.claims(ROCKY)

        assert not made.claim(UUID, WANTED, SPEC)
        assert made.claim(UUID, http_placement.a_candidate('b'), SPEC)
        assert [asked.method for asked in placement.asked] == [
            'GET', 'PUT', 'GET', 'DELETE', 'GET', 'PUT']

    def test_claim_is_not_resent_blindly(self, scene, placement):
        placement.on('PUT', PATH, DROP)

        scene.claims(connect_retries=3, connect_retry_delay=0.01).claim(
            UUID, WANTED, SPEC)

        assert len(placement.to('PUT')) == 1

    def test_failed_release_logs_a_command(self, scene, placement, caplog):
        kept = Kept(placement)
        placement.on('PUT', PATH, kept.taking(DROP), DROP)

        assert not scene.claims().claim(UUID, WANTED, SPEC)
        assert ('It is unknown whether Placement has accepted a claim for '
                f'instance {UUID}, and releasing it failed: ') in caplog.text
        assert f'resource provider allocation delete {UUID}' in caplog.text

    def test_three_failures_end_claims(self, scene, placement, caplog):
        """With any number of hosts left to try."""
        placement.on('GET', PATH, DROP)
        made = scene.claims(ROCKY)

        for _ in range(100):
            assert not made.claim(UUID, WANTED, SPEC)

        assert len(placement.asked) == 3
        assert caplog.text.count(
            'Placement has failed 3 times in a row and is not queried again '
            'for this request') == 1


class TestRelease:
    """From microversion 1.28 on, with consumer generations."""

    def claimed(self, scene, *answers):
        """Make one accepted claim.

        answers: to later PUT requests.
        """
        scene.placement.on('PUT', PATH, TAKEN, *answers or [TAKEN])
        made = scene.claims()
        assert made.claim(UUID, WANTED, SPEC)
        return made

    def test_release_empties_consumer(self, scene, placement, caplog):
        caplog.set_level('INFO')

        assert self.claimed(scene).release(UUID)

        asked = placement.to('PUT', PATH)[-1]
        assert asked.version == 'placement 1.36'
        assert asked.body == {
            'allocations': {}, 'project_id': 'p', 'user_id': 'u',
            'consumer_generation': 1}
        assert not placement.to('DELETE')
        assert f'Deleted allocations for instance {UUID}' in caplog.text

    def test_changed_consumer_is_left_alone(self, scene, placement, caplog):
        placement.on('GET', PATH, held({'b': {'VCPU': 1}}, generation=2))

        assert not self.claimed(scene, http_placement.CONSUMER).release(UUID)

        assert len(placement.to('PUT', PATH)) == 2
        assert not placement.to('DELETE')
        [line] = [record.getMessage() for record in caplog.records
                  if record.levelname == 'WARNING']
        assert line == (f'The allocations of instance {UUID} have changed '
                        'since this request claimed them; they are left alone')

    def test_equal_claim_of_other_request_is_kept(self, scene, placement):
        kept = Kept(placement)
        first, second = scene.claims(), scene.claims()
        assert first.claim(UUID, WANTED, SPEC)
        assert second.claim(UUID, WANTED, SPEC)

        assert not first.release(UUID)

        assert kept.allocations == {'a': {'VCPU': 2, 'MEMORY_MB': 512}}

    def test_release_after_unanswered_release_works(self, scene, placement):
        kept = Kept(placement)
        made = scene.claims()
        assert made.claim(UUID, WANTED, SPEC)
        placement.on('PUT', PATH, kept.taking(DROP), kept.put)

        with pytest.raises(exception.PlacementError, match='not responding'):
            made.release(UUID)
        assert made.release(UUID)

        assert not kept.allocations

    @pytest.mark.parametrize('answer', [
        Answer(500, 'Oops'), http_placement.error(404), Answer(200, '<p>')])
    def test_refused_release_raises(self, scene, caplog, answer):
        with pytest.raises(exception.PlacementError, match='Got '):
            self.claimed(scene, answer).release(UUID)
        assert (f'Unable to delete allocation for instance {UUID}: '
                f'({answer.status} ') in caplog.text

    def test_unanswered_release_raises(self, scene):
        with pytest.raises(exception.PlacementError, match='not responding'):
            self.claimed(scene, DROP).release(UUID)

    def test_release_without_claim_does_nothing(self, scene, placement):
        placement.on('PUT', PATH, http_placement.FULL)
        made = scene.claims()
        made.claim(UUID, WANTED, SPEC)

        made.release(UUID)

        assert len(placement.to('PUT')) == 1
        assert not placement.to('DELETE')

    def test_release_happens_once(self, scene, placement):
        made = self.claimed(scene)
        for _ in range(2):
            made.release(UUID)

        assert len(placement.to('PUT')) == 2


class TestReleaseWithoutGenerations:
    """Below microversion 1.28, by comparison of allocations."""

    def released(self, scene, held_now):
        """Return whether a claim is released if the consumer holds this."""
        scene.placement.on('GET', PATH, held(), held_now)
        made = scene.claims(ROCKY)
        assert made.claim(UUID, WANTED, SPEC)
        return made.release(UUID)

    @pytest.mark.parametrize('response', [TAKEN, http_placement.error(404)])
    def test_consumer_with_claim_is_deleted(self, scene, placement, response):
        placement.on('DELETE', PATH, response)

        assert self.released(scene, HELD)

        [asked] = placement.to('DELETE')
        assert (asked.path, asked.version) == (PATH, None)

    @pytest.mark.parametrize(('allocations', 'released'), [
        ({'b': {'VCPU': 2, 'MEMORY_MB': 512}}, False),
        ({'a': {'VCPU': 4, 'MEMORY_MB': 1024}}, False),
        ({'a': {'VCPU': 2, 'MEMORY_MB': 512}, 'b': {'VCPU': 1}}, False),
        ({}, True)],
        ids=['other host', 'two claims', 'further host', 'nothing'])
    def test_other_allocations_are_left_alone(
            self, scene, placement, caplog, allocations, released):
        assert self.released(scene, held(allocations, None)) is released

        assert not placement.to('DELETE')
        assert ('they are left alone' in caplog.text) is not released


class TestReleaseOfMove:
    BEFORE = {'z': {'VCPU': 1, 'MEMORY_MB': 256}}

    def released(self, scene, placement, version=CURRENT, after=5):
        both = {**self.BEFORE, 'a': {'VCPU': 2, 'MEMORY_MB': 512}}
        placement.on('GET', PATH, held(self.BEFORE, generation=4),
                     held(both, generation=after))
        made = scene.claims(version)
        assert made.claim(UUID, WANTED, SPEC)
        made.release(UUID)
        return placement.to('PUT')[-1]

    def test_earlier_allocations_are_restored(self, scene, placement, caplog):
        caplog.set_level('INFO')
        asked = self.released(scene, placement)

        assert asked.body == {
            'allocations': {'z': {'resources': self.BEFORE['z']}},
            'project_id': 'p-owner', 'user_id': 'u-owner',
            'consumer_generation': 5}
        assert asked.version == 'placement 1.36'
        assert not placement.to('DELETE')
        assert (f'Restored the allocations that instance {UUID} held before'
                ) in caplog.text

    def test_earlier_allocations_return_below_1_28(self, scene, placement):
        assert self.released(scene, placement, QUEENS, after=None).body == {
            'allocations': {'z': {'resources': self.BEFORE['z']}},
            'project_id': 'p-owner', 'user_id': 'u-owner'}

    def test_unchanged_consumer_is_left_alone(self, scene, placement):
        """The unanswered claim was not accepted."""
        placement.on('GET', PATH, held(self.BEFORE))
        placement.on('PUT', PATH, DROP)

        scene.claims().claim(UUID, WANTED, SPEC)

        assert len(placement.to('PUT')) == 1
        assert not placement.to('DELETE')
