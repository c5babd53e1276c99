"""Release the claims of a failed request, with retries."""

import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.concurrency import threads
from nova_sched.concurrency import turns
from nova_sched.placement.adapter import RetriesExhausted

LOG = logging.getLogger(__name__)

#: Seconds for which a failed request waits for the release of its claims, and
#: pause between two attempts.
AT_ONCE, AT_ONCE_PAUSE = 5, 1
#: The same for the remaining claims, which a background thread releases.
LATER, LATER_PAUSE = 600, 5


def release_claims(claims, instance_uuids):
    """Release the claims of instances, for at most AT_ONCE seconds.

    They are released in one request if possible; a thread releases the
    remaining claims.  Nothing is raised, so that the caller gets the error of
    its own request.
    claims: placement.claims.AllocationClaims of the request, or None.
    """
    releases = _Releases(claims, instance_uuids if claims else ())
    _under_way.append(releases)
    try:
        if len(releases.pending) > 1:
            for instance_uuid in claims.release_all(list(releases.pending)):
                del releases.pending[instance_uuid]
        if releases.finish_within(AT_ONCE, AT_ONCE_PAUSE):
            _under_way.remove(releases)
            return
    except BaseException:
        _under_way.remove(releases)
        raise
    for instance_uuid, error in releases.pending.items():
        LOG.warning('The allocations of instance %s, which was not placed, '
                    'are not released yet: %s', instance_uuid, error)
    LOG.warning('The claims of %d instance(s) are not released yet; retrying '
                'every %d seconds for %d seconds: %s',
                len(releases.pending), LATER_PAUSE, LATER,
                ', '.join(releases.pending))
    try:
        threads.start('release claims', _release_later, releases)
    except RuntimeError as error:
        LOG.warning('Cannot start a thread to release them: %s', error)
        _under_way.remove(releases)
        _log_failure(releases)


def _release_later(releases):
    uuids = ', '.join(releases.pending)
    time.sleep(LATER_PAUSE)
    try:
        is_done = releases.finish_within(LATER, LATER_PAUSE)
    finally:
        _under_way.remove(releases)
    if is_done:
        LOG.info('The remaining claims are released: %s', uuids)
    else:
        _log_failure(releases)


def _log_failure(releases):
    LOG.error('Claims of instances that were not placed are not released: '
              '%s. Unless the instances were built since, release their '
              'allocations by "openstack resource provider allocation delete '
              'UUID"', ', '.join(releases.pending))


class _Releases:
    """Claims to release; pending: instance uuid -> the last error or None."""

    def __init__(self, claims, instance_uuids):
        self._claims, self.pending = claims, dict.fromkeys(instance_uuids)

    def finish_within(self, seconds, pause):
        """Try each remaining claim, with pauses; return whether none remains.
        """
        end = time.monotonic() + seconds
        self._try_each()
        while self.pending and time.monotonic() + pause < end:
            with turns.waiting():
                time.sleep(pause)
            self._try_each()
        return not self.pending

    def _try_each(self):
        """Try each remaining claim once; put failed ones last."""
        untried, failed = {}, {}
        for instance_uuid, error in self.pending.items():
            try:
                self._claims.release(instance_uuid)
            except RetriesExhausted as exc:
                untried[instance_uuid] = error or exc
            except exception.PlacementError as exc:
                failed[instance_uuid] = exc
            except Exception:
                # An internal fault, which no retry can fix.
                LOG.exception('The allocations of instance %s, which was not '
                              'placed, could not be released; remove them '
                              'from Placement', instance_uuid)
        # One failing claim must not delay the others.
        self.pending = untried | failed


#: The _Releases of this worker that have not ended. Each change is atomic.
_under_way = []


def is_under_way(instance_uuid):
    """Return whether a claim of an instance is still to be released.

    A release might take a newer claim for its own, and end it.
    """
    return any(instance_uuid in releases.pending
               for releases in tuple(_under_way))
