"""Publish picks to the other daemons of a deployment and receive theirs.

A daemon publishes picks and forgotten picks of its workers on the message
broker, a few milliseconds after the decision.  Requests do not wait
for it, so two daemons may still choose the same host at the same moment.
Workers of one service share their picks in memory (``shared_picks.py``), and
receive picks of other daemons by the same way.

- A daemon sends a message every HELLO seconds; after GONE seconds of silence
  it counts as gone.  A daemon without peers sends nothing else.
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

#: Seconds between two heartbeat messages, and seconds of silence after which
#: a daemon counts as gone.
HELLO, GONE = 10, 30

#: Seconds between two checks for new picks: with peers, and without.
SOON, LATER = 0.002, 1

#: Maximum age of a message in seconds, which includes the difference of the
#: clocks; also the age of picks that a new daemon receives.
OLD = 60

#: Maximum number of requests whose picks are in one message.
AT_ONCE = 100

#: Seconds to wait for acknowledgements of members of server groups.  A daemon
#: that does not acknowledge in time is not waited for until its next message.
ACKNOWLEDGED_WITHIN = 1

#: Once workers stop: seconds without news after which publishing ends.
QUIET = 1

#: Seconds between two look-ups of the key, and between two log lines about
#: dropped messages.
KEY_INTERVAL, LINE_INTERVAL = 60, 60


class Peers:
    """Publishes this daemon's picks and receives other daemons' picks.

    host: name of this host, for the logs of other daemons.
    author: unique text that identifies this daemon.
    workers: shared_picks.Exchange with the workers of this service.
    signer: signed_news.Signer.
    say: function that sends a JSON dict to all daemons; may raise anything.
    clock: function that returns seconds since the epoch.
    """

    def __init__(self, host, author, workers, signer, say, clock=time.time):
        self._host, self._author, self._workers = host, author, workers
        self._signer, self._say, self._clock = signer, say, clock
        # Number of messages sent; author -> (number of the last message
        # received, time.monotonic() of its arrival).
        self._sent, self._received = 0, {}
        # Recent picks, oldest first: key -> PlacedInstance.
        self._recent = collections.OrderedDict()
        # New authors, which must receive the recent picks.
        self._new = []
        # Author -> number of its last message to acknowledge; author ->
        # number of our last message that it has acknowledged; authors that
        # have missed the time for an acknowledgement.
        self._to_acknowledge, self._acknowledged = {}, {}
        self._missing = set()
        # (end on the ring, number of the message, deadline) of messages that
        # some daemons have not acknowledged, in order; end on the ring of the
        # last message that all have acknowledged.
        self._pending, self._acknowledged_end = collections.deque(), 0
        # Number of dropped messages since the last log line; time of the next.
        self._dropped, self._next_line = 0, 0.0
        self._failing, self._began = False, clock()
        # False once the lack of a key is logged; the cause of the lack.
        self._has_key, self._why_no_key = True, None
        # Earlier picks, if this process replaces a killed one.
        self._remember(map(_published, workers.news()))

    @property
    def has_peers(self):
        """Whether there are other daemons."""
        return bool(self._present())

    def run(self, stopping):
        """Publish picks and heartbeats until a threading.Event is set.

        Then go on until there are no news for QUIET seconds.
        """
        hello_at, key_at, news_at = 0, 0, time.monotonic()
        while not stopping.is_set() or (
                self.has_peers and time.monotonic() - news_at < QUIET):
            if self.publish_news() or not stopping.is_set():
                news_at = time.monotonic()
            if time.monotonic() >= key_at:
                key_at = time.monotonic() + KEY_INTERVAL
                self._refresh_key()
            if time.monotonic() >= hello_at:
                hello_at = time.monotonic() + HELLO
                self._forget_gone()
                self._send([])
            pause = SOON if self.has_peers else LATER
            if stopping.is_set():
                time.sleep(SOON)
            else:
                stopping.wait(pause)

    def publish_news(self):
        """Publish the picks of workers since the last call.

        Returns whether there were any.
        """
        new, self._new = self._new, []
        if new:
            self._send_recent(new)
        pending, self._to_acknowledge = self._to_acknowledge, {}
        for author, number in pending.items():
            self._send([], [author], last_received=number)
        news = [*filter(any, map(_published, self._workers.news()))]
        self._remember(news)
        if not (news and self.has_peers):
            self._update_acknowledged()
            return False
        for start in range(0, len(news), AT_ONCE):
            self._send(news[start:start + AT_ONCE])
        if any(map(_has_members, news)):
            self._pending.append((self._workers.end, self._sent,
                                  time.monotonic() + ACKNOWLEDGED_WITHIN))
        self._update_acknowledged()
        return True

    def _update_acknowledged(self):
        """Report to workers which picks all other daemons have received."""
        present = self._present() - self._missing
        while self._pending:
            end, number, until = self._pending[0]
            late = {author for author in present
                    if self._acknowledged.get(author, 0) < number}
            if late and time.monotonic() < until:
                break
            self._missing |= late
            present -= late
            self._acknowledged_end = end
            self._pending.popleft()
        if not self._pending:
            self._acknowledged_end = self._workers.end
        self._workers.note_acknowledged(self._acknowledged_end,
                                 len(present) if self._signer.has_key else 0)

    def _present(self):
        now = time.monotonic()
        return {author for author, (_, at) in list(self._received.items())
                if now - at <= GONE}

    def _remember(self, news):
        """Remember recent picks for new daemons."""
        recent = self._recent
        for item in news:
            for key, _, _ in item.forgotten:
                recent.pop(key, None)
            for placed in item.assumed:
                recent.pop(placed.key, None)
                recent[placed.key] = placed
        self._forget_old()

    def _forget_old(self):
        recent, old = self._recent, self._clock() - OLD
        while recent and next(iter(recent.values())).at < old:
            recent.popitem(last=False)

    def _send_recent(self, authors):
        """Send the recent picks to new daemons."""
        self._forget_old()
        recent = list(self._recent.values())
        # At least one message, so that the new daemon knows this one.
        for start in range(0, len(recent) or 1, AT_ONCE):
            self._send([News(recent[start:start + AT_ONCE])], authors)

    def _forget_gone(self):
        """Forget daemons whose last message, if replayed, is too old anyway.
        """
        now = time.monotonic()
        for author, (_, at) in list(self._received.items()):
            if now - at > max(GONE, 2 * OLD):
                del self._received[author]
                self._acknowledged.pop(author, None)
                self._missing.discard(author)

    def _refresh_key(self):
        try:
            self._signer.refresh()
            self._why_no_key = 'cell_mappings has no cell0 with a password'
        except Exception as error:
            # The previous key stays valid.
            self._why_no_key = str(error)

    def _send(self, news, to=None, last_received=None):
        """Send news to all daemons, or to a list of authors.

        last_received: number of the last message received from them.
        """
        if not self._signer.has_key:
            if self._has_key:
                LOG.warning(
                    'Picks are not published to other daemons on this message '
                    'broker, which may choose the same hosts: there is no key '
                    'to sign messages with. Set [nova_sched] picks_key to the '
                    'same secret text on all scheduler hosts (%s)',
                    self._why_no_key)
            self._has_key = False
            return
        self._has_key = True
        self._sent += 1
        try:
            self._say(self._signer.sign(self._host, {
                'host': self._host, 'author': self._author,
                'number': self._sent, 'at': self._clock(), 'to': to,
                'heard': last_received, 'asks': any(map(_has_members, news)),
                **picks_on_wire.written(news)}))
        except Exception as error:
            self.log_failure(error)
            return
        if self._failing:
            self._failing = False
            LOG.info('Picks are published to other daemons again')

    def log_failure(self, error):
        """Log why sending or receiving fails; once until it works again."""
        if not self._failing:
            self._failing = True
            LOG.warning('Publishing picks to other daemons on this message '
                        'broker fails, and they may choose the same hosts; '
                        'further failures are not logged until it works '
                        'again: %r', error)

    # In the receiving thread.

    def receive(self, sent):
        """Process a message of a daemon: a JSON dict, or anything else."""
        try:
            message = self._signer.read(sent)
            author, number = message['author'], message['number']
            # A queue that is a stream starts with messages of the past.
            if author == self._author or (
                    message['at'] < min(self._began, self._clock() - OLD)):
                return
            self._check(message)
            news = picks_on_wire.read(message)
        except Rejected as reason:
            self._drop(sent, reason)
            return
        except Exception as error:
            self._drop(sent, f'it cannot be read: {error!r:.200}')
            return
        if author not in self._received:
            LOG.info('The daemon on host %.255s publishes its picks',
                     message['host'])
            self._new.append(author)
        self._received[author] = number, time.monotonic()
        self._missing.discard(author)
        if message['to'] is None or self._author in message['to']:
            for item in news:
                if item.assumed or item.forgotten:
                    self._workers.tell(item)
            if message['heard'] is not None:
                self._acknowledged[author] = max(
                    message['heard'], self._acknowledged.get(author, 0))
            if message['asks']:
                self._to_acknowledge[author] = number

    def _check(self, message):
        """Raise Rejected for a message that is late or repeated."""
        seconds = self._clock() - message['at']
        if not abs(seconds) <= OLD:
            raise Rejected(
                f'it is {seconds:.0f} seconds old by the clocks of both. Set '
                'the clocks, or find out why messages are delayed')
        last, _ = self._received.get(message['author'], (0, None))
        if not message['number'] > last:
            raise Rejected('it is repeated')
        if not all(math.isfinite(at) and -2 * OLD <= at - message['at'] <= 1
                   for at in picks_on_wire.moments(message)):
            raise Rejected('its picks are of another time')

    def _drop(self, sent, reason):
        """Count a dropped message; log at most one line a minute."""
        self._dropped += 1
        if time.monotonic() < self._next_line:
            return
        host = sent.get('host') if isinstance(sent, dict) else None
        LOG.warning('%d message(s) about picks are dropped; the last message '
                    'claims to be from host %.80r: %s', self._dropped, host,
                    reason)
        self._dropped = 0
        self._next_line = time.monotonic() + LINE_INTERVAL


def _published(news):
    """Return the part of a worker's news that other daemons need.

    Picks that Placement counts are left out.
    """
    return News([placed for placed in news.assumed
                 if not placed.claiming or placed.group is not None
                 or placed.takes_hardware],
                forgotten=news.forgotten)


def _has_members(news):
    """Return whether News contain members of server groups."""
    return any(placed.group is not None for placed in news.assumed)
