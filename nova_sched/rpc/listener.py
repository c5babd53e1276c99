"""The listener: it prefetches requests, and acknowledges them when taken.

oslo.messaging's listener acknowledges a request when it reads it, so it must
not read while no thread is free.  Meanwhile it sends no heartbeat, and the
broker closes the connection.  Here at most ``rabbit_qos_prefetch_count``
requests of each queue are read at once, and each is acknowledged when a thread
is free for it.  Requests that were not taken are requeued when the connection
closes.  A call that the broker delivers twice is decided once
(``taken_calls.py``).
"""

import collections
import time

from oslo_log import log as logging
from oslo_messaging._drivers import amqpdriver

from nova_sched.rpc import call_scope
from nova_sched.rpc import replies
from nova_sched.rpc.taken_calls import TakenCalls

LOG = logging.getLogger(__name__)

#: Maximum seconds of one read in an idle listener.
IDLE = 0.5
#: Seconds between two checks of exchanges and bindings.
CHECK_INTERVAL = 10
#: Maximum number of messages per read while no thread is free.
AHEAD = 100
#: Bytes of a message that count as a further small message.
WEIGHT_BYTES = 64 << 10


class Request(amqpdriver.AMQPIncomingMessage):
    """A call or cast, acknowledged when a thread takes it."""

    _taken = False

    @property
    def call_id(self):
        """The ids of a call as one text; None for a cast, or without ids.

        Third-party clients may use either id for several calls.
        """
        return (f'{self.orig_msg_id} {self.unique_id}'
                if self.orig_msg_id and self.unique_id else None)

    def take(self):
        """Acknowledge it, in the thread that reads requests.

        Returns False if the broker has requeued it, or a worker took it
        before.
        """
        self._taken = True
        return self.listener.take(self)

    @property
    def weight(self):
        """The number of small messages that it counts as."""
        return 1 + self.message.size // WEIGHT_BYTES

    def load(self):
        """Decode its arguments, in the thread that processes it."""
        self.message.load()

    def acknowledge(self):
        """Acknowledge it for a server that does not call ``take``."""
        if not self._taken:
            self._message_operations_handler.do(self.take)

    def reply(self, reply=None, failure=None):
        """Send the reply, or pass it to the listener's ReplyRetrier.

        Undoes the call if no caller gets the reply.
        """
        if self.listener.contact.failures:
            # The reply may wait long for the broker.
            call_scope.run_after_reply()
        pending = replies.PendingReply()
        if self.orig_msg_id:
            self._send_reply(pending, reply, failure)
        # The library sends no reply to a queue that was abandoned before.
        if pending.body is None:
            call_scope.reply_is_lost()
        else:
            self.listener.retrier.send(pending)
        if self.call_id:
            self.listener.taken_calls.answered(self.call_id)


class Listener(amqpdriver.AMQPListener):
    """A listener whose requests wait until they are taken.

    subscriptions: tag of a consumer -> number of its subscriptions so far.
    polled_at: time of the last poll, by time.monotonic().
    retrier: replies.ReplyRetrier.
    taken_calls: TakenCalls, by default of this process only.
    contact: Contact with the broker; valid after the connection is closed.
    """

    message_cls = Request

    def __init__(self, driver, conn):
        super().__init__(driver, conn)
        self.contact = conn.contact
        self.subscriptions = collections.Counter()
        self._note_poll()
        # A round of all brokers may take long without being a hung loop.
        conn.on_failed_attempt = self._note_poll
        self.retrier = replies.ReplyRetrier(driver,
                                            self._obsolete_reply_queues.add)
        self.taken_calls = TakenCalls()
        self._next_check = self.polled_at + CHECK_INTERVAL

    @property
    def stopping(self):
        return self._shutdown.is_set()

    def __call__(self, message):
        """Accept a message.Message as a request."""
        if not message.is_answerable:
            LOG.warning(
                'A call to %(queue)s is dropped: its reply address is '
                'invalid: _reply_q = %(reply)s, _msg_id = %(id)s',
                {'queue': message.routing_key,
                 'id': f'{message.get("_msg_id")!r:.80}',
                 'reply': f'{message.get("_reply_q")!r:.80}'})
            message.drop()
            return
        message.clean()
        message.subscription = self.subscriptions[message.consumer]
        address = message.address
        try:
            self._accept(message)
        except Exception as error:
            message.update(address)
            message.refuse(f'message: cannot be read: {error!r:.200}')
            self._accept(message)

    def _accept(self, message):
        unique_id = message.get('_unique_id')
        try:
            # The check in the library's listener would log a traceback.
            self.msg_id_cache.check_duplicate_message(
                {'_unique_id': unique_id})
        except amqpdriver.rpc_common.DuplicateMessageError:
            LOG.debug('Message %s is a duplicate', unique_id)
            message.acknowledge()
            return
        super().__call__(message)
        message.defer_arguments()

    def take(self, request):
        """Acknowledge a request; return whether this worker processes it.

        Returns False if the broker has requeued it, or if a worker took the
        call before.
        """
        message = request.message
        if message.subscription != self.subscriptions[message.consumer]:
            return False
        try:
            message.acknowledge()
        except Exception as error:
            LOG.info('A request is requeued: the broker closed the '
                     'connection: %s', error)
            return False
        if request.call_id is None:
            # A cast goes to all workers, so only this worker's duplicates are
            # ignored.
            self.msg_id_cache.add(request.unique_id)
            return True
        # After the acknowledgement: if that fails, the broker delivers the
        # call to another worker, which must not find it taken.
        is_new = self.taken_calls.take(request.call_id)
        if not is_new:
            LOG.debug('Call %s is a duplicate', request.unique_id)
        return is_new

    def poll(self, timeout=None, batch_size=1, batch_timeout=None):
        """Wait for a request: list of one; empty once stopped."""
        while not self.stopping:
            self._process_due()
            if self.incoming:
                return [self.incoming.pop(0)]
            self._read(IDLE)
        self._shutoff.set()
        return []

    def read_available(self, try_take):
        """Read the available messages while no thread is free.

        try_take: function of a request; returns whether it took the request.
        """
        self._process_due()
        for _ in range(AHEAD):
            # Many messages may take long without being a hung loop.
            self._note_poll()
            if not self._read(0.001):
                break
        self.incoming[:] = [request for request in self.incoming
                            if not try_take(request)]

    def _read(self, seconds):
        """Read within a time; return whether there was a message."""
        try:
            self.conn.consume(timeout=seconds)
            return True
        except amqpdriver.rpc_common.Timeout:
            return False
        finally:
            self.conn.note_alive()

    def _note_poll(self):
        self.polled_at = time.monotonic()

    def _process_due(self):
        """Acknowledge messages for other threads; check bindings if due."""
        self._note_poll()
        self._message_operations_handler.process()
        if self.polled_at > self._next_check:
            self._next_check = self.polled_at + CHECK_INTERVAL
            self.conn.bind_again()
