"""What the daemons of a deployment tell each other of their picks.

Each says what its workers have placed, and taken back, to all others on the
message broker, a few milliseconds after they have decided; nobody waits for
that, so two daemons may still choose the same host at the same moment, but
not for longer.  Workers of one service see each other's picks at once
(``shared_picks.py``), and by the same ring they see what is heard here.

Who is there is known by what is said: each says something every HELLO
seconds.  One who hears nobody says no more than that.  One who is new is told
what was placed of late.  What is said has a FORM, and one who says it in
another one is not listened to.
"""

import collections
import time

from oslo_log import log as logging

from nova_sched.inventory import picks_on_wire
from nova_sched.inventory.in_flight import News

LOG = logging.getLogger(__name__)

#: The number of the form in which daemons tell each other of picks.
FORM = 1

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

#: Seconds after which nothing more is to be told, once workers stop.
QUIET = 1

#: Causes of not listening that are remembered, to tell of each once.
CAUSES = 1000


class Peers:
    """The other daemons, as this one hears them.

    host: name of this host, for lines of their logs.
    author: text that no other daemon has.
    workers: shared_picks.Exchange with those of this service.
    say: function that tells the others a dict of JSON, and raises what it
        likes.
    clock: function that returns seconds since the epoch.
    """

    def __init__(self, host, author, workers, say, clock=time.time):
        self._host, self._author, self._workers = host, author, workers
        self._say, self._clock = say, clock
        # author -> when last heard, by time.monotonic().
        self._heard = {}
        # What was placed of late, oldest first: key -> InFlight.
        self._recent = collections.OrderedDict()
        # Those who are to be told of it.
        self._new = collections.deque()
        # Authors, and kinds of errors, that the log has told of.
        self._told_of = set()
        self._failing, self._began = False, clock()
        # Those of before, where it takes the place of one that was killed.
        self._remember(map(_published, workers.news()))

    @property
    def some(self):
        """Whether there are any."""
        return bool(self._heard)

    def run(self, stopping):
        """Tell others, until a threading.Event is set and all is told."""
        hello_at, told_at = 0, time.monotonic()
        while not stopping.is_set() or (
                self.some and time.monotonic() - told_at < QUIET):
            if self.tell_news() or not stopping.is_set():
                told_at = time.monotonic()
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
        while self._new:
            self._tell_recent(self._new.popleft())
        news = [*filter(any, map(_published, self._workers.news()))]
        self._remember(news)
        if not (news and self.some):
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
        return True

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

    def _tell_recent(self, author):
        """Tell one who is new what was placed of late, if anything."""
        self._forget_old()
        recent = list(self._recent.values())
        # One message at least: that it has somebody to tell.
        for start in range(0, len(recent) or 1, AT_ONCE):
            self._tell([News(recent[start:start + AT_ONCE])], author)

    def _forget_gone(self):
        now = time.monotonic()
        for author, heard in list(self._heard.items()):
            if now - heard > GONE:
                del self._heard[author]

    def _tell(self, news, to=None):
        """Say news to everybody, or to one alone."""
        try:
            self._say({
                'form': FORM, 'host': self._host, 'author': self._author,
                'at': self._clock(), 'to': to, **picks_on_wire.written(news)})
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

    def hear(self, said):
        """Take in what a daemon has said: a dict of JSON, or anything."""
        try:
            author, to = said['author'], said['to']
            if author == self._author or self._is_ignored(said):
                return
            if author not in self._heard:
                LOG.info('The daemon on host %s tells of its picks',
                         said['host'])
                self._new.append(author)
            self._heard[author] = time.monotonic()
            if to in (None, self._author):
                for news in picks_on_wire.read(said):
                    if any(news):
                        self._workers.tell(news)
        except Exception as error:
            if self._is_first(type(error)):
                LOG.warning('What a daemon tells of picks cannot be read: %r',
                            error)

    def _is_ignored(self, said):
        """Return whether what is said comes from one not to be listened to."""
        author, host = said['author'], said['host']
        if said['form'] != FORM:
            if self._is_first(author):
                LOG.warning(
                    'The daemon on host %(host)s tells of its picks in form '
                    '%(form)s, and this one knows form %(known)s: they do not '
                    'count here until both have the same release',
                    {'host': host, 'form': said['form'], 'known': FORM})
            return True
        seconds = self._clock() - said['at']
        if not abs(seconds) <= OLD:
            # A stream begins with what was said before.
            if said['at'] >= self._began and self._is_first(author):
                LOG.warning(
                    'What the daemon on host %(host)s tells of its picks is '
                    '%(seconds)d seconds old by the clocks of both, and does '
                    'not count here. Set the clocks, or see why messages wait',
                    {'host': host, 'seconds': seconds})
            return True
        self._told_of.discard(author)
        return False

    def _is_first(self, cause):
        """Return whether the log has not told of a cause yet."""
        if cause in self._told_of:
            return False
        if len(self._told_of) >= CAUSES:
            self._told_of.clear()
        self._told_of.add(cause)
        return True


def _published(news):
    """Return the part of a worker's news that other daemons need.

    What Placement counts is of no interest to them but for its server group.
    """
    return News([placed for placed in news.assumed
                 if not placed.claiming or placed.group is not None],
                forgotten=news.forgotten)
