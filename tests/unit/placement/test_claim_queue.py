"""Claims on one provider wait for each other, and go together."""

from concurrent import futures
import itertools
import threading

import pytest

from nova_sched import exception
from nova_sched.placement import claim_queue
from nova_sched.placement.adapter import Response
from nova_sched.placement.claim_queue import ClaimQueue
from tests.builders import http_placement
from tests.builders.clouds import a_uuid
from tests.builders.http_claims import SPEC
from tests.builders.http_placement import FULL
from tests.builders.http_placement import a_candidate
from tests.builders.http_placement import candidates
from tests.builders.waiting import until

TAKEN, REFUSED = Response(204, ''), Response(409, 'no')


def waits(queue, provider):
    """How many claims wait for the next request for a provider."""
    request = queue._open.get(provider)
    return len(request.bodies) if request else 0


class Scene:
    """A queue, and a Placement that answers when its gate is open.

    sent: a list of uuids for each request, in order.
    """

    def __init__(self, pool):
        self._pool, self.queue = pool, ClaimQueue()
        self.sent, self.gate = [], threading.Event()
        self.most, self._busy, self._lock = {}, {}, threading.Lock()

    def claim(self, uuid, provider='p', alone=TAKEN, together=TAKEN):
        """Claim in a thread: a Future."""
        return self._pool.submit(
            self.queue.send, provider, uuid, {},
            lambda: self._answer(provider, [uuid], alone),
            lambda bodies: self._answer(provider, sorted(bodies), together))

    def _answer(self, provider, uuids, answer):
        with self._lock:
            self.sent.append(uuids)
            self._busy[provider] = self._busy.get(provider, 0) + 1
            self.most[provider] = max(self.most.get(provider, 0),
                                      self._busy[provider])
        assert self.gate.wait(60)
        with self._lock:
            self._busy[provider] -= 1
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def crowd(self, uuids, **kwargs):
        """Claim while another one is under way: list of Future."""
        self.claim('first')
        until(lambda: self.sent, 'the first claim')
        found = [self.claim(uuid, **kwargs) for uuid in uuids]
        until(lambda: waits(self.queue, 'p') == len(uuids),
              'the others to wait')
        self.gate.set()
        return found


@pytest.fixture
def scene():
    with futures.ThreadPoolExecutor(40) as pool:
        scene = Scene(pool)
        yield scene
        scene.gate.set()


def test_one_alone_is_sent_alone(scene):
    scene.gate.set()

    assert scene.claim('a').result() == (TAKEN, True)
    assert scene.sent == [['a']]


def test_those_that_wait_are_sent_together(scene):
    found = scene.crowd('abc')

    assert sorted(future.result()[1] for future in found) == [
        False, False, True]
    assert {future.result()[0] for future in found} == {TAKEN}
    assert scene.sent == [['first'], ['a', 'b', 'c']]


def test_two_for_the_same_instance_are_not_sent_together(scene):
    """Each would take the one claim for its own, and release it."""
    scene.claim('first')
    until(lambda: scene.sent, 'the first claim')
    found = [scene.claim('a')]
    until(lambda: 'p' in scene.queue._open, 'it to wait')
    waiting = scene.queue._open['p']
    again = scene.claim('a', alone=REFUSED)
    until(lambda: scene.queue._open['p'] is not waiting, 'both to wait')
    scene.gate.set()

    assert [future.result() for future in (*found, again)] == [
        (TAKEN, True), (REFUSED, True)]
    assert scene.sent == [['first'], ['a'], ['a']]


def test_those_on_other_providers_do_not_wait(scene):
    scene.claim('a', 'p')
    scene.claim('b', 'q')

    until(lambda: len(scene.sent) == 2, 'both to be sent')


def test_those_that_are_refused_together_are_sent_alone(scene):
    found = scene.crowd('abc', together=REFUSED)

    assert [future.result() for future in found] == [(TAKEN, True)] * 3
    assert scene.sent[:2] == [['first'], ['a', 'b', 'c']]
    assert sorted(scene.sent[2:]) == [['a'], ['b'], ['c']]
    assert scene.most == {'p': 1}


def test_a_failure_is_that_of_all_that_were_sent(scene):
    found = scene.crowd('ab', together=exception.PlacementError('gone'))

    for future in found:
        with pytest.raises(exception.PlacementError, match='gone'):
            future.result()
    assert scene.claim('c').result() == (TAKEN, True)


def test_an_exit_fails_the_others_with_an_error(scene):
    found = scene.crowd('ab', together=SystemExit())

    errors = {type(future.exception()) for future in found}
    assert errors == {SystemExit, exception.PlacementError}
    assert scene.claim('c').result() == (TAKEN, True)


def test_no_more_than_so_many_are_sent_together(scene):
    scene.claim('first')
    until(lambda: scene.sent, 'the first claim')
    names = [f'{number:02}' for number in range(35)]
    found = [scene.claim(name) for name in names]
    scene.gate.set()

    assert {future.result()[0] for future in found} == {TAKEN}
    assert sorted(itertools.chain(*scene.sent)) == [*names, 'first']
    assert max(map(len, scene.sent)) <= claim_queue.MOST
    assert scene.most == {'p': 1}


class TestClaims:
    @pytest.fixture
    def offers(self, client, placement):
        """What each request of a crowd is offered: one host."""
        http_placement.remembering(placement)
        placement.on('GET', '/allocation_candidates',
                     candidates(a_candidate('a')))
        return [http_placement.ask(client) for _ in range(5)]

    def crowd(self, placement, offers, answer=None):
        """Whether each is taken; answer: to the claims together."""
        [put] = placement.routes('PUT', '/allocations/')
        gate = threading.Event()

        def slow(asked):
            gate.wait(60)
            return put(asked)
        placement.on('PUT', '/allocations/', slow)
        if answer is not None:
            placement.on('POST', '/allocations', answer)
        queue = offers[0].claim.__self__._queue
        with futures.ThreadPoolExecutor(5) as pool:
            first = pool.submit(self.claim, offers[0], 0)
            until(lambda: placement.to('PUT'), 'the first claim')
            others = [pool.submit(self.claim, offer, number)
                      for number, offer in enumerate(offers[1:], 1)]
            until(lambda: waits(queue, 'a') == 4, 'all to wait')
            gate.set()
        return [future.result() for future in (first, *others)]

    @staticmethod
    def claim(offer, number):
        return offer.claim(a_uuid(number), offer.of('a')[0], SPEC)

    def test_of_many_requests_are_sent_together(self, placement, offers):
        assert self.crowd(placement, offers) == [True] * 5
        assert [len(asked.body) for asked in placement.to('POST')] == [4]
        assert len(placement.to('PUT')) == 1

    def test_that_are_refused_together_are_sent_alone(self, placement,
                                                      offers):
        assert self.crowd(placement, offers, FULL) == [True] * 5
        assert len(placement.to('PUT')) == 5

    def test_are_released_each_by_its_request(self, placement, offers):
        self.crowd(placement, offers)

        offers[2].release(a_uuid(2))

        assert http_placement.written(placement, claims=False) == [
            f'/allocations/{a_uuid(2)}']
