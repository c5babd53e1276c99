"""Replies to callers that may be gone.

``[oslo_messaging_rabbit] kombu_missing_consumer_retry_timeout`` limits how
long a reply waits for a missing queue.  In oslo.messaging the thread of the
call waits, so that calls of dead callers can block all threads.  A timeout of
0 would lose the replies to callers that reconnect to a restarted broker later
than the service does.  Here the thread sends once, and passes a reply without
a queue to ``ReplyRetrier``, whose one thread retries it.  Also,

- the time counts only while the broker is reachable;
- a call is undone once its reply is abandoned (``call_scope.py``).
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

#: Seconds between two attempts to send to a missing queue.
PAUSE = 0.25
#: Maximum number and total bytes of waiting replies; beyond, the replies to
#: the queue missing for the longest time are abandoned.
MAX_REPLIES, MAX_BYTES = 1000, 64 << 20
#: Seconds that a stop waits for missing queues, and for the end of a running
#: attempt: its call is undone only if the attempt fails.
GRACE, LAST_TRY = 3, 3

# The driver's errors for a missing queue.
_MISSING = (messaging.MessageUndeliverable,
            amqpdriver.rpc_amqp.AMQPDestinationNotFound)


class PendingReply:
    """A reply in its wire form, passed to oslo.messaging as a connection.

    queue: name of its queue.
    body: the message, None until oslo.messaging sends it.
    undo: functions to call if it is not delivered.
    """

    body, undo = None, ()

    def direct_send(self, queue, body):
        self.queue, self.body = queue, body


class _MissingQueue:
    """The replies to a queue that is missing, oldest first.

    deadline: time when they are abandoned, by time.monotonic().
    reason: text, once they are abandoned.
    """

    reason = None

    def __init__(self, timeout):
        self.replies = collections.deque()
        self.deadline = time.monotonic() + timeout


class ReplyRetrier:
    """Sends the replies of a listener, and retries if a queue is missing.

    driver: of oslo.messaging.
    on_abandoned: function of the name of an abandoned queue, and of a text
        that describes its calls.
    """

    def __init__(self, driver, on_abandoned):
        self._driver, self._on_abandoned = driver, on_abandoned
        self._missing, self._lock = {}, threading.Lock()
        self._thread = None
        self._undoing = futures.ThreadPoolExecutor(1, 'undo')

    def send(self, reply):
        """Send a reply of this thread's call, or keep it for retries."""
        if reply.queue in self._missing or not self._try_send(reply):
            self._keep(reply)

    def close(self, seconds):
        """Stop, and abandon the replies that still wait after a time."""
        with self._lock:
            thread = self._thread
        if thread:
            thread.join(seconds)
        for queue in list(self._missing):
            self._abandon(queue, 'the service stops')
        if thread:
            thread.join(LAST_TRY)
        self._undoing.shutdown()

    def _try_send(self, reply):
        """Send a reply; return False if its queue is missing."""
        try:
            with self._driver._get_connection(
                    amqpdriver.rpc_common.PURPOSE_SEND) as connection:
                connection.direct_send(reply.queue, reply.body)
            return True
        except _MISSING as error:
            LOG.debug('A reply to %(queue)s finds no queue: %(error)s',
                      {'queue': reply.queue, 'error': error})
            return False

    def _keep(self, reply):
        """Keep a reply of this thread's call until it is sent or abandoned.

        Raises RuntimeError, and keeps nothing, if no thread can be started.
        """
        with self._lock:
            if self._thread is None:
                self._thread = threads.start('replies', self._retry)
            reply.undo = call_scope.take_undo()
            if reply.queue not in self._missing:
                self._missing[reply.queue] = _MissingQueue(
                    self._driver.missing_destination_retry_timeout)
            self._missing[reply.queue].replies.append(reply)
        while queue := self._oldest_beyond_limits():
            self._abandon(queue, 'too many replies wait for their queues')

    def _oldest_beyond_limits(self):
        """Return the first missing queue if too many replies wait, or None."""
        with self._lock:
            sizes = [len(reply.body['oslo.message'])
                     for missing in self._missing.values()
                     for reply in missing.replies]
            if len(sizes) > MAX_REPLIES or sum(sizes) > MAX_BYTES:
                return next(iter(self._missing))
        return None

    def _retry(self):
        """Retry all queues until no reply waits."""
        while self._has_replies():
            time.sleep(PAUSE)
            for queue, missing in list(self._missing.items()):
                began = time.monotonic()
                try:
                    self._send_all(queue, missing)
                except Exception:
                    LOG.exception('Cannot send a reply to %s yet', queue)
                waited = time.monotonic() - began
                if waited > 1:
                    # For the broker: this time does not count.
                    for other in list(self._missing.values()):
                        other.deadline += waited
                if time.monotonic() > missing.deadline:
                    self._abandon(queue, 'it is missing')

    def _has_replies(self):
        """Return whether replies wait; if not, this thread ends."""
        with self._lock:
            if not self._missing:
                self._thread = None
            return bool(self._missing)

    def _send_all(self, queue, missing):
        """Send the replies to a queue until one finds it missing."""
        while reply := self._next(queue, missing):
            sent = False
            try:
                sent = self._try_send(reply)
            finally:
                if not sent:
                    self._put_back(queue, missing, reply)
            if not sent:
                return

    def _next(self, queue, missing):
        """Remove and return the next reply to a queue, or None.

        A queue without replies is no longer missing.
        """
        with self._lock:
            if missing.replies:
                return missing.replies.popleft()
            if self._missing.get(queue) is missing:
                del self._missing[queue]
            return None

    def _put_back(self, queue, missing, reply):
        """Put back a reply that was not sent, unless its queue is abandoned.
        """
        with self._lock:
            if self._missing.get(queue) is missing:
                missing.replies.appendleft(reply)
                return
        self._undo_calls(queue, [reply], missing.reason)

    def _abandon(self, queue, reason):
        """Abandon the replies to a queue, if there are any."""
        with self._lock:
            missing = self._missing.pop(queue, None)
            lost = list(missing.replies) if missing else []
            if missing:
                missing.reason = reason
                missing.replies.clear()
        if lost:
            self._undo_calls(queue, lost, reason)

    def _undo_calls(self, queue, lost, reason):
        LOG.warning('Abandoning %(count)d replies to %(queue)s, and undoing '
                    'their calls: %(reason)s',
                    {'count': len(lost), 'queue': queue, 'reason': reason})
        self._on_abandoned(queue, 'all of its calls')
        for reply in lost:
            try:
                self._undoing.submit(_undo, reply)
            except RuntimeError:
                # The executor is shut down, or has no thread: undo here; the
                # functions run once in either case.
                _undo(reply)


def _undo(reply):
    """Undo the call of a reply, once."""
    functions, reply.undo = reply.undo, ()
    call_scope.undo(functions)
