"""Claims of a request that failed while Placement is in trouble."""

import threading

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
from tests.functional import processes

UUIDS = [f'instance-{number}' for number in range(26)]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Pauses as short as a test wants them."""
    OTHERS.update(threading.enumerate())
    monkeypatch.setattr(adapter, 'RENEWAL_PAUSE', 0.01)
    monkeypatch.setattr(releases, 'AT_ONCE', 0.5)
    monkeypatch.setattr(releases, 'AT_ONCE_PAUSE', 0.02)
    monkeypatch.setattr(releases, 'LATER_PAUSE', 0.02)
    monkeypatch.setattr(releases, 'LATER', 60)


@pytest.fixture
def offer(scene):
    """An Offer of which all UUIDs have been claimed, released one by one."""
    made = scene.claims()
    made.release_all = lambda uuids: []
    for uuid in UUIDS:
        assert made.claim(uuid, WANTED, SPEC)
    return offer_of(made)


def given_back(placement):
    return {path.rpartition('/')[2]
            for path in http_placement.written(placement, claims=False)}


#: Threads that other tests have left.
OTHERS = set()


def wait_for_the_rest():
    for thread in set(threading.enumerate()) - OTHERS:
        if thread.name == 'claims to give back':
            thread.join(60)
            assert not thread.is_alive()


@pytest.mark.parametrize('trouble', [DROP, Answer(503)])
def test_three_quick_failures_leave_no_claim_behind(offer, placement, caplog,
                                                    monkeypatch, trouble):
    monkeypatch.setattr(releases, 'AT_ONCE', 10)
    placement.on('PUT', '/allocations/', trouble, trouble, trouble, TAKEN)

    releases.give_back(offer.claims, UUIDS)

    assert given_back(placement) == set(UUIDS)
    assert 'still to be given back' not in caplog.text


def test_some_that_cannot_be_given_back_do_not_keep_the_others(
        offer, placement):
    for uuid in UUIDS[:4]:
        placement.on('PUT', f'/allocations/{uuid}', Answer(500))

    releases.give_back(offer.claims, UUIDS)

    processes.until(lambda: given_back(placement) == set(UUIDS),
                    'all are tried')
    for uuid in UUIDS[:4]:
        placement.on('PUT', f'/allocations/{uuid}', TAKEN)
    wait_for_the_rest()


def test_what_is_left_is_given_back_later(offer, placement, caplog):
    """Which is told in lines without tracebacks."""
    caplog.set_level('INFO')
    placement.on('PUT', '/allocations/', Answer(503))

    releases.give_back(offer.claims, UUIDS)
    placement.on('PUT', '/allocations/', TAKEN)
    wait_for_the_rest()

    assert given_back(placement) == set(UUIDS)
    assert 'Claims of 26 instance(s) are still to be given back' in caplog.text
    [done] = [record for record in caplog.records
              if 'The claims that were still' in record.getMessage()]
    assert done.levelname == 'INFO'
    assert not any(record.exc_info for record in caplog.records)
    for uuid in UUIDS:
        assert caplog.text.count(
            f'The allocations of instance {uuid}, which was not placed') == 1


def test_what_is_never_given_back_is_told_of(offer, placement, caplog,
                                             monkeypatch):
    monkeypatch.setattr(releases, 'LATER', 0.2)
    placement.on('PUT', '/allocations/', http_placement.error(409))

    releases.give_back(offer.claims, UUIDS[:2])
    wait_for_the_rest()

    [told] = [record.getMessage() for record in caplog.records
              if record.levelname == 'ERROR']
    assert 'instance-0, instance-1' in told
    assert 'openstack resource provider allocation delete' in told


def test_a_claim_that_was_said_not_to_be_taken_is_released_too():
    """It may have arrived late; Claims knows which may."""
    released = []
    taking = claims.Claims(
        Offer(AllocationCandidates({}, frozenset(), '1.36'),
              Refusing(released), Asked()), UUIDS, Decision())
    for _ in range(2):
        taking.claim({UUIDS[0]: (('a', 'a'), claims.ClaimedHost(0, WANTED))},
                     SPEC)

    taking.release()

    assert released == [UUIDS[0]]


class Refusing:
    """AllocationClaims that Placement does not take.

    released: list of the instances that are released.
    """

    knows_new = False

    def __init__(self, released):
        self.release = released.append

    def held(self):
        return UUIDS[:1]

    def claim(self, *args):
        return False

    def release_all(self, uuids):
        return ()


class Asked:
    """In the place of a CandidateSource."""

    def doubt(self, providers):
        pass


class State:
    host = nodename = 'a'


def test_a_claim_without_an_answer_is_given_back_after_an_outage(
        scene, placement, monkeypatch):
    """Reading what it holds, which works first, is not all of the way."""
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
    releases.give_back(made, UUIDS[:1])

    assert not holding


class TestWhatIsClaimedAnew:
    """For an instance of which a claim is still to be given back."""

    @pytest.fixture
    def kept(self, placement):
        return Kept(placement)

    @pytest.fixture
    def left(self, scene, placement, kept, monkeypatch):
        """A claim that was not answered, and not given back while Placement
        was away; it is back now, and is asked in three seconds.
        """
        monkeypatch.setattr(releases, 'LATER_PAUSE', 3)
        routes = {method: placement.routes(method, PATH)
                  for method in ('GET', 'PUT')}
        for method in routes:
            placement.on(method, PATH, DROP)
        made = scene.claims()
        assert not made.claim(UUID, WANTED, SPEC)
        releases.give_back(made, [UUID])
        for method, answers in routes.items():
            placement.on(method, PATH, *answers)

    def test_is_refused_until_then(self, scene, placement, kept, left,
                                   caplog):
        """It might look the same, and be given back instead."""
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
        assert not anew.claim({UUID: (('a', 'a'), chosen)}, SPEC)
        assert kept.allocations == {'a': {'VCPU': 2, 'MEMORY_MB': 512}}

    def test_of_another_instance_does_not_wait(self, scene, placement, left):
        placement.on('PUT', '/allocations/', TAKEN)
        anew = claims.Claims(offer_of(scene.claims()), UUIDS[:1], Decision())

        chosen = anew.choose(Hosts(), UUIDS[0])
        assert not anew.claim({UUIDS[0]: (('a', 'a'), chosen)}, SPEC)
        wait_for_the_rest()


class Hosts(State):
    """Ranked hosts: a State, which is also their snapshot."""

    allocation_candidates = [WANTED]
    uuid = 'a'

    def __len__(self):
        return 1

    def rows(self):
        return iter([0])

    @property
    def snapshot(self):
        return self

    def state(self, row):
        return self

    def cell(self, name, row):
        return 'a'


def offer_of(made):
    """An Offer that is claimed by AllocationClaims."""
    return Offer(AllocationCandidates({}, frozenset(), '1.36'), made, Asked())
