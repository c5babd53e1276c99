"""Publishing picks to the other daemons of a deployment, and taking in theirs.

A daemon publishes the picks of its workers, and those that are forgotten, on
the message broker a few milliseconds after the decision.  Requests do not wait
for it, so two daemons may still choose the same host at the same moment.
Workers of one service share their picks in memory (``shared_picks.py``), and
receive those of other daemons by the same way.

- A daemon sends a message every HELLO seconds; silence for GONE seconds means
  that it is gone.  A daemon without others sends nothing else.
- A new daemon receives the picks of the last OLD seconds.
- A daemon acknowledges members of server groups, so that the next member is
  decided with them in view.
- Messages are signed (``signed_news.py``) and numbered; others are dropped.
"""

import collections
import math
import time

from oslo_log import log as logging

from nova_sched.inventory import picks_on_wire
from nova_sched.inventory.in_flight import News
from nova_sched.inventory.signed_news import Rejected

LOG = logging.getLogger(__name__)

#: Seconds between two signs of life, and seconds of silence after which a
#: daemon counts as gone.
HELLO, GONE = 10, 30

#: Seconds between two looks at what workers have placed: where somebody is to
#: be told, and where nobody is.
SOON, LATER = 0.002, 1

#: Seconds that a message may be old, or its sender's clock off; one who is new
#: is told the placements of that long.
OLD = 60

#: Placements of one message, apart from those of one request.
AT_ONCE = 100

#: Seconds that a daemon is waited for to hear of members of server groups; one
#: that has not heard by then is not waited for until it says something.
HEARD = 1

#: Seconds after which nothing more is to be told, once workers stop.
QUIET = 1

#: Seconds between two looks for another key, and between two lines about
#: messages that are dropped.
KEY_INTERVAL, LINE_INTERVAL = 60, 60


class Peers:
    """The other daemons, as this one hears them.

    host: name of this host, for lines of their logs.
    author: text that no other daemon has.
    workers: shared_picks.Exchange with those of this service.
    signer: signed_news.Signer.
    say: function that tells the others a dict of JSON, and raises what it
        likes.
    clock: function that returns seconds since the epoch.
    """

    def __init__(self, host, author, workers, signer, say, clock=time.time):
        self._host, self._author, self._workers = host, author, workers
        self._signer, self._say, self._clock = signer, say, clock
        # How many messages were said; author -> number of the last one heard,
        # and when that was, by time.monotonic().
        self._said, self._heard = 0, {}
        # What was placed of late, oldest first: key -> InFlight.
        self._recent = collections.OrderedDict()
        # The authors that are to be told of it.
        self._new = []
        # Author -> number of its last message that is to be answered, and of
        # the last of ours that it has heard; those that are not waited for.
        self._to_answer, self._heard_by, self._missing = {}, {}, set()
        # What not all have heard: (where it ends on the ring, number of the
        # message, until when to wait) in order; and where the last one ends
        # that all have.
        self._unheard, self._heard_end = collections.deque(), 0
        # How many messages were dropped since the last line, and when the
        # next one may come.
        self._dropped, self._next_line = 0, 0.0
        self._failing, self._began = False, clock()
        # Whether there was a key the last time, and why there is none.
        self._has_key, self._why_no_key = True, None
        # Those of before, where it takes the place of one that was killed.
        self._remember(map(_published, workers.news()))

    @property
    def some(self):
        """Whether there are any."""
        return bool(self._present())

    def run(self, stopping):
        """Tell others, until a threading.Event is set and all is told."""
        hello_at, key_at, told_at = 0, 0, time.monotonic()
        while not stopping.is_set() or (
                self.some and time.monotonic() - told_at < QUIET):
            if self.tell_news() or not stopping.is_set():
                told_at = time.monotonic()
            if time.monotonic() >= key_at:
                key_at = time.monotonic() + KEY_INTERVAL
                self._refresh_key()
            if time.monotonic() >= hello_at:
                hello_at = time.monotonic() + HELLO
                self._forget_gone()
                self._tell([])
            pause = SOON if self.some else LATER
            if stopping.is_set():
                time.sleep(SOON)
            else:
                stopping.wait(pause)

    def tell_news(self):
        """Tell what workers have placed since the last call.

        Returns whether there was anything to be told.
        """
        new, self._new = self._new, []
        if new:
            self._tell_recent(new)
        answers, self._to_answer = self._to_answer, {}
        for author, number in answers.items():
            self._tell([], [author], heard=number)
        news = [*filter(any, map(_published, self._workers.news()))]
        self._remember(news)
        if not (news and self.some):
            self._note_heard()
            return False
        batch, size = [], 0
        for each in news:
            batch.append(each)
            size += len(each.assumed)
            if size >= AT_ONCE:
                self._tell(batch)
                batch, size = [], 0
        if batch:
            self._tell(batch)
        if any(map(_has_members, news)):
            self._unheard.append((self._workers.end, self._said,
                                  time.monotonic() + HEARD))
        self._note_heard()
        return True

    def _note_heard(self):
        """Tell workers up to where all others have heard."""
        present = self._present() - self._missing
        while self._unheard:
            end, number, until = self._unheard[0]
            late = {author for author in present
                    if self._heard_by.get(author, 0) < number}
            if late and time.monotonic() < until:
                break
            self._missing |= late
            present -= late
            self._heard_end = end
            self._unheard.popleft()
        if not self._unheard:
            self._heard_end = self._workers.end
        self._workers.note_heard(
            self._heard_end, len(present) if self._signer.has_key else 0)

    def _present(self):
        now = time.monotonic()
        return {author for author, (_, when) in list(self._heard.items())
                if now - when <= GONE}

    def _remember(self, news):
        """Remember what was placed of late, for those who are new."""
        recent = self._recent
        for each in news:
            for key, _, _ in each.forgotten:
                recent.pop(key, None)
            for placed in each.assumed:
                recent.pop(placed.key, None)
                recent[placed.key] = placed
        self._forget_old()

    def _forget_old(self):
        recent, old = self._recent, self._clock() - OLD
        while recent and next(iter(recent.values())).at < old:
            recent.popitem(last=False)

    def _tell_recent(self, authors):
        """Tell those who are new what was placed of late, if anything."""
        self._forget_old()
        recent = list(self._recent.values())
        # One message at least: that it has somebody to tell.
        for start in range(0, len(recent) or 1, AT_ONCE):
            self._tell([News(recent[start:start + AT_ONCE])], authors)

    def _forget_gone(self):
        """Forget those whose messages would be too old to be repeated."""
        now = time.monotonic()
        for author, (_, when) in list(self._heard.items()):
            if now - when > max(GONE, 2 * OLD):
                del self._heard[author]
                self._heard_by.pop(author, None)
                self._missing.discard(author)

    def _refresh_key(self):
        try:
            self._signer.refresh()
            self._why_no_key = 'cell_mappings has no cell0 with a password'
        except Exception as error:
            # The one before holds.
            self._why_no_key = str(error)

    def _tell(self, news, to=None, heard=None):
        """Say news to everybody, or to a list of authors alone.

        heard: number of the last message of these that was heard.
        """
        if not self._signer.has_key:
            if self._has_key:
                LOG.warning(
                    'Other daemons on this message broker are not told of '
                    'picks, and may choose the same hosts: there is no key to '
                    'sign messages with. Set [nova_sched] picks_key to the '
                    'same secret text on all scheduler hosts (%s)',
                    self._why_no_key)
            self._has_key = False
            return
        self._has_key = True
        self._said += 1
        try:
            self._say(self._signer.sign(self._host, {
                'host': self._host, 'author': self._author,
                'number': self._said, 'at': self._clock(), 'to': to,
                'heard': heard, 'asks': any(map(_has_members, news)),
                **picks_on_wire.written(news)}))
        except Exception as error:
            self.trouble(error)
            return
        if self._failing:
            self._failing = False
            LOG.info('Other daemons are told of picks again')

    def trouble(self, error):
        """Log, once until it ends, why others are not told or heard."""
        if not self._failing:
            self._failing = True
            LOG.warning('Other daemons on this message broker are not told '
                        'of picks, and may choose the same hosts; the next '
                        'line about it will be that they are: %r', error)

    # In the thread that hears.

    def hear(self, sent):
        """Take in what a daemon has said: a dict of JSON, or anything."""
        try:
            said = self._signer.read(sent)
            author, number = said['author'], said['number']
            if author == self._author or self._is_of_before(said):
                return
            self._check(said)
            news = picks_on_wire.read(said)
        except Rejected as reason:
            self._drop(sent, reason)
            return
        except Exception as error:
            self._drop(sent, f'it cannot be read: {error!r:.200}')
            return
        if author not in self._heard:
            LOG.info('The daemon on host %.255s tells of its picks',
                     said['host'])
            self._new.append(author)
        self._heard[author] = number, time.monotonic()
        self._missing.discard(author)
        if said['to'] is None or self._author in said['to']:
            for each in news:
                if each.assumed or each.forgotten:
                    self._workers.tell(each)
            if said['heard'] is not None:
                self._heard_by[author] = max(
                    said['heard'], self._heard_by.get(author, 0))
            if said['asks']:
                self._to_answer[author] = number

    def _is_of_before(self, said):
        """Return whether it is too late for it was said before this began.

        A queue that is a stream begins with such messages.
        """
        return said['at'] < min(self._began, self._clock() - OLD)

    def _check(self, said):
        """Raise Rejected for a message that is late, or repeated."""
        seconds = self._clock() - said['at']
        if not abs(seconds) <= OLD:
            raise Rejected(
                f'it is {seconds:.0f} seconds old by the clocks of both. Set '
                'the clocks, or see why messages wait')
        known, _ = self._heard.get(said['author'], (0, None))
        if not said['number'] > known:
            raise Rejected('it is repeated')
        if not all(math.isfinite(at) and -2 * OLD <= at - said['at'] <= 1
                   for at in picks_on_wire.moments(said)):
            raise Rejected('it tells of picks of another time')

    def _drop(self, sent, reason):
        """Count a message that does not count here; log one a minute."""
        self._dropped += 1
        if time.monotonic() < self._next_line:
            return
        host = sent.get('host') if isinstance(sent, dict) else None
        LOG.warning('%(count)d message(s) about picks are dropped; the last '
                    'one says that it is from host %(host).80r: %(reason)s', {
                        'count': self._dropped, 'host': host,
                        'reason': reason})
        self._dropped = 0
        self._next_line = time.monotonic() + LINE_INTERVAL


def _published(news):
    """Return the part of a worker's news that other daemons need.

    Placement counts the others, and no daemon needs them.
    """
    return News([placed for placed in news.assumed
                 if not placed.claiming or placed.group is not None
                 or placed.takes_hardware],
                forgotten=news.forgotten)


def _has_members(news):
    """Return whether News are of members of server groups."""
    return any(placed.group is not None for placed in news.assumed)
