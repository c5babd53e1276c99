"""Fill the mirror of Placement's providers and keep it up to date.

``Upkeep`` works in the background.  It fills the mirror from one listing of
candidates, which contains nearly all providers with room; the others are read
one by one.  Afterwards it lists all providers periodically and compares their
generations.  Changed providers are read again, one by one or, if there are
many, by a listing of candidates.

``DELETE /allocations/{consumer}`` does not raise a generation.  The resources
that a deleted instance frees show in the row of its compute node; then the
provider's usages are read.  A periodic listing of candidates covers the rest.

Each type of query uses a small share of the time, so that a large or slow
Placement is queried less often.  The workers of a service share the responses
about all providers, and the rate of the other queries.

An unreadable or invalid provider does not affect the others; it is set aside
for a while.
"""

import collections
import contextlib
import math
import threading
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.concurrency import threads
from nova_sched.placement.adapter import RequestFailed
from nova_sched.placement.mirror.reader import UnusableProvider
from nova_sched.placement.mirror.shared_responses import SharedResponses

LOG = logging.getLogger(__name__)

#: Queries for all providers: their generations; all with room; all, to
#: fill the mirror.
QUERIES = GENERATIONS, ALL_PROVIDERS, WHOLE = (
    'generations', 'all providers', 'whole')
#: Fractions of the time for which Placement may be busy: with the generations
#: of providers, the members of aggregates, and listings of all providers.
CHANGES, MEMBERS, ALL = 0.01, 0.004, 0.006
#: Fraction for listings if more providers have changed than can be read one
#: by one.
ALL_SOON = 0.03
#: Requests per second that read single providers, and that read providers on
#: which Placement has refused a claim, as other requests wait for them.
SINGLE, URGENT = 5, 20
#: Requests needed to read one provider.
PARTS = 4
#: Seconds between two checks whether the usage of hosts has fallen.
LOOK = 1
#: Minimum seconds between two queries of a type.
LEAST = 1
#: Seconds without queries after a failure.
PAUSE = 5
#: Seconds until an unreadable provider is read again.
AGAIN = 60
#: Maximum number of unreadable providers that are logged as warnings.
MOST_LOGGED = 20
#: Seconds that a request waits for each part of the provider of a new node.
NODE_TIMEOUT = 1
#: Seconds after which the provider of a new node is read again if Placement
#: does not have it yet, as a compute service creates it after the node;
#: maximum number of such providers.
EXPECTED, MOST_EXPECTED = (1, 2, 4, 8, 16), 20
#: Seconds between two log lines about progress.
PROGRESS = 10
#: Seconds without a comparison of generations, and multiple of the usual
#: interval, after which (both) the mirror is not used.
TOO_OLD, TOO_OFTEN = 60, 5


class _Stopped(Exception):
    """The thread must end."""


class Pace:
    """The schedule of one type of query.

    share: fraction of the time that responses may take.
    """

    def __init__(self, share, clock):
        self._share, self._clock = share, clock
        self.at = self.took = 0
        self.began = -math.inf

    @property
    def is_due(self):
        return self._clock() >= self.at

    @property
    def interval(self):
        """Seconds between two queries."""
        return max(LEAST, self.took / self._share)

    def soonest(self, share):
        """Return when the next query would be due with another share."""
        return self.at - self.interval + max(LEAST, self.took / share)

    def note(self, response):
        """Record a TimedResponse; the interval starts at its beginning."""
        self.began, self.took = response.began, response.took
        self.at = self.began + self.interval


class Upkeep:
    """The thread that fills and updates a mirror.

    reader: ProviderReader.  providers: Providers.
    freed: function that returns the uuids of compute nodes with less usage
        than at its last call: iterable.
    responses: SharedResponses to QUERIES; by default not shared.
    """

    def __init__(self, reader, providers, freed=tuple, responses=None,
                 clock=time.monotonic):
        self._reader, self._providers = reader, providers
        self._find_freed, self._clock = freed, clock
        self._responses = responses or SharedResponses(clock=clock)
        self._stopped, self._woken = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._parents = {}
        # Providers to read, by cause, oldest first: uuid -> None, or for
        # changed providers uuid -> when they may be read.
        self._urgent, self._changed, self._freed = (
            collections.OrderedDict() for _ in range(3))
        # uuid -> ascending times of reads, for providers that Placement does
        # not have yet.
        self._expected = {}
        # Providers that could not be read at the last attempt.
        self._set_aside = set()
        self._changes, self._members, self._all = (
            Pace(share, clock) for share in (
                CHANGES, MEMBERS / self._responses.workers, ALL))
        # Number of changed providers since the last listing.
        self._news = 0
        self._next_single = self._next_look = 0
        self._compared_at, self._failed = None, False

    def start(self):
        """Start the thread."""
        self.thread = threads.start('placement mirror', self._run)

    def stop(self):
        """Stop the thread, without waiting for its query."""
        self._stopped.set()
        self._woken.set()

    @property
    def age(self):
        """Seconds since the last comparison with Placement.

        None while the mirror is incomplete or too old for use.
        """
        if self._compared_at is None:
            return None
        age = self._clock() - self._compared_at
        return age if age <= max(
            TOO_OLD, TOO_OFTEN * self._changes.interval) else None

    def read_soon(self, uuids):
        """Read providers soon: Placement has refused a claim on them."""
        with self._lock:
            self._urgent.update(dict.fromkeys(uuids))
        self._woken.set()

    def read_node(self, uuid):
        """Read the provider of a compute node that the mirror lacks.

        Returns whether Placement has one with an inventory.
        Raises PlacementError.
        """
        since = self._providers.now()
        # The provider of a compute node is the root of its tree.
        provider = self._reader.provider(uuid, None, timeout=NODE_TIMEOUT)
        if provider is not None:
            self._providers.put([provider], since)
        return bool(provider and provider.amounts)

    def expect(self, uuids):
        """Schedule reads of providers that Placement does not have yet.

        uuids: list; as many as MOST_EXPECTED allows are scheduled.
        """
        now = self._clock()
        with self._lock:
            for uuid in uuids[:MOST_EXPECTED - len(self._expected)]:
                self._expected[uuid] = [now + pause for pause in EXPECTED]
        self._woken.set()

    def _run(self):
        while not self._stopped.is_set():
            self._woken.clear()
            self._woken.wait(self.step())

    def step(self):
        """Send the queries that are due; return seconds until the next."""
        try:
            if self._compared_at is None:
                self._fill()
            else:
                self._update()
        except exception.PlacementError as exc:
            return self._fail(exc)
        except Exception:
            LOG.exception('Updating the mirror of Placement failed')
            return self._fail(None)
        if self._failed:
            self._failed = False
            LOG.info('The mirror of Placement is updated again')
        return max(0, self._next() - self._clock())

    def _fail(self, error):
        if error is not None and not self._failed:
            LOG.warning('The mirror of Placement is not updated; retrying '
                        'every %d seconds. When it is older than %d seconds, '
                        'requests query Placement for candidates: %s', PAUSE,
                        TOO_OLD, error)
        self._failed = True
        return PAUSE

    def _fill(self):
        begin = self._clock()
        generations = self._look_for_changes()
        try:
            response = self._send(WHOLE, lambda: self._read_whole(
                generations.value), begin - TOO_OLD).value
        except _Stopped:
            return
        self._all.note(response)
        self._take_all(response, generations)
        self._compared_at = generations.began
        LOG.info('%d resource providers were copied from Placement in %.1f '
                 'seconds; requests get their candidates from this mirror',
                 len(generations.value), self._clock() - begin)

    def _send(self, query, send, after):
        """Return a TimedResponse to a query after a moment, of any worker."""
        return self._responses.get(
            query, self._reader.config_fingerprint, send, after)

    def _read_whole(self, generations):
        """Return all readable providers, as a TimedResponse.

        Most are in a listing of candidates; the rest is read one by one.
        Raises _Stopped.
        """
        listing = self._responses.send_alone(
            lambda: self._reader.summaries(generations))
        listed = listing.value
        logged, names = self._clock(), {provider.uuid for provider in listed}
        rest = [uuid for uuid in generations if uuid not in names]
        for number, uuid in enumerate(rest):
            if self._stopped.is_set():
                raise _Stopped
            with self._setting_aside(uuid):
                provider = self._reader.provider(uuid, generations[uuid][1])
                listed += [provider] if provider is not None else []
            if self._clock() - logged >= PROGRESS:
                logged = self._clock()
                LOG.info('%d of %d resource providers of Placement are still '
                         'to be read; requests query Placement for candidates '
                         'until then', len(rest) - number - 1,
                         len(generations))
        return listing

    def _update(self):
        if self._clock() >= self._next_look:
            self._next_look = self._clock() + LOOK
            self._freed.update(dict.fromkeys(
                uuid for uuid in self._find_freed() if uuid in self._parents))
        self._look_for_expected()
        # First: without the comparison the mirror soon is too old.
        if self._changes.is_due:
            generations = self._look_for_changes()
            self._compared_at = generations.began
            if self._all.is_due or self._are_many():
                self._read_all(generations)
        elif self._urgent:
            with self._lock:
                uuid, _ = self._urgent.popitem(last=False)
            self._read_provider(uuid)
        elif self._members.is_due and self._providers.oldest_aggregate:
            self._read_members(self._providers.oldest_aggregate)
        elif self._clock() >= self._next_single:
            self._read_single()

    def _next(self):
        """Return when the next query is due."""
        if self._urgent:
            return self._clock() + PARTS / URGENT
        with self._lock:
            due = [self._changes.at, self._next_look, *(
                moments[0] for moments in self._expected.values())]
        if self._providers.oldest_aggregate:
            due.append(self._members.at)
        if (self._changed or self._freed
                or self._providers.without_limits()):
            due.append(self._next_single)
        return min(due)

    def _look_for_changes(self):
        """Query the generations of all providers.

        Returns a TimedResponse with the result of
        ``ProviderReader.generations``.
        """
        response = self._send(GENERATIONS, self._reader.generations,
                              self._changes.began)
        self._changes.note(response)
        self._parents = {uuid: parent
                         for uuid, (_, parent) in response.value.items()}
        self._providers.keep(self._parents.keys(), response.began)
        for uuid in self._differing(response.value):
            self._news += uuid not in self._changed
            self._changed.setdefault(uuid, 0)
        self._set_aside &= self._parents.keys()
        return response

    def _differing(self, generations):
        return self._providers.differing({
            uuid: generation for uuid, (generation, _)
            in generations.items()})

    def _are_many(self):
        """Return whether so many have changed that a listing is due sooner."""
        return (self._news * PARTS / self._single
                > self._all.took / ALL_SOON
                and self._clock() >= self._all.soonest(ALL_SOON))

    def _read_all(self, generations):
        """Read a listing of candidates.

        generations: TimedResponse from before the listing.
        """
        response = self._send(ALL_PROVIDERS, lambda: self._reader.summaries(
            generations.value), generations.began)
        self._all.note(response)
        self._take_all(response, generations)

    def _take_all(self, response, generations):
        """Store a TimedResponse about all providers, see ``Providers.put``."""
        # A listing does not contain the aggregates of a new provider.
        new = (set() if self._compared_at is None
               else self._providers.unknown(generations.value))
        skipped = self._providers.put(
            response.value, min(response.began, generations.began))
        self._news = 0
        differing = set(self._differing(generations.value))
        for provider in response.value:
            if provider.uuid not in new and provider.uuid not in differing:
                self._changed.pop(provider.uuid, None)
        self._changed.update(dict.fromkeys(skipped, 0))

    def read_aggregate(self, aggregate):
        """Read the members of an aggregate: TimedResponse.

        Raises PlacementError.
        """
        response = self._responses.send_alone(
            lambda: self._reader.members(aggregate))
        self._providers.put_members(aggregate, response.value)
        return response

    def _read_members(self, aggregate):
        try:
            self._members.note(self.read_aggregate(aggregate))
        except RequestFailed as exc:
            # Requests that name it read the members, or query Placement.
            LOG.debug('The members of aggregate %s are unknown: %s', aggregate,
                      exc)
            self._providers.forget_members(aggregate)

    @property
    def _single(self):
        """This worker's requests per second for single providers."""
        return SINGLE / self._responses.workers

    def _look_for_expected(self):
        """Read expected providers that are due."""
        if not self._expected:
            return
        now = self._clock()
        with self._lock:
            lacking = {uuid: self._expected[uuid] for uuid
                       in self._providers.lacking([*self._expected])}
            self._urgent.update(dict.fromkeys(
                uuid for uuid, moments in lacking.items()
                if moments[0] <= now))
            self._expected = {
                uuid: later for uuid, moments in lacking.items()
                if (later := [moment for moment in moments if moment > now])}

    def _read_single(self):
        requests = PARTS
        if changed := self._first_due(self._changed):
            self._read_provider(changed)
        elif self._freed:
            uuid, requests = self._freed.popitem(last=False)[0], 1
            since = self._providers.now()
            with self._setting_aside(uuid):
                used = self._reader.used(uuid)
                if used is not None and not self._providers.put_used(
                        uuid, used, since):
                    self._freed[uuid] = None
        elif limitless := self._first_due(self._providers.without_limits()):
            self._read_provider(limitless)
        self._next_single = self._clock() + requests / self._single

    def _first_due(self, uuids):
        """Return the first uuid that is not set aside, or None."""
        return next((uuid for uuid in uuids if self._changed.get(uuid, 0)
                     <= self._clock()), None)

    def _read_provider(self, uuid):
        """Read a whole provider, or later if a claim interferes."""
        since = self._providers.now()
        # Moved to the end, so that others are read.
        self._changed.pop(uuid, None)
        self._changed[uuid] = 0
        with self._setting_aside(uuid):
            provider = self._reader.provider(uuid, self._parents.get(uuid))
            if provider is None or not self._providers.put([provider], since):
                del self._changed[uuid]

    @contextlib.contextmanager
    def _setting_aside(self, uuid):
        """Set a provider aside if the block cannot read it."""
        try:
            yield
        except (RequestFailed, UnusableProvider) as exc:
            if isinstance(exc, UnusableProvider):
                self._providers.invalidate([uuid])
            self._changed[uuid] = self._clock() + AGAIN
            only_debug = (uuid in self._set_aside
                          or len(self._set_aside) >= MOST_LOGGED)
            self._set_aside.add(uuid)
            LOG.log(logging.DEBUG if only_debug else logging.WARNING,
                    'The mirror of Placement lacks data of resource provider '
                    '%s, which is read again every %d seconds: %s', uuid,
                    AGAIN, exc)
        else:
            self._set_aside.discard(uuid)
