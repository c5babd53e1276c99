"""Claiming hosts from what Placement offers, for one request."""

import contextlib
import dataclasses
import json
import threading
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched import turns
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.hosts.decision import Claim
from nova_sched.placement.retry_budget import RetriesExhausted

LOG = logging.getLogger(__name__)

#: What an ``allocation_request`` says when there is nothing to claim.
NO_CLAIM = 'null'

#: Claims that Placement refuses of what a copy offers, before it is asked.
MOST_REFUSALS = 3

#: Seconds for which a request that fails waits for its claims to be given
#: back, and how long between two tries.
AT_ONCE, AT_ONCE_PAUSE = 5, 1
#: The same for what is left then, which nobody waits for.
LATER, LATER_PAUSE = 600, 5


@dataclasses.dataclass(frozen=True)
class ClaimedHost:
    """A host that an instance gets.

    row: its row of the host table.
    request: the allocation request that is claimed, or could be; None
        without Placement.
    """

    row: int
    request: dict | None = None

    @property
    def mapping(self):
        """Request group -> provider uuids; None without Placement."""
        if self.request is None:
            return None
        return self.request.get('mappings') or {}

    def assign_providers(self, spec_obj):
        """Write the providers into the request groups of a RequestSpec."""
        if self.mapping:
            for group in spec_obj.requested_resources or ():
                group.provider_uuids = list(
                    self.mapping.get(group.requester_id, ()))

    def on_the_wire(self):
        """Return the allocation request for a Selection: JSON text."""
        return NO_CLAIM if self.request is None else json.dumps(self.request)


class Claims:
    """The hosts that one request chooses and claims in Placement.

    offer: a value of hosts.allocation_candidates.  Nothing is claimed where
        Placement was not asked, nor for callers that send no instance uuids.
    record: the Decision that notes each claim.
    """

    def __init__(self, offer, instance_uuids, record):
        self._offer, self._record = offer, record
        self.claiming = (offer is not PLACEMENT_NOT_USED
                         and bool(instance_uuids))
        #: Whether the hosts of several instances are claimed in one request.
        self.together = not self.claiming or offer.claim_all is not None
        # Instances with a chosen host, and instances that Placement may hold
        # a claim of, in order: dicts without values.
        self._chosen, self._claimed = {}, {}

    def choose(self, ranked, instance_uuid, refused=frozenset()):
        """Return the first host that may be claimed: ClaimedHost or None.

        ranked: rules.ranked.Ranked.
        refused: (host, node) pairs where Placement has refused a claim.
        """
        if self.claiming and len(ranked) and _under_way.has(instance_uuid):
            self._give_up(ranked, instance_uuid)
            return None
        for row in ranked.rows():
            if refused and _place(ranked.snapshot, row) in refused:
                continue
            chosen = self.first_of(ranked.snapshot, row)
            if not self.claiming:
                return chosen
            if self._is_hopeless():
                break
            if chosen is not None and self._offer.reserve(
                    instance_uuid, chosen.request):
                self._chosen[instance_uuid] = None
                return chosen
        if self.claiming and len(ranked):
            LOG.debug('Unable to successfully claim against any host.')
        return None

    def _give_up(self, ranked, instance_uuid):
        """Choose nothing: the release of an earlier claim may end it."""
        LOG.warning('Nothing is claimed for instance %s, of which an earlier '
                    'claim is still to be given back', instance_uuid)
        # The answer to that claim is unknown as well.
        self._note(instance_uuid, _place(
            ranked.snapshot, next(iter(ranked.rows()))), None)

    def _is_hopeless(self):
        """Return whether Placement has refused the mirror's hosts too often.

        It has to list its candidates then.
        """
        return self._offer.ask is not None and sum(
            not claim.taken for claim in self._record.claims) >= MOST_REFUSALS

    def claim(self, chosen, spec_obj):
        """Claim hosts one by one; return the uuids that are refused: list.

        chosen: instance uuid -> ((host, node), ClaimedHost).
        """
        return [uuid for uuid, host in chosen.items()
                if self.claiming and not self._claim(uuid, *host, spec_obj)]

    def claim_all(self, chosen, spec_obj):
        """Claim hosts in one request; return whether Placement grants it.

        If not, none is claimed, and the others are to be claimed one by one.
        """
        if not self.claiming:
            return True
        for uuid in chosen:
            self._sent(uuid)
        with self._timed():
            self.together = bool(self._offer.claim_all({
                uuid: host.request for uuid, (_, host) in chosen.items()},
                spec_obj))
        if self.together:
            for uuid, (place, _) in chosen.items():
                self._note(uuid, place, True)
        self._record.budget.check('claim')
        return self.together

    def _claim(self, instance_uuid, place, chosen, spec_obj):
        self._sent(instance_uuid)
        with self._timed():
            granted = self._offer.claim(instance_uuid, chosen.request,
                                        spec_obj)
        self._note(instance_uuid, place, granted)
        self._record.budget.check('claim')
        return granted

    def _sent(self, instance_uuid):
        """Note a claim before it is sent: its answer may be lost."""
        self._chosen.pop(instance_uuid, None)
        self._claimed[instance_uuid] = None

    @contextlib.contextmanager
    def _timed(self):
        """Record how long Placement takes, whatever it answers."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self._record.spent('claims', time.perf_counter() - begin)

    def _note(self, instance_uuid, place, granted):
        self._record.claims.append(Claim(instance_uuid, *place, granted))

    def first_of(self, snapshot, row):
        """Return a host with its first allocation request: ``ClaimedHost``.

        None for a host without one, because Placement offers none or the
        filters left none.
        """
        return first_of(snapshot, row) if self.claiming else ClaimedHost(row)

    @property
    def version(self):
        """Microversion of what was claimed, or None."""
        return self._offer.version if self.claiming else None

    def drop(self, instance_uuids):
        """Choose no host any more for instances that are not claimed."""
        for uuid in instance_uuids:
            if uuid in self._chosen:
                del self._chosen[uuid]
                self._offer.release(uuid)

    def release(self):
        """Release all that was claimed, or chosen to be claimed."""
        if self._claimed:
            LOG.debug('Cleaning up allocations for %s', [*self._claimed])
        give_back(self._offer, [*reversed(self._claimed), *self._chosen])
        self._claimed.clear()
        self._chosen.clear()


def _place(snapshot, row):
    """Return the (host, node) of a row."""
    return snapshot.cell('host', row), snapshot.cell('nodename', row)


def first_of(snapshot, row):
    """Return a host with its first allocation request: see Claims."""
    state = snapshot.state(row)
    requests = state.allocation_candidates
    if not requests:
        LOG.debug("A host state with uuid = '%s' that did not have a "
                  'matching allocation_request was encountered while '
                  'scheduling. This host was skipped.', state.uuid)
        return None
    return ClaimedHost(row, requests[0])


def give_back(offer, instance_uuids):
    """Release the claims of instances, for at most AT_ONCE seconds.

    All in one request, if that can be.  A thread goes on to release what is
    left then.  Nothing is raised: the caller is to learn why its request
    failed.
    """
    releases = _Releases(offer, instance_uuids)
    _under_way.add(releases)
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

    def __init__(self, offer, instance_uuids):
        self._offer, self.left = offer, dict.fromkeys(instance_uuids)

    def finish_at_once(self):
        """Try all in one request, if that can be, and for AT_ONCE seconds
        what that leaves: whether none is left.
        """
        released = set(self._offer.release_all(list(self.left)))
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
                self._offer.release(instance_uuid)
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


class _UnderWay:
    """The _Releases of this worker that are not at an end.

    What is claimed for one of their instances may be just what they look for,
    and would be given back.
    """

    def __init__(self):
        self._lock, self._all = threading.Lock(), []

    def add(self, releases):
        with self._lock:
            self._all.append(releases)

    def remove(self, releases):
        with self._lock:
            self._all.remove(releases)

    def has(self, instance_uuid):
        """Return whether a claim of an instance is still to be given back."""
        with self._lock:
            return any(instance_uuid in releases.left
                       for releases in self._all)


_under_way = _UnderWay()
