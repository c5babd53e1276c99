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
    """The hosts that one request claims in Placement.

    offer: a value of hosts.allocation_candidates.  Nothing is claimed where
        Placement was not asked, nor for callers that send no instance uuids.
    record: the Decision that notes each claim.
    """

    def __init__(self, offer, instance_uuids, record):
        self._offer, self._record = offer, record
        self.claiming = (offer is not PLACEMENT_NOT_USED
                         and bool(instance_uuids))
        # In their order: a dict without values.
        self._claimed = dict.fromkeys(record.unanswered)
        # uuid -> (HostState, ClaimedHost), of what is claimed later.
        self._later, self._chosen = False, {}

    def claim_later(self, count):
        """Have ``take`` only choose hosts, for ``claim_chosen`` to claim all
        of them in one request, if that can be.

        count: of instances.
        """
        self._later = self.claiming and (
            count == 1 or self._offer.claim_all is not None)

    def take(self, ranked, instance_uuid, spec_obj):
        """Claim the first host that Placement grants: ``ClaimedHost`` or None.

        ranked: rules.ranked.Ranked.
        """
        if self.claiming and len(ranked) and _under_way.has(instance_uuid):
            self._give_up(ranked, instance_uuid)
            return None
        for row in ranked.rows():
            taken = self.first_of(ranked.snapshot, row)
            if not self.claiming:
                return taken
            if self._is_hopeless():
                break
            if (taken is not None
                    and self._offer.reserve(instance_uuid, taken.request)
                    and self._claim(ranked.snapshot.state(row), taken,
                                    instance_uuid, spec_obj)):
                return taken
        if self.claiming and len(ranked):
            LOG.debug('Unable to successfully claim against any host.')
        return None

    def _give_up(self, ranked, instance_uuid):
        """Claim nothing, for what is claimed would be given back."""
        LOG.warning('Nothing is claimed for instance %s, of which an earlier '
                    'claim is still to be given back', instance_uuid)
        # As that claim is: nobody knows yet what Placement says.
        self._note(instance_uuid,
                   ranked.snapshot.state(next(iter(ranked.rows()))), None)

    def _is_hopeless(self):
        """Return whether Placement is to be asked what it offers, instead.

        It has contradicted the copy, which the offer is from, too often.
        """
        return self._offer.ask is not None and sum(
            not claim.taken for claim in self._record.claims) >= MOST_REFUSALS

    def _claim(self, state, taken, instance_uuid, spec_obj):
        """Claim a host, or note that it is to be claimed: whether it is."""
        if self._later:
            self._chosen[instance_uuid] = state, taken
            return True
        # First, and for good: it may have been taken without an answer, and
        # what was not is not given back.
        self._claimed[instance_uuid] = None
        with self._timed():
            accepted = self._offer.claim(instance_uuid, taken.request,
                                         spec_obj)
        self._note(instance_uuid, state, accepted)
        self._record.budget.check('claim')
        return accepted

    def claim_chosen(self, spec_obj):
        """Claim the hosts that were only chosen: whether Placement grants all.

        False if it grants none, or does not answer: what it may have taken is
        given back with the claims of the next attempt.
        """
        if not self._chosen:
            return True
        # Before, as in ``_claim``.
        self._claimed.update(dict.fromkeys(self._chosen))
        requests = {uuid: taken.request
                    for uuid, (_, taken) in self._chosen.items()}
        with self._timed():
            accepted = (self._offer.claim_all(requests, spec_obj)
                        if len(requests) > 1
                        else self._offer.claim(*requests.popitem(), spec_obj))
        if accepted:
            for uuid, (state, _) in self._chosen.items():
                self._note(uuid, state, True)
        elif accepted is None:
            self._record.unanswered = tuple(self._chosen)
        self._chosen.clear()
        self._record.budget.check('claim')
        return bool(accepted)

    @contextlib.contextmanager
    def _timed(self):
        """Note how long Placement takes, whatever it says."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self._record.spent('claims', time.perf_counter() - begin)

    def _note(self, instance_uuid, state, accepted):
        self._record.claims.append(Claim(
            instance_uuid, state.host, state.nodename, accepted))

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

    def release(self):
        """Give back all that was claimed, or chosen to be claimed."""
        if self._claimed:
            LOG.debug('Cleaning up allocations for %s', [*self._claimed])
        give_back(self._offer, [*reversed(self._claimed), *self._chosen])
        self._claimed.clear()
        self._chosen.clear()


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
