"""Claims that wait at the same time are sent in one request.

Placement takes some 13 ms for a request with one claim and little more for
each further claim, and it refuses one of two concurrent writes to a provider.
So at most MOST_UNDER_WAY requests are under way, no two of which name the same
provider, and the claims that wait for them are sent in one request.  Placement
grants all claims of a request or none.  If it refuses a batch and names a
provider, the claims on that provider are sent alone and the others together;
if it names none, each half is sent.
"""

import threading

from nova_sched import exception
from nova_sched.concurrency import turns
from nova_sched.placement.adapter import REFUSES_ALL
from nova_sched.placement.adapter import PlacementUnreachable
from nova_sched.service_adapter import FailureReason

#: Maximum number of claims in one request, and of requests under way.
MOST, MOST_UNDER_WAY = 32, 4

#: Seconds for which a claim waits for others before it is sent alone.
PATIENCE = 1.0

_ACCEPTED = 204


class _Claim:
    """One claim of a new consumer.

    uuid: of the instance.  body: of the claim.  put: function that sends it
        alone and returns a Response.

    batch: list of _Claim that this claim's thread must send; None while it
        waits, and if another thread sends it.
    woken: set when there is a batch or a result.
    is_given_up: whether its thread no longer waits for the result.
    response, failure: Response, or an exception instead.
    writes: uuids of the providers that get a new generation by it.
    """

    def __init__(self, uuid, body, put):
        self.uuid, self.body, self.put = uuid, body, put
        self.providers = frozenset(body['allocations'])
        self.batch, self.woken = None, threading.Event()
        self.response, self.failure, self.is_given_up = None, None, False
        self.writes = frozenset()


class ClaimBatches:
    """The claims of one worker; safe for threads."""

    def __init__(self):
        self._lock = threading.Lock()
        # _Claim objects in order; lists of _Claim.
        self._waiting, self._under_way = [], []

    @turns.waiting()
    def send(self, instance_uuid, body, put, post, timeout):
        """Return the Response to a claim, and the providers that it writes.

        The latter are uuids: a request writes each provider once.
        body: of the claim.  put: function that sends it alone.
        post: function of instance uuid -> body that sends several claims, of
            which Placement grants all or none.
        Both return a Response.  Their exceptions are raised for all claims of
        the request.
        timeout: function that returns the seconds to wait for a request of
            another thread.
        Raises PlacementUnreachable after that; the claim may still be granted.
        """
        claim = _Claim(instance_uuid, body, put)
        with self._lock:
            self._waiting.append(claim)
            self._start_batches()
        try:
            if not claim.woken.wait(PATIENCE):
                self._wait_no_longer(claim, timeout())
            if claim.batch is not None:
                _send(claim.batch, post)
        finally:
            # Also if this thread ends: no other thread may depend on it.
            with self._lock:
                if claim in self._waiting:
                    self._waiting.remove(claim)
            if claim.batch is not None:
                self._end(claim.batch)
        if claim.failure is not None:
            # A copy, as raising an exception sets its traceback.
            raise exception.copied(claim.failure) from claim.failure
        return claim.response, claim.writes

    def _wait_no_longer(self, claim, seconds):
        """Send a claim alone, or wait for the response if it was sent."""
        with self._lock:
            if claim in self._waiting:
                self._waiting.remove(claim)
                self._begin([claim])
        if not claim.woken.wait(seconds):
            claim.is_given_up = True
            raise PlacementUnreachable(
                FailureReason.TOO_LATE, 'The request with the claims of '
                'this instance and others has no response')

    def _start_batches(self):
        """Start as many batches of waiting claims as possible; lock held."""
        while len(self._under_way) < MOST_UNDER_WAY:
            batch = self._next_batch()
            if not batch:
                return
            self._waiting = [claim for claim in self._waiting
                             if claim not in batch]
            self._begin(batch)

    def _next_batch(self):
        """Return claims that can be sent together: list."""
        busy = frozenset().union(*(
            claim.providers for batch in self._under_way for claim in batch))
        batch = {}
        for claim in self._waiting:
            # A second claim for an instance depends on the first.
            if not claim.providers & busy and claim.uuid not in batch:
                batch[claim.uuid] = claim
            if len(batch) == MOST:
                break
        return list(batch.values())

    def _begin(self, batch):
        self._under_way.append(batch)
        batch[0].batch = batch
        batch[0].woken.set()

    def _end(self, batch):
        for claim in batch:
            if claim.response is None and claim.failure is None:
                claim.failure = exception.PlacementError(
                    'The request that claimed for others has ended')
        with self._lock:
            self._under_way.remove(batch)
            self._start_batches()
        for claim in batch[1:]:
            claim.woken.set()


def _send(claims, post):
    """Send claims until each has a result, or Placement does not respond."""
    parts = [claims]
    while parts:
        part = [claim for claim in parts.pop() if not claim.is_given_up]
        refusal = _send_part(part, post) if part else None
        if refusal is not None:
            parts += reversed(_parts(part, refusal))
        elif part and isinstance(part[0].failure, PlacementUnreachable):
            # The other claims would wait as long.
            for claim in (claim for rest in parts for claim in rest):
                claim.failure = part[0].failure
            return


def _send_part(claims, post):
    """Send claims; return the error text if several are refused, or None."""
    if len(claims) == 1:
        try:
            claims[0].response = claims[0].put()
            claims[0].writes = claims[0].providers
        except Exception as error:
            claims[0].failure = error
        return None
    try:
        response = post({claim.uuid: claim.body for claim in claims})
    except Exception as error:
        for claim in claims:
            claim.failure = error
        return None
    if 400 <= response.status < 500 and response.status not in REFUSES_ALL:
        return response.error_text
    written = frozenset()
    for claim in claims:
        claim.response = response
        if response.status == _ACCEPTED:
            claim.writes = claim.providers - written
            written |= claim.providers
    return None


def _parts(claims, refusal):
    """Return the parts in which refused claims are sent again: lists.

    refusal: error text of Placement, which may name a provider.
    """
    named = [claim for claim in claims
             if any(provider in refusal for provider in claim.providers)]
    rest = [claim for claim in claims if claim not in named]
    if named and rest:
        return [rest, *([claim] for claim in named)]
    half = len(claims) // 2
    return [claims[:half], claims[half:]]
