"""Replies on their way to callers that may be gone.

In oslo.messaging the thread that has worked on a call waits for the caller's
queue, a minute long, if it is missing: as many such calls as there are
threads, and nobody else is answered.  Here that thread tries once.  A reply
without its queue goes to ``Letters``, whose one thread tries it again, and
has undone what the call did once it is given up (``undo.py``).

The time of a missing queue runs while the broker is there: callers may find
it later than the service does, and the time begins when it is back.
"""

import collections
from concurrent import futures
import threading
import time

from oslo_log import log as logging
import oslo_messaging as messaging
from oslo_messaging._drivers import amqpdriver

from nova_sched.rpc import undo

LOG = logging.getLogger(__name__)

#: Seconds between two tries to send a reply that finds no queue.
PAUSE = 0.25
#: How many replies wait for their queues, and how many bytes of them; beyond
#: that those of the caller that has waited longest are given up.
LETTERS, LETTER_BYTES = 1000, 64 << 20
#: Seconds that a stop waits for callers' queues, and for the end of a try that
#: has begun: what its call did is undone only if that fails.
GRACE, LAST_TRY = 3, 3

# How the driver says that a reply reaches nobody.
_MISSING = (messaging.MessageUndeliverable,
            amqpdriver.rpc_amqp.AMQPDestinationNotFound)


class Letter:
    """A reply in its wire form; taken down where a connection is expected.

    body: what is sent, None as long as there is nothing.
    undo: functions to call if it does not arrive.
    """

    body, undo = None, ()

    def direct_send(self, queue, body):
        self.queue, self.body = queue, body

    @property
    def size(self):
        return len(self.body['oslo.message'])


class _Caller:
    """The letters to one queue, oldest first, and how long they may wait.

    why: why they are not waited for any more.
    """

    why = None

    def __init__(self, patience):
        self.letters = collections.deque()
        self.deadline = time.monotonic() + patience


class Letters:
    """Sends replies; one thread a listener has those that find no queue.

    driver: of oslo.messaging.
    given_up: function of the name of a queue that is not waited for any
        more, and of a text that says which calls are meant.
    """

    def __init__(self, driver, given_up):
        self._driver, self._given_up = driver, given_up
        self._callers, self._lock = {}, threading.Lock()
        self._thread = None
        self._undoing = futures.ThreadPoolExecutor(1, 'undo')

    def send(self, letter):
        """Send a reply, or keep it, and what is to be undone with it."""
        if letter.queue in self._callers or not self._sent(letter):
            letter.undo = undo.take()
            self._keep(letter)

    def close(self, seconds):
        """Give up what finds no queue within a time."""
        with self._lock:
            thread = self._thread
        if thread:
            thread.join(seconds)
        for queue in list(self._callers):
            self._give_up(queue, 'the service stops')
        if thread:
            thread.join(LAST_TRY)
        self._undoing.shutdown()

    def _sent(self, letter):
        try:
            with self._driver._get_connection(
                    amqpdriver.rpc_common.PURPOSE_SEND) as connection:
                connection.direct_send(letter.queue, letter.body)
            return True
        except _MISSING as error:
            LOG.debug('A reply to %(queue)s finds no queue: %(error)s',
                      {'queue': letter.queue, 'error': error})
            return False

    def _keep(self, letter):
        with self._lock:
            if letter.queue not in self._callers:
                self._callers[letter.queue] = _Caller(
                    self._driver.missing_destination_retry_timeout)
            self._callers[letter.queue].letters.append(letter)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._deliver, name='replies', daemon=True)
                self._thread.start()
        while self._too_many():
            # None if others have made room meanwhile.
            self._give_up(next(iter(self._callers), None),
                          'too many replies wait for their queues')

    def _too_many(self):
        with self._lock:
            letters = [letter for caller in self._callers.values()
                       for letter in caller.letters]
        return (len(letters) > LETTERS
                or sum(letter.size for letter in letters) > LETTER_BYTES)

    def _deliver(self):
        while self._any():
            time.sleep(PAUSE)
            for queue, caller in list(self._callers.items()):
                began = time.monotonic()
                try:
                    self._hand_over(queue, caller)
                except Exception:
                    LOG.exception('A reply to %s is not sent yet', queue)
                self._prolong(time.monotonic() - began)
                if time.monotonic() > caller.deadline:
                    self._give_up(queue, 'it is missing')

    def _any(self):
        """Whether letters wait; ends the thread that asks if none do."""
        with self._lock:
            if not self._callers:
                self._thread = None
            return bool(self._callers)

    def _hand_over(self, queue, caller):
        """Send the letters to a queue until one finds it missing."""
        while letter := self._next(queue, caller):
            sent = False
            try:
                sent = self._sent(letter)
            finally:
                if not sent:
                    self._put_back(queue, caller, letter)
            if not sent:
                return

    def _next(self, queue, caller):
        """The letter to be sent next; without any, the caller is forgotten.

        Nobody else has it from then on, so it is not given up on its way.
        """
        with self._lock:
            if caller.letters:
                return caller.letters.popleft()
            if self._callers.get(queue) is caller:
                del self._callers[queue]
            return None

    def _put_back(self, queue, caller, letter):
        """Have a letter that was not sent wait on, or give it up, too."""
        with self._lock:
            if self._callers.get(queue) is caller:
                caller.letters.appendleft(letter)
                return
        self._abandon(queue, [letter], caller.why)

    def _prolong(self, took):
        """Do not count the time of a try that had to wait for the broker."""
        if took > 1:
            for caller in list(self._callers.values()):
                caller.deadline += took

    def _give_up(self, queue, why):
        with self._lock:
            caller = self._callers.pop(queue, None)
            lost = list(caller.letters) if caller else []
            if caller:
                caller.why = why
                caller.letters.clear()
        if lost:
            self._abandon(queue, lost, why)

    def _abandon(self, queue, lost, why):
        LOG.warning('Abandoning %(count)d replies to %(queue)s, and undoing '
                    'what their calls did: %(why)s',
                    {'count': len(lost), 'queue': queue, 'why': why})
        self._given_up(queue, 'all of its calls')
        for letter in lost:
            try:
                self._undoing.submit(undo.undo, letter.undo)
            except RuntimeError:
                # It was shut down by a stop that did not wait for this one.
                undo.undo(letter.undo)


class Request(amqpdriver.AMQPIncomingMessage):
    """A call or cast that is acknowledged when it is worked on."""

    def take(self):
        """Acknowledge it; False if the broker gives it to somebody again."""
        return self.listener.take(self)

    def reply(self, reply=None, failure=None):
        if not self.orig_msg_id:
            return
        letter = Letter()
        self._send_reply(letter, reply, failure)
        # Nothing is written to a queue that was given up before.
        if letter.body is not None:
            self.listener.letters.send(letter)
