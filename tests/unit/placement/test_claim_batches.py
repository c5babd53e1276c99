"""Waiting claims are sent in one request."""

from concurrent import futures
import itertools
import threading

import hypothesis
from hypothesis import strategies as st
import pytest

from nova_sched import exception
from nova_sched.placement import claim_batches
from nova_sched.placement.adapter import PlacementUnreachable
from nova_sched.placement.adapter import Response
from nova_sched.service_adapter import FailureReason
from tests.builders import http_placement
from tests.builders.clouds import a_uuid
from tests.builders.http_claims import SPEC
from tests.builders.http_placement import candidates
from tests.builders.waiting import until

TAKEN, REFUSED = Response(204, ''), Response(409, 'no')


class Scene:
    """Claims, and a Placement that responds when its gate is open.

    sent: the uuids of each request, in order.
    full: providers without room, named in the refusal.
    odd: instances with a refusal that names no provider.
    refusal: the Response then.
    trouble: names of a request's instances -> exception.
    hanging: names of the request that waits for ``late``.
    """

    def __init__(self, pool):
        self._pool, self.batches = pool, claim_batches.ClaimBatches()
        self.sent, self.gate = [], threading.Event()
        self.full, self.odd, self.trouble = set(), set(), {}
        self.refusal, self.hanging, self.late = REFUSED, '', threading.Event()
        self.most, self._busy, self._lock = 0, [], threading.Lock()

    def claim(self, uuid, provider='p', seconds=60):
        """Claim in a thread; return a Future."""
        body = {'allocations': {provider: {}}}
        return self._pool.submit(
            self.batches.send, uuid, body,
            lambda: self._answer({uuid: body}), self._answer,
            lambda: seconds)

    def _answer(self, bodies):
        providers = set(itertools.chain(*(
            body['allocations'] for body in bodies.values())))
        with self._lock:
            self.sent.append(sorted(bodies))
            assert not any(providers & others for others in self._busy)
            self._busy.append(providers)
            self.most = max(self.most, len(self._busy))
        assert self.gate.wait(60)
        with self._lock:
            self._busy.remove(providers)
        names = ''.join(bodies)
        assert names != self.hanging or self.late.wait(60)
        if names in self.trouble:
            raise self.trouble[names]
        if providers & self.full:
            return Response(409, f'{min(providers & self.full)} is full')
        return self.refusal if bodies.keys() & self.odd else TAKEN

    def crowd(self, uuids, provider='p'):
        """Claim while other requests are under way: list of Future."""
        for number in range(claim_batches.MOST_UNDER_WAY):
            self.claim(f'first-{number}', f'first-{number}')
            self.wait_until_sent(number + 1)
        found = [self.claim(uuid, provider) for uuid in uuids]
        self.wait_for(len(uuids))
        if uuids:
            self.gate.set()
        return found

    def wait_until_sent(self, count):
        until(lambda: len(self.sent) == count, 'a request')

    def wait_for(self, count):
        until(lambda: len(self.batches._waiting) == count, 'them to wait')

    @property
    def of_crowd(self):
        """The requests after those under way at first."""
        return self.sent[claim_batches.MOST_UNDER_WAY:]


@pytest.fixture
def scene(monkeypatch):
    monkeypatch.setattr(claim_batches, 'PATIENCE', 60)
    with futures.ThreadPoolExecutor(50) as pool:
        scene = Scene(pool)
        yield scene
        scene.gate.set()
        scene.late.set()


def statuses(found):
    return [future.result()[0].status for future in found]


def test_single_claim_is_sent_alone(scene):
    scene.gate.set()

    assert scene.claim('a').result() == (TAKEN, {'p'})
    assert scene.sent == [['a']]


def test_waiting_claims_are_sent_together(scene):
    """The provider is written once."""
    found = scene.crowd('abc')

    assert statuses(found) == [204] * 3
    assert sorted(len(future.result()[1]) for future in found) == [0, 0, 1]
    assert scene.of_crowd == [['a', 'b', 'c']]
    assert scene.most == claim_batches.MOST_UNDER_WAY


def test_claims_on_busy_provider_wait(scene):
    scene.claim('first', 'p')
    until(lambda: scene.sent, 'the first claim')
    scene.claim('a', 'p')
    scene.claim('b', 'q')

    until(lambda: len(scene.sent) == 2, 'that of another provider')
    scene.wait_for(1)
    assert scene.sent == [['first'], ['b']]


def test_long_waiting_claim_is_sent_to_a_busy_provider(scene, monkeypatch):
    scene.claim('first', 'p')
    until(lambda: scene.sent, 'the first claim')
    scene._busy.clear()
    monkeypatch.setattr(claim_batches, 'PATIENCE', 0.05)
    scene.claim('a', 'p')

    until(lambda: len(scene.sent) == 2, 'both to be sent')
    scene._busy.append({'p'})


def test_claims_for_one_instance_are_sent_separately(scene):
    """Otherwise each would release the other's claim."""
    scene.claim('first', 'p')
    until(lambda: scene.sent, 'the first claim')
    found = [scene.claim('a', 'p')]
    scene.wait_for(1)
    found.append(scene.claim('a', 'p'))
    scene.wait_for(2)
    scene.gate.set()

    assert statuses(found) == [204] * 2
    assert scene.sent == [['first'], ['a'], ['a']]


def test_claims_on_named_provider_are_sent_alone(scene):
    scene.full.add('full')
    scene.crowd('')
    found = [scene.claim(uuid, provider) for uuid, provider in (
        ('a', 'p'), ('b', 'full'), ('c', 'q'))]
    scene.wait_for(3)
    scene.gate.set()

    assert statuses(found) == [204, 409, 204]
    assert scene.of_crowd == [['a', 'b', 'c'], ['a', 'c'], ['b']]


def test_unnamed_refusal_halves_batch(scene):
    scene.odd.add('b')
    found = scene.crowd('abcd')

    assert statuses(found) == [204, 409, 204, 204]
    assert scene.of_crowd == [['a', 'b', 'c', 'd'], ['a', 'b'], ['a'], ['b'],
                              ['c', 'd']]


def test_failure_is_shared_by_batch(scene):
    scene.trouble = {'ab': exception.PlacementError('gone')}
    found = scene.crowd('ab')

    for future in found:
        with pytest.raises(exception.PlacementError, match='gone'):
            future.result()
    assert scene.claim('c').result() == (TAKEN, {'p'})


def test_general_refusal_is_shared_by_batch(scene):
    scene.odd.add('b')
    scene.refusal = Response(403, 'no role')
    found = scene.crowd('abc')

    assert statuses(found) == [403] * 3
    assert scene.of_crowd == [['a', 'b', 'c']]


def test_timeout_of_part_ends_batch(scene):
    """Each would wait as long."""
    scene.odd.add('b')
    scene.trouble = {'ab': PlacementUnreachable(
        FailureReason.TOO_LATE, 'hangs')}
    found = scene.crowd('abcd')

    assert {future.exception().reason for future in found} == {
        FailureReason.TOO_LATE}
    assert scene.of_crowd == [['a', 'b', 'c', 'd'], ['a', 'b']]


def test_claim_gives_up_on_slow_batch(scene, monkeypatch):
    """An abandoned claim is not sent."""
    monkeypatch.setattr(claim_batches, 'PATIENCE', 2)
    scene.odd.add('c')
    scene.hanging = 'abc'
    scene.crowd('')
    found = [scene.claim('a')]
    scene.wait_for(1)
    found.append(scene.claim('b', seconds=0.1))
    scene.wait_for(2)
    found.append(scene.claim('c'))
    scene.wait_for(3)
    scene.gate.set()

    assert found[1].exception(60).reason is FailureReason.TOO_LATE
    scene.late.set()

    assert statuses([found[0], found[2]]) == [204, 409]
    assert scene.of_crowd == [['a', 'b', 'c'], ['a'], ['c']]


def test_exit_of_sender_fails_batch(scene):
    scene.trouble = {'ab': SystemExit()}
    found = scene.crowd('ab')

    errors = {type(future.exception()) for future in found}
    assert errors == {SystemExit, exception.PlacementError}
    assert scene.claim('c').result() == (TAKEN, {'p'})


def test_batch_size_is_limited(scene):
    names = [f'{number:02}' for number in range(35)]
    found = scene.crowd(names)

    assert statuses(found) == [204] * 35
    assert sorted(itertools.chain(*scene.of_crowd)) == names
    assert max(map(len, scene.sent)) == claim_batches.MOST


@hypothesis.given(st.lists(st.tuples(
    st.sampled_from('pqr'), st.booleans()), min_size=1, max_size=12),
    st.sets(st.sampled_from('pqr')))
def test_batched_result_equals_single_result(wanted, full):
    with futures.ThreadPoolExecutor(20) as pool:
        scene = Scene(pool)
        scene.full = full
        scene.odd = {str(number) for number, (_, is_odd)
                     in enumerate(wanted) if is_odd}
        found = [scene.claim(str(number), provider)
                 for number, (provider, _) in enumerate(wanted)]
        scene.gate.set()

    assert [status == 204 for status in statuses(found)] == [
        provider not in full and not is_odd for provider, is_odd in wanted]


class TestClaims:
    @pytest.fixture
    def offers(self, client, placement):
        """The candidates of five requests, all on one host."""
        http_placement.remembering(placement)
        placement.on('GET', '/allocation_candidates',
                     candidates(http_placement.a_candidate('a')))
        return [http_placement.ask(client) for _ in range(5)]

    def crowd(self, placement, offers, answer=None):
        """Return the results of all claims; answer: to joint claims."""
        [put] = placement.routes('PUT', '/allocations/')
        gate = threading.Event()

        def slow(asked):
            gate.wait(60)
            return put(asked)
        placement.on('PUT', '/allocations/', slow)
        if answer is not None:
            placement.on('POST', '/allocations', answer)
        batches = offers[0].claim.__self__._batches
        with futures.ThreadPoolExecutor(5) as pool:
            first = pool.submit(self.claim, offers[0], 0)
            until(lambda: placement.to('PUT'), 'the first claim')
            others = [pool.submit(self.claim, offer, number)
                      for number, offer in enumerate(offers[1:], 1)]
            until(lambda: len(batches._waiting) == 4, 'all to wait')
            gate.set()
        return [future.result() for future in (first, *others)]

    @staticmethod
    def claim(offer, number):
        return offer.claim(a_uuid(number), offer.of('a')[0], SPEC)

    def test_claims_of_several_requests_are_batched(self, placement, offers):
        assert self.crowd(placement, offers) == [True] * 5
        assert [len(asked.body) for asked in placement.to('POST')] == [4]
        assert len(placement.to('PUT')) == 1

    def test_refused_batch_is_split(self, placement, offers):
        assert self.crowd(placement, offers, http_placement.FULL) == [True] * 5
        assert len(placement.to('PUT')) == 5

    def test_batched_claims_are_released_separately(self, placement, offers):
        self.crowd(placement, offers)

        offers[2].release(a_uuid(2))

        assert http_placement.written(placement, claims=False) == [
            f'/allocations/{a_uuid(2)}']
