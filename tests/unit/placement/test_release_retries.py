"""Release of claims while Placement fails."""

import threading
import types

import pytest

from nova_sched import exception
from nova_sched.hosts.allocation_candidates import AllocationCandidates
from nova_sched.hosts.decision import Decision
from nova_sched.placement import adapter
from nova_sched.placement import releases
from nova_sched.scheduler import claims
from nova_sched.scheduler.offer import Offer
from tests.builders import http_placement
from tests.builders.http_claims import PATH
from tests.builders.http_claims import SPEC
from tests.builders.http_claims import UUID
from tests.builders.http_claims import WANTED
from tests.builders.http_claims import Kept
from tests.builders.http_placement import TAKEN
from tests.builders.http_server import DROP
from tests.builders.http_server import Answer

#: Stands for a CandidateSource.
SOURCE = types.SimpleNamespace(invalidate=lambda providers: None)
UUIDS = [f'instance-{number}' for number in range(26)]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Shorten all pauses."""
    OTHERS.update(threading.enumerate())
    monkeypatch.setattr(adapter, 'RENEWAL_PAUSE', 0.01)
    monkeypatch.setattr(releases, 'AT_ONCE', 0.5)
    monkeypatch.setattr(releases, 'AT_ONCE_PAUSE', 0.02)
    monkeypatch.setattr(releases, 'LATER_PAUSE', 0.02)
    monkeypatch.setattr(releases, 'LATER', 60)


@pytest.fixture
def offer(scene):
    """An Offer with claims for all UUIDs, released one by one."""
    made = scene.claims()
    made.release_all = lambda uuids: []
    for uuid in UUIDS:
        assert made.claim(uuid, WANTED, SPEC)
    return offer_of(made)


def given_back(placement):
    return {path.rpartition('/')[2]
            for path in http_placement.written(placement, claims=False)}


#: Threads of earlier tests.
OTHERS = set()


def wait_for_the_rest():
    for thread in set(threading.enumerate()) - OTHERS:
        if thread.name == 'release claims':
            thread.join(60)
            assert not thread.is_alive()


@pytest.mark.parametrize('trouble', [DROP, Answer(503)])
def test_three_quick_failures_leave_no_claim(offer, placement, caplog,
                                             monkeypatch, trouble):
    monkeypatch.setattr(releases, 'AT_ONCE', 10)
    placement.on('PUT', '/allocations/', trouble, trouble, trouble, TAKEN)

    releases.release_claims(offer.claims, UUIDS)

    assert given_back(placement) == set(UUIDS)
    assert 'not released yet' not in caplog.text


def test_remaining_claims_are_released_later(offer, placement, caplog):
    """The log has no tracebacks."""
    caplog.set_level('INFO')
    placement.on('PUT', '/allocations/', Answer(503))

    releases.release_claims(offer.claims, UUIDS)
    placement.on('PUT', '/allocations/', TAKEN)
    wait_for_the_rest()

    assert given_back(placement) == set(UUIDS)
    assert 'The claims of 26 instance(s) are not released yet' in caplog.text
    [done] = [record for record in caplog.records
              if 'The remaining claims are' in record.getMessage()]
    assert done.levelname == 'INFO'
    assert not any(record.exc_info for record in caplog.records)
    for uuid in UUIDS:
        assert caplog.text.count(
            f'The allocations of instance {uuid}, which was not placed') == 1


def test_possibly_late_claim_is_released():
    """It may arrive late."""
    released = []
    taking = claims.Claims(
        Offer(AllocationCandidates({}, frozenset(), '1.36'),
              Refusing(released), SOURCE), UUIDS, Decision())
    for _ in range(2):
        taking.claim({UUIDS[0]: (('a', 'a'), claims.ClaimedHost(0, WANTED))},
                     SPEC)

    taking.release()

    assert released == [UUIDS[0]]


class Refusing:
    """AllocationClaims with refused claims.

    released: list of the released instances.
    """

    has_generations = False

    def __init__(self, released):
        self.release = released.append

    def held(self):
        return UUIDS[:1]

    def claim(self, *args):
        return False

    def release_all(self, uuids):
        return ()


def test_unanswered_claim_is_released_after_outage(scene, placement,
                                                   monkeypatch):
    """Reads work before writes do."""
    monkeypatch.setattr(releases, 'AT_ONCE', 10)
    holding = http_placement.remembering(placement)
    put, = placement.routes('PUT', '/allocations/')
    placement.on('PUT', '/allocations/', lambda asked: put(asked) and DROP,
                 put)
    made = scene.claims()
    for _ in range(2):
        placement.on('GET', f'/allocations/{UUIDS[0]}',
                     http_placement.held(), DROP)
        assert not made.claim(UUIDS[0], WANTED, SPEC)
    assert holding

    for _ in range(adapter.MAX_FAILURES):
        with pytest.raises(exception.PlacementError):
            made.release(UUIDS[0])
    placement.on('GET', f'/allocations/{UUIDS[0]}',
                 *placement.routes('GET', '/allocations/'))
    releases.release_claims(made, UUIDS[:1])

    assert not holding


class TestNewClaim:
    """An instance with a claim that is still to be released."""

    @pytest.fixture
    def kept(self, placement):
        return Kept(placement)

    @pytest.fixture
    def left(self, scene, placement, kept, monkeypatch):
        """Leave an unanswered claim for three seconds.

        It could not be released while Placement was down.
        """
        monkeypatch.setattr(releases, 'LATER_PAUSE', 3)
        routes = {method: placement.routes(method, PATH)
                  for method in ('GET', 'PUT')}
        for method in routes:
            placement.on(method, PATH, DROP)
        made = scene.claims()
        assert not made.claim(UUID, WANTED, SPEC)
        releases.release_claims(made, [UUID])
        for method, answers in routes.items():
            placement.on(method, PATH, *answers)

    def test_claim_is_refused_until_release(self, scene, placement, kept, left,
                                            caplog):
        """Otherwise the release might take it for the old claim."""
        record = Decision()
        anew = claims.Claims(offer_of(scene.claims()), [UUID], record)
        asked = len(placement.asked)

        assert anew.choose(Hosts(), UUID) is None

        assert [(claim.host, claim.taken) for claim in record.claims] == [
            ('a', None)]
        assert len(placement.asked) == asked
        assert 'an earlier claim is still pending' in caplog.text
        wait_for_the_rest()
        chosen = anew.choose(Hosts(), UUID)
        assert anew.claim({UUID: (('a', 'a'), chosen)}, SPEC)
        assert kept.allocations == {'a': {'VCPU': 2, 'MEMORY_MB': 512}}

    def test_other_instance_is_claimed_at_once(self, scene, placement, left):
        placement.on('PUT', '/allocations/', TAKEN)
        anew = claims.Claims(offer_of(scene.claims()), UUIDS[:1], Decision())

        chosen = anew.choose(Hosts(), UUIDS[0])
        assert anew.claim({UUIDS[0]: (('a', 'a'), chosen)}, SPEC)
        wait_for_the_rest()


class Hosts:
    """One ranked host, which is also its own snapshot."""

    allocation_candidates = [WANTED]
    host = nodename = uuid = 'a'

    def __len__(self):
        return 1

    def rows(self):
        return iter([0])

    @property
    def snapshot(self):
        return self

    def state(self, row):
        return self

    def value(self, name, row):
        return 'a'

    def names(self, row):
        return 'a', 'a'


def offer_of(made):
    """Return an Offer with AllocationClaims."""
    return Offer(AllocationCandidates({}, frozenset(), '1.36'), made, SOURCE)
