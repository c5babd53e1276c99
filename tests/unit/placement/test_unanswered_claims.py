"""Late claims, claims of other requests, and time limits."""


import pytest

from nova_sched import exception
from tests.builders.http_claims import PATH
from tests.builders.http_claims import SPEC
from tests.builders.http_claims import UUID
from tests.builders.http_claims import WANTED
from tests.builders.http_claims import Kept
from tests.builders.http_placement import TAKEN
from tests.builders.http_placement import a_candidate
from tests.builders.http_server import DROP
from tests.builders.http_server import HANG

THEIRS = {'z': {'VCPU': 7}}


class Late:
    """The first claim gets no response and is accepted later."""

    def __init__(self, kept, placement):
        self._kept, self._first = kept, None
        placement.on('PUT', PATH, self._lose, self._answer)

    def arrive(self):
        self._kept.put(self._first)

    def _lose(self, asked):
        self._first = asked
        return DROP

    def _answer(self, asked):
        """Accept the first claim before the second."""
        if self._first is not None:
            self.arrive()
            self._first = None
        return self._kept.put(asked)


def release(made):
    """Release a lost claim, at the second look-up."""
    with pytest.raises(exception.PlacementError, match='not arrived yet'):
        made.release(UUID)
    made.release(UUID)


@pytest.mark.parametrize('answer, taken', [
    (HANG, None), (DROP, False), (TAKEN, True)])
def test_timeout_is_no_refusal(scene, placement, answer, taken):
    made = scene.claims(timeout=1)
    placement.on('PUT', PATH, answer)

    assert made.claim(UUID, WANTED, SPEC) is taken


class TestLateClaim:
    def test_late_claim_is_released_at_next_host(self, scene, placement):
        kept = Kept(placement)
        Late(kept, placement)
        made = scene.claims()

        assert not made.claim(UUID, WANTED, SPEC)
        assert made.claim(UUID, a_candidate('b'), SPEC)
        assert kept.allocations == {'b': {'VCPU': 1}}

    @pytest.mark.parametrize('looked_up', [False, True])
    def test_late_claim_is_released_at_end(self, scene, placement, looked_up):
        """Also a claim that arrives after a first look-up."""
        kept = Kept(placement)
        late = Late(kept, placement)
        made = scene.claims()
        assert not made.claim(UUID, WANTED, SPEC)
        assert not kept.allocations
        if looked_up:
            with pytest.raises(exception.PlacementError, match='not arrived'):
                made.release(UUID)
        late.arrive()
        placement.on('PUT', PATH, kept.put)

        made.release(UUID)

        assert not kept.allocations

    def test_late_claim_is_looked_up_twice(self, scene, placement):
        Late(Kept(placement), placement)
        made = scene.claims()
        made.claim(UUID, WANTED, SPEC)

        release(made)
        looks = len(placement.to('GET', PATH))
        made.release(UUID)

        assert len(placement.to('GET', PATH)) == looks

    def test_late_claim_of_move_keeps_source(self, scene, placement):
        kept = Kept(placement, {'z': {'VCPU': 1}}, generation=4)
        Late(kept, placement)
        made = scene.claims()

        assert not made.claim(UUID, WANTED, SPEC)
        assert made.claim(UUID, a_candidate('b'), SPEC)
        assert kept.allocations == {'z': {'VCPU': 1}, 'b': {'VCPU': 1}}


class TestClaimOfOtherRequest:
    @pytest.fixture
    def kept(self, placement):
        """A claim of another request arrives when this one's response is lost.
        """
        kept = Kept(placement, {'y': {'VCPU': 1}}, 4)

        def overtaken(asked):
            kept.allocations = THEIRS
            return DROP
        placement.on('PUT', PATH, kept.put, overtaken, kept.put)
        return kept

    def test_claim_of_other_request_is_not_released(self, scene, kept, caplog):
        made = scene.claims()

        assert not made.claim(UUID, WANTED, SPEC)
        made.release(UUID)

        assert kept.allocations == THEIRS
        assert (f'The allocations of instance {UUID} have changed since this '
                'request claimed them; they are left alone') in caplog.text

    def test_claim_of_other_request_fails_request(self, scene, kept):
        made = scene.claims()
        assert not made.claim(UUID, WANTED, SPEC)

        with pytest.raises(exception.AllocationUpdateFailed):
            made.claim(UUID, a_candidate('b'), SPEC)
        assert kept.allocations == THEIRS

    def test_claim_of_other_request_is_kept_unread(self, scene, placement):
        """It may have existed before."""
        kept = Kept(placement, THEIRS, 4)
        placement.on('PUT', PATH, DROP, kept.put)
        made = scene.claims()
        assert not made.claim(UUID, WANTED, SPEC)

        release(made)

        assert kept.allocations == THEIRS
