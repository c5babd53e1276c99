"""Claims of a worker on the same provider, one after the other or together.

Placement counts each write to a provider: of two at a time one is refused, and
tried again.  Requests at the same time often choose the same host, the best
one.  So claims wait while another one is under way on their provider, and
those that have waited are sent in one request.
"""

import threading

from nova_sched import exception
from nova_sched import turns

#: Claims that are sent in one request, at most.
MOST = 32

_ACCEPTED = 204


class _Batch:
    """Claims on one provider that are sent together.

    bodies: instance uuid -> body.
    """

    def __init__(self):
        self.bodies, self.is_over = {}, False
        self.response = self.failure = None


def _ended():
    return exception.PlacementError(
        'The request that claimed for others has ended')


class ClaimQueue:
    """The claims of one worker; safe for threads."""

    def __init__(self):
        self._changed = threading.Condition()
        # By provider: the _Batch that others may join, and those under way.
        self._open, self._busy = {}, set()

    @turns.waiting()
    def send(self, provider, instance_uuid, body, put, post):
        """Return the Response to a claim, once it was sent, and whether it is
        to a request of its own, not part of another one.

        provider: uuid.  body: of the claim.
        put: function that sends it alone.  post: function of instance uuid ->
            body that sends several, of which Placement takes all or none.
        Both return a Response.  What they raise is raised here, also to the
        others that were sent with it.
        """
        with self._changed:
            batch = self._open.get(provider)
            # Of two claims for one instance the second is told of the first.
            leads = (batch is None or len(batch.bodies) >= MOST
                     or instance_uuid in batch.bodies)
            if leads:
                batch = self._open[provider] = _Batch()
            batch.bodies[instance_uuid] = body
            if leads:
                self._wait_to_lead(provider, batch)
            else:
                self._changed.wait_for(lambda: batch.is_over)
        if leads:
            self._lead(provider, batch, put, post)
        if batch.failure is not None:
            # A copy: each that is raised is given a traceback.
            raise exception.copied(batch.failure) from batch.failure
        if batch.response is not None:
            return batch.response, leads
        return self._alone(provider, put), True

    def _wait_to_lead(self, provider, batch):
        """Wait until a batch may be sent; nobody joins it any more.

        An exit of the thread that waits fails those that wait for it.
        """
        try:
            self._occupy(provider)
        except BaseException:
            batch.failure, batch.is_over = _ended(), True
            self._changed.notify_all()
            raise
        finally:
            if self._open.get(provider) is batch:
                del self._open[provider]

    def _occupy(self, provider):
        self._changed.wait_for(lambda: provider not in self._busy)
        self._busy.add(provider)

    def _leave(self, provider):
        with self._changed:
            self._busy.discard(provider)
            self._changed.notify_all()

    def _lead(self, provider, batch, put, post):
        """Send a batch; without a response if each is to be sent alone."""
        failure = _ended()
        try:
            if len(batch.bodies) == 1:
                batch.response = put()
            else:
                response = post(batch.bodies)
                if response.status == _ACCEPTED:
                    batch.response = response
            failure = None
        except Exception as exc:
            failure = exc
        finally:
            batch.failure, batch.is_over = failure, True
            self._leave(provider)

    def _alone(self, provider, put):
        with self._changed:
            self._occupy(provider)
        try:
            return put()
        finally:
            self._leave(provider)
