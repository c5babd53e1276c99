"""Releasing the claims of a request that fails, however long it takes."""

import threading
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.concurrency import turns
from nova_sched.placement.adapter import RetriesExhausted

LOG = logging.getLogger(__name__)

#: Seconds for which a request that fails waits for its claims to be given
#: back, and how long between two tries.
AT_ONCE, AT_ONCE_PAUSE = 5, 1
#: The same for what is left then, which nobody waits for.
LATER, LATER_PAUSE = 600, 5


def give_back(claims, instance_uuids):
    """Release the claims of instances, for at most AT_ONCE seconds.

    All in one request, if that can be.  A thread goes on to release what is
    left then.  Nothing is raised: the caller is to learn why its request
    failed.
    claims: placement.claims.AllocationClaims of the request, or None.
    """
    releases = _Releases(claims, instance_uuids if claims else ())
    _under_way.append(releases)
    try:
        if releases.finish_at_once():
            _under_way.remove(releases)
            return
    except BaseException:
        _under_way.remove(releases)
        raise
    for instance_uuid, error in releases.left.items():
        LOG.warning('The allocations of instance %s, which was not placed, '
                    'are not given back yet: %s', instance_uuid, error)
    LOG.warning('Claims of %d instance(s) are still to be given back, which '
                'is tried every %d seconds for %d seconds: %s',
                len(releases.left), LATER_PAUSE, LATER,
                ', '.join(releases.left))
    try:
        threading.Thread(target=_give_back_later, args=(releases,),
                         name='claims to give back', daemon=True).start()
    except RuntimeError as error:
        LOG.warning('The service cannot go on to give them back: %s', error)
        _under_way.remove(releases)
        _tell_kept(releases)


def _give_back_later(releases):
    uuids = ', '.join(releases.left)
    time.sleep(LATER_PAUSE)
    try:
        is_done = releases.finish_within(LATER, LATER_PAUSE)
    finally:
        _under_way.remove(releases)
    if is_done:
        LOG.info('The claims that were still to be given back are: %s', uuids)
    else:
        _tell_kept(releases)


def _tell_kept(releases):
    LOG.error('Claims of instances that were not placed are not given back: '
              '%s. Unless they are built since, give back what they hold by '
              '"openstack resource provider allocation delete UUID"',
              ', '.join(releases.left))


class _Releases:
    """Claims to release; left: instance uuid -> the last error or None."""

    def __init__(self, claims, instance_uuids):
        self._claims, self.left = claims, dict.fromkeys(instance_uuids)

    def finish_at_once(self):
        """Try all in one request, if that can be, and for AT_ONCE seconds
        what that leaves: whether none is left.
        """
        released = (set(self._claims.release_all(list(self.left)))
                    if len(self.left) > 1 else ())
        self.left = {uuid: None for uuid in self.left if uuid not in released}
        return self.finish_within(AT_ONCE, AT_ONCE_PAUSE)

    def finish_within(self, seconds, pause):
        """Try all that are left, with pauses: whether none is left."""
        end = time.monotonic() + seconds
        self._try_each()
        while self.left and time.monotonic() + pause < end:
            with turns.waiting():
                time.sleep(pause)
            self._try_each()
        return not self.left

    def _try_each(self):
        """Try each claim that is left once; failed ones come last."""
        untried, failed = {}, {}
        for instance_uuid, error in self.left.items():
            try:
                self._claims.release(instance_uuid)
            except RetriesExhausted as exc:
                untried[instance_uuid] = error or exc
            except exception.PlacementError as exc:
                failed[instance_uuid] = exc
            except Exception:
                # A fault in this service, which no retry mends.
                LOG.exception('The allocations of instance %s, which was not '
                              'placed, could not be given back; remove them '
                              'from Placement', instance_uuid)
        # One that cannot be released is not to keep the others waiting.
        self.left = untried | failed


#: The _Releases of this worker that have not ended. Each change is atomic.
_under_way = []


def is_under_way(instance_uuid):
    """Return whether a claim of an instance is still to be released.

    A release may take a claim that is made now for its own, and end it.
    """
    return any(instance_uuid in releases.left
               for releases in tuple(_under_way))
