"""Replies on their way to callers that may be gone.

``[oslo_messaging_rabbit] kombu_missing_consumer_retry_timeout`` says how long
a reply waits for a queue that is missing, here as in oslo.messaging.  There
the thread that has worked on the call waits: as many calls of callers that
are gone as there are threads, and nobody else is answered.  A time-out of 0
would free the threads, but lose each reply whose caller finds a broker that
was restarted later than the service does.  So here that thread tries once.  A
reply without its queue goes to ``ReplyRetrier``, whose one thread tries it
again.  Two things more are not to be had by the option:

- the time runs while the broker is there, and begins when it is back;
- a call is undone once its reply is given up (``call_scope.py``).
"""

import collections
from concurrent import futures
import threading
import time

from oslo_log import log as logging
import oslo_messaging as messaging
from oslo_messaging._drivers import amqpdriver

from nova_sched.concurrency import threads
from nova_sched.rpc import call_scope

LOG = logging.getLogger(__name__)

#: Seconds between two tries to send a reply that finds no queue.
PAUSE = 0.25
#: How many replies wait for their queues, and how many bytes of them; beyond
#: that those to the queue that is waited for longest are given up.
MAX_REPLIES, MAX_BYTES = 1000, 64 << 20
#: How many replies that were sent are kept; a broker has at most as many
#: calls that are not acknowledged as a worker prefetches and works on.
MAX_SENT = 100
#: Seconds that a stop waits for missing queues, and for the end of a try that
#: has begun: what its call did is undone only if that fails.
GRACE, LAST_TRY = 3, 3

# How the driver says that a reply reaches nobody.
_MISSING = (messaging.MessageUndeliverable,
            amqpdriver.rpc_amqp.AMQPDestinationNotFound)


class PendingReply:
    """A reply in its wire form, given to oslo.messaging as a connection.

    queue: its name.
    body: what is to be sent, None as long as there is nothing.
    undo: functions to call if it is not delivered.
    """

    body, undo = None, ()

    def direct_send(self, queue, body):
        self.queue, self.body = queue, body

    @property
    def size(self):
        return len(self.body['oslo.message'])


class SentReplies:
    """The replies that were sent last, in case that a call comes again."""

    def __init__(self):
        self._lock, self._replies, self._size = threading.Lock(), {}, 0

    def keep(self, call_id, reply):
        """Keep a reply, if there is one, by the ids of its call."""
        if reply.body is None:
            return
        with self._lock:
            self._drop(call_id)
            self._replies[call_id] = reply
            self._size += reply.size
            while len(self._replies) > MAX_SENT or self._size > MAX_BYTES:
                self._drop(next(iter(self._replies)))

    def _drop(self, call_id):
        dropped = self._replies.pop(call_id, None)
        if dropped is not None:
            self._size -= dropped.size

    def get(self, call_id):
        """Return the reply to a call, or None."""
        with self._lock:
            return self._replies.get(call_id)


class _MissingQueue:
    """The replies to a queue that is missing, oldest first.

    deadline: when they are given up, by time.monotonic().
    why: why they were given up.
    """

    why = None

    def __init__(self, patience):
        self.replies = collections.deque()
        self.deadline = time.monotonic() + patience


class ReplyRetrier:
    """Sends the replies of a listener, again if their queue is missing.

    driver: of oslo.messaging.
    given_up: function of the name of a queue that is not waited for any
        more, and of a text that says which calls are meant.
    """

    def __init__(self, driver, given_up):
        self._driver, self._given_up = driver, given_up
        self._missing, self._lock = {}, threading.Lock()
        self._thread = None
        self._undoing = futures.ThreadPoolExecutor(1, 'undo')

    def send(self, reply):
        """Send a reply of this thread's call, or keep it with its undo."""
        if reply.queue in self._missing or not self._sent(reply):
            self._keep(reply, call_scope.take_undo)

    def send_again(self, reply):
        """Send a reply that was sent before, as its call has come again."""
        again = PendingReply()
        again.direct_send(reply.queue, reply.body)
        try:
            self._keep(again)
        except RuntimeError as error:
            LOG.warning('An answer to %(queue)s cannot be sent again: '
                        '%(error)s', {'queue': reply.queue, 'error': error})

    def close(self, seconds):
        """Give up what finds no queue within a time."""
        with self._lock:
            thread = self._thread
        if thread:
            thread.join(seconds)
        for queue in list(self._missing):
            self._give_up(queue, 'the service stops')
        if thread:
            thread.join(LAST_TRY)
        self._undoing.shutdown()

    def _sent(self, reply):
        """Return whether a reply was sent; False if its queue is missing."""
        try:
            with self._driver._get_connection(
                    amqpdriver.rpc_common.PURPOSE_SEND) as connection:
                connection.direct_send(reply.queue, reply.body)
            return True
        except _MISSING as error:
            LOG.debug('A reply to %(queue)s finds no queue: %(error)s',
                      {'queue': reply.queue, 'error': error})
            return False

    def _keep(self, reply, take_undo=tuple):
        """Keep a reply until it is sent or given up.

        take_undo: function that returns what undoes its call.
        Raises RuntimeError, and keeps nothing, if there is no thread for it.
        """
        with self._lock:
            if self._thread is None:
                self._thread = threads.start('replies', self._retry)
            reply.undo = take_undo()
            if reply.queue not in self._missing:
                self._missing[reply.queue] = _MissingQueue(
                    self._driver.missing_destination_retry_timeout)
            self._missing[reply.queue].replies.append(reply)
        while self._too_many():
            # None if others have made room meanwhile.
            self._give_up(next(iter(self._missing), None),
                          'too many replies wait for their queues')

    def _too_many(self):
        with self._lock:
            sizes = [reply.size for missing in self._missing.values()
                     for reply in missing.replies]
        return len(sizes) > MAX_REPLIES or sum(sizes) > MAX_BYTES

    def _retry(self):
        """Try all queues again and again, until no reply waits."""
        while self._any():
            time.sleep(PAUSE)
            for queue, missing in list(self._missing.items()):
                began = time.monotonic()
                try:
                    self._send_all(queue, missing)
                except Exception:
                    LOG.exception('A reply to %s is not sent yet', queue)
                self._prolong(time.monotonic() - began)
                if time.monotonic() > missing.deadline:
                    self._give_up(queue, 'it is missing')

    def _any(self):
        """Return whether replies wait; if not, another thread may begin."""
        with self._lock:
            if not self._missing:
                self._thread = None
            return bool(self._missing)

    def _send_all(self, queue, missing):
        """Send the replies to a queue until one finds it missing."""
        while reply := self._next(queue, missing):
            sent = False
            try:
                sent = self._sent(reply)
            finally:
                if not sent:
                    self._put_back(queue, missing, reply)
            if not sent:
                return
            # It may be kept for long, in case that its call comes again.
            reply.undo = ()

    def _next(self, queue, missing):
        """Return the reply to send next, which nobody gives up meanwhile.

        A queue without any is not missing any more.
        """
        with self._lock:
            if missing.replies:
                return missing.replies.popleft()
            if self._missing.get(queue) is missing:
                del self._missing[queue]
            return None

    def _put_back(self, queue, missing, reply):
        """Have a reply that was not sent wait on, or give it up, too."""
        with self._lock:
            if self._missing.get(queue) is missing:
                missing.replies.appendleft(reply)
                return
        self._abandon(queue, [reply], missing.why)

    def _prolong(self, took):
        """Do not count the time of a try that had to wait for the broker."""
        if took > 1:
            for missing in list(self._missing.values()):
                missing.deadline += took

    def _give_up(self, queue, why):
        with self._lock:
            missing = self._missing.pop(queue, None)
            lost = list(missing.replies) if missing else []
            if missing:
                missing.why = why
                missing.replies.clear()
        if lost:
            self._abandon(queue, lost, why)

    def _abandon(self, queue, lost, why):
        LOG.warning('Abandoning %(count)d replies to %(queue)s, and undoing '
                    'what their calls did: %(why)s',
                    {'count': len(lost), 'queue': queue, 'why': why})
        self._given_up(queue, 'all of its calls')
        for reply in lost:
            try:
                self._undoing.submit(_undo, reply)
            except RuntimeError:
                # It was shut down by a stop that did not wait for this one,
                # or has no thread, and does this once it has one.
                _undo(reply)


def _undo(reply):
    """Undo once what the call of a reply did."""
    functions, reply.undo = reply.undo, ()
    call_scope.undo(functions)
