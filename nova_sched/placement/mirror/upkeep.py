"""Keeps a copy of Placement's providers up, in the background.

``Upkeep`` fills it first: one listing of candidates tells nearly all of those
that have room, the others are read one by one.  Afterwards a listing of the
providers alone tells, now and then, whose generation differs; these are read
anew, one by one or, if they are many, by a listing of candidates.

Placement does not raise a generation for ``DELETE /allocations/{consumer}``.
What a deleted instance frees shows in the row of its compute node, whereupon
the provider's usages are read; and by a listing of candidates now and then.

Each kind of question takes a small share of the time, so that a large or slow
Placement is asked less often.  The workers of a service share the answers
about all providers, and the pace of the other questions.

A provider that cannot be read, or of which Placement tells what cannot be,
costs no other one: it is set aside for a while.
"""

import collections
import contextlib
import math
import threading
import time

from oslo_log import log as logging

from nova_sched import exception
from nova_sched.placement.adapter import RequestFailed
from nova_sched.placement.mirror.reader import UnusableProvider
from nova_sched.placement.mirror.shared_answers import SharedAnswers

LOG = logging.getLogger(__name__)

#: What is asked about all providers: which there are, what those with room
#: have, and the same with all others, to begin with.
QUESTIONS = GENERATIONS, ALL_PROVIDERS, WHOLE = (
    'generations', 'all providers', 'whole')
#: The shares of the time that Placement may be busy with: which providers
#: have changed; who is in the aggregates that requests name; and what all
#: providers have.
CHANGES, MEMBERS, ALL = 0.01, 0.004, 0.006
#: The same for all when more have changed than can be read one by one.
ALL_SOON = 0.03
#: Requests a second that read single providers; and of those that Placement
#: has contradicted a claim on, which others wait for.
SINGLE, DOUBTED = 5, 20
#: Requests that reading all of one provider takes.
PARTS = 4
#: Seconds between two looks at whether the usage of hosts has fallen.
LOOK = 1
#: Seconds from one question of a kind to the next, at least.
LEAST = 1
#: Seconds that nothing is asked for after a failure.
PAUSE = 5
#: Seconds until a provider that could not be read is read again.
AGAIN = 60
#: How many such providers have a warning of their own, at most.
MOST_TOLD = 20
#: Seconds that a request waits for each part of the provider of a new node.
NODE_TIMEOUT = 1
#: Seconds from then on after which it is read again if Placement had none, as
#: a compute service makes it after its node; how many are at a time, at most.
EXPECTED, MOST_EXPECTED = (1, 2, 4, 8, 16), 20
#: Seconds between two lines about how far it has come.
PROGRESS = 10
#: A copy that was not compared with Placement for so many seconds, or so many
#: times longer than usual, is not used.
TOO_OLD, TOO_OFTEN = 60, 5


class _Stopped(Exception):
    """The thread is to end."""


class Pace:
    """When the next question of a kind is due.

    share: of the time that answers may take.
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
        """Seconds from one to the next."""
        return self._with(self._share)

    def _with(self, share):
        return max(LEAST, self.took / share)

    def soonest(self, share):
        """Return when it would be due with another share."""
        return self.at - self.interval + self._with(share)

    def note(self, answer):
        """Note an Answer, from whose beginning the interval counts."""
        self.began, self.took = answer.began, answer.took
        self.at = self.began + self.interval


class Upkeep:
    """The thread that keeps a copy up.

    reader: ProviderReader.  providers: Providers.
    freed: function that returns the uuids of compute nodes on which less is
        used than when it was called before: iterable.
    answers: SharedAnswers to QUESTIONS; by default to this one alone.
    """

    def __init__(self, reader, providers, freed=tuple, answers=None,
                 clock=time.monotonic):
        self._reader, self._providers = reader, providers
        self._find_freed, self._clock = freed, clock
        self._answers = answers or SharedAnswers(clock=clock)
        self._stopped, self._woken = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._parents = {}
        # uuids by why they are to be read, oldest first: dicts without
        # values, but of those that have changed when they may be read.
        self._doubted, self._changed, self._freed = (
            collections.OrderedDict() for _ in range(3))
        # uuid -> when it is read, ascending, of those that Placement may
        # have by then.
        self._expected = {}
        # Those that could not be read the last time.
        self._set_aside = set()
        self._changes, self._members, self._all = (
            Pace(share, clock) for share in (
                CHANGES, MEMBERS / self._answers.workers, ALL))
        # How many have changed since all were read.
        self._news = 0
        self._next_single = self._next_look = 0
        self._compared_at, self._failed = None, False

    def start(self):
        """Begin to fill it, and to keep it up."""
        self.thread = threading.Thread(
            target=self._run, name='placement mirror', daemon=True)
        self.thread.start()

    def stop(self):
        """End, without waiting for what is being asked."""
        self._stopped.set()
        self._woken.set()

    @property
    def age(self):
        """Seconds since it was compared with Placement; None while it is not
        complete, or too old to be used.
        """
        if self._compared_at is None:
            return None
        age = self._clock() - self._compared_at
        return age if age <= max(
            TOO_OLD, TOO_OFTEN * self._changes.interval) else None

    def doubt(self, uuids):
        """Have providers read soon: Placement has refused what seemed free."""
        with self._lock:
            self._doubted.update(dict.fromkeys(uuids))
        self._woken.set()

    def learn_node(self, uuid):
        """Read the provider of a compute node that the copy does not have.

        Returns whether Placement has one with an inventory.
        Raises PlacementError.
        """
        since = self._providers.now()
        # That of a compute node is the root of its tree.
        found = self._reader.provider(uuid, None, timeout=NODE_TIMEOUT)
        if found is not None:
            self._providers.put([found], since)
        return bool(found and found.amounts)

    def expect(self, uuids):
        """Have providers read soon that Placement does not have yet: a list.
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
        """Ask what is due; return the seconds until something else is."""
        try:
            if self._compared_at is None:
                self._fill()
            else:
                self._keep_up()
        except exception.PlacementError as exc:
            return self._fail(exc)
        except Exception:
            LOG.exception('Keeping a copy of what Placement knows failed')
            return self._fail(None)
        if self._failed:
            self._failed = False
            LOG.info('The copy of what Placement knows is kept up again')
        return max(0, self._next() - self._clock())

    def _fail(self, error):
        if error is not None and not self._failed:
            LOG.warning('The copy of what Placement knows is not kept up, '
                        'which is tried again every %(pause)d seconds; when '
                        'it is older than %(old)d seconds, requests ask '
                        'Placement for candidates: %(error)s', {
                            'pause': PAUSE, 'old': TOO_OLD, 'error': error})
        self._failed = True
        return PAUSE

    def _fill(self):
        begin = self._clock()
        generations = self._look_for_changes()
        try:
            found = self._ask(WHOLE, lambda: self._read_whole(
                generations.value), begin - TOO_OLD).value
        except _Stopped:
            return
        self._all.note(found)
        self._take_all(found, generations)
        self._compared_at = generations.began
        LOG.info('%(count)d resource providers were copied from Placement in '
                 '%(seconds).1f seconds; requests are given candidates from '
                 'the copy', {'count': len(generations.value),
                              'seconds': self._clock() - begin})

    def _ask(self, question, ask, after):
        """Return an Answer, to this worker or another, from after a moment."""
        return self._answers.get(question, self._reader.identity, ask, after)

    def _read_whole(self, generations):
        """Return all providers that can be read, as an Answer of a listing.

        The listing of candidates tells most; the rest is read one by one.
        Raises _Stopped.
        """
        listing = self._answers.asked(
            lambda: self._reader.summaries(generations))
        found = listing.value
        told, names = self._clock(), {each.uuid for each in found}
        rest = [uuid for uuid in generations if uuid not in names]
        for number, uuid in enumerate(rest):
            if self._stopped.is_set():
                raise _Stopped
            with self._alone(uuid):
                each = self._reader.provider(uuid, generations[uuid][1])
                found += [each] if each is not None else []
            if self._clock() - told >= PROGRESS:
                told = self._clock()
                LOG.info('%(left)d of %(all)d resource providers of Placement '
                         'are still to be read, requests ask it for '
                         'candidates until then', {
                             'left': len(rest) - number - 1,
                             'all': len(generations)})
        return listing

    def _keep_up(self):
        self._look_for_freed()
        self._look_for_expected()
        # First: without it the copy is too old soon, whatever is in doubt.
        if self._changes.is_due:
            generations = self._look_for_changes()
            self._compared_at = generations.began
            if self._all.is_due or self._are_many():
                self._read_all(generations)
        elif self._doubted:
            self._read_doubted()
        elif self._members.is_due and self._providers.oldest_aggregate:
            self._read_members(self._providers.oldest_aggregate)
        elif self._clock() >= self._next_single:
            self._read_single()

    def _next(self):
        """Return when the next question is due."""
        if self._doubted:
            return self._clock() + PARTS / DOUBTED
        with self._lock:
            due = [self._changes.at, self._next_look, *(
                moments[0] for moments in self._expected.values())]
        if self._providers.oldest_aggregate:
            due.append(self._members.at)
        if self._singles():
            due.append(self._next_single)
        return min(due)

    def _look_for_changes(self):
        """Ask which providers there are.

        Returns an Answer as of ``ProviderReader.generations``.
        """
        found = self._ask(GENERATIONS, self._reader.generations,
                          self._changes.began)
        self._changes.note(found)
        self._parents = {uuid: parent
                         for uuid, (_, parent) in found.value.items()}
        self._providers.keep(self._parents.keys(), found.began)
        for uuid in self._differing(found.value):
            self._news += uuid not in self._changed
            self._changed.setdefault(uuid, 0)
        self._set_aside &= self._parents.keys()
        return found

    def _differing(self, generations):
        return self._providers.differing({
            uuid: generation for uuid, (generation, _)
            in generations.items()})

    def _are_many(self):
        """Return whether so many have changed that all are read sooner."""
        return (self._news * PARTS / self._single
                > self._all.took / ALL_SOON
                and self._clock() >= self._all.soonest(ALL_SOON))

    def _read_all(self, generations):
        """Read what a listing of candidates tells.

        generations: Answer, which the listing comes after.
        """
        found = self._ask(ALL_PROVIDERS, lambda: self._reader.summaries(
            generations.value), generations.began)
        self._all.note(found)
        self._take_all(found, generations)

    def _take_all(self, found, generations):
        """Take an Answer about all providers, as of ``put``."""
        # Of a new one a listing does not tell which aggregates it is in.
        new = (set() if self._compared_at is None
               else self._providers.unknown(generations.value))
        left = self._providers.put(
            found.value, min(found.began, generations.began))
        self._news = 0
        differing = set(self._differing(generations.value))
        for each in found.value:
            if each.uuid not in new and each.uuid not in differing:
                self._changed.pop(each.uuid, None)
        self._changed.update(dict.fromkeys(left, 0))

    def learn(self, aggregate):
        """Read who is in an aggregate: Answer.  Raises PlacementError."""
        found = self._answers.asked(
            lambda: self._reader.members(aggregate))
        self._providers.put_members(aggregate, found.value)
        return found

    def _read_members(self, aggregate):
        try:
            self._members.note(self.learn(aggregate))
        except RequestFailed as exc:
            # Requests that name it read it, or ask Placement.
            LOG.debug('Who is in aggregate %(uuid)s is not known: %(error)s',
                      {'uuid': aggregate, 'error': exc})
            self._providers.forget_members(aggregate)

    @property
    def _single(self):
        """Requests a second that read single providers, of this worker."""
        return SINGLE / self._answers.workers

    def _look_for_freed(self):
        if self._clock() >= self._next_look:
            self._next_look = self._clock() + LOOK
            for uuid in self._find_freed():
                if uuid in self._parents:
                    self._freed.setdefault(uuid)

    def _look_for_expected(self):
        """Have those read at once whose moment has come."""
        if not self._expected:
            return
        now = self._clock()
        with self._lock:
            lacking = {uuid: self._expected[uuid] for uuid
                       in self._providers.lacking([*self._expected])}
            self._doubted.update(dict.fromkeys(
                uuid for uuid, moments in lacking.items()
                if moments[0] <= now))
            self._expected = {
                uuid: later for uuid, moments in lacking.items()
                if (later := [moment for moment in moments if moment > now])}

    def _read_doubted(self):
        with self._lock:
            uuid, _ = self._doubted.popitem(last=False)
        self._read_provider(uuid)

    def _singles(self):
        return (self._changed or self._freed
                or self._providers.without_limits())

    def _read_single(self):
        asked = PARTS
        if changed := self._first_due(self._changed):
            self._read_provider(changed)
        elif self._freed:
            uuid, asked = self._freed.popitem(last=False)[0], 1
            since = self._providers.now()
            with self._alone(uuid):
                used = self._reader.used(uuid)
                if used is not None and not self._providers.put_used(
                        uuid, used, since):
                    self._freed[uuid] = None
        elif limitless := self._first_due(self._providers.without_limits()):
            self._read_provider(limitless)
        self._next_single = self._clock() + asked / self._single

    def _first_due(self, uuids):
        """Return the first of uuids that was not set aside; None for none."""
        return next((uuid for uuid in uuids if self._changed.get(uuid, 0)
                     <= self._clock()), None)

    def _read_provider(self, uuid):
        """Read all of a provider; later, if a claim comes in between."""
        since = self._providers.now()
        # Last in the order, so that others are read.
        self._changed.pop(uuid, None)
        self._changed[uuid] = 0
        with self._alone(uuid):
            found = self._reader.provider(uuid, self._parents.get(uuid))
            if found is None or not self._providers.put([found], since):
                del self._changed[uuid]

    @contextlib.contextmanager
    def _alone(self, uuid):
        """Set a provider aside if the block cannot read it."""
        try:
            yield
        except (RequestFailed, UnusableProvider) as exc:
            if isinstance(exc, UnusableProvider):
                self._providers.doubt([uuid])
            self._changed[uuid] = self._clock() + AGAIN
            is_told = (uuid in self._set_aside
                       or len(self._set_aside) >= MOST_TOLD)
            self._set_aside.add(uuid)
            LOG.log(logging.DEBUG if is_told else logging.WARNING,
                    'The copy of what Placement knows has not all of resource '
                    'provider %(uuid)s, which is read again every %(pause)d '
                    'seconds: %(error)s', {
                        'uuid': uuid, 'pause': AGAIN, 'error': exc})
        else:
            self._set_aside.discard(uuid)
