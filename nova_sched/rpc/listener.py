"""What the service hears: requests as they come, ahead of its threads.

oslo.messaging's listener acknowledges a request when it reads it, so it must
not read what no thread is free for; while it waits for a thread it sends no
heartbeat either, and the broker closes the connection.  Here requests are
read as they come, at most ``rabbit_qos_prefetch_count`` of each queue, and
acknowledged once a thread is free for them.  What was not taken goes back to
the broker with the connection.  A call that the broker gives to somebody twice
is decided once (``taken_calls.py``).
"""

import collections
import time

from oslo_log import log as logging
from oslo_messaging._drivers import amqpdriver

from nova_sched.rpc import call_scope
from nova_sched.rpc import replies
from nova_sched.rpc.taken_calls import Holder
from nova_sched.rpc.taken_calls import TakenCalls

LOG = logging.getLogger(__name__)

#: Seconds that an idle listener waits for a message at a time.
IDLE = 0.5
#: Seconds between two looks at exchanges and bindings.
LOOK = 10
#: How many messages are read at a time while no thread is free.
AHEAD = 100
#: How many messages more may be in hand when no thread has been free for long,
#: and about their bytes.
FAR_AHEAD, AHEAD_BYTES = 250, 16 << 20
#: Bytes of a message that take the place of one more small one.
PLACE_BYTES = 64 << 10


class Request(amqpdriver.AMQPIncomingMessage):
    """A call or cast, acknowledged when it is taken to be worked on."""

    _taken = False

    @property
    def call_id(self):
        """The ids of a call as one text; None of one without, and of a cast.

        Both, as clients of somebody else may give one to many calls.
        """
        return (f'{self.orig_msg_id} {self.unique_id}'
                if self.orig_msg_id and self.unique_id else None)

    def take(self):
        """Acknowledge it, in the thread that reads requests.

        Returns False if it is somebody else's: the broker has it again, or a
        worker took it before.
        """
        self._taken = True
        return self.listener.take(self)

    @property
    def places(self):
        """How many small messages it takes the place of."""
        return 1 + self.message.size // PLACE_BYTES

    def fetch(self):
        """Have its arguments, in the thread that works on it."""
        self.message.fetch()

    def acknowledge(self):
        """Have it acknowledged, by a server that does not ``take`` it."""
        if not self._taken:
            self._message_operations_handler.do(self.take)

    def reply(self, reply=None, failure=None):
        """Send the reply, or leave it to the listener's ReplyRetrier.

        Undoes what the call has done if nobody is to get it.
        """
        if self.listener.contact.failures:
            # Nobody knows how long the reply waits for the broker.
            call_scope.run_after_reply()
        pending = replies.PendingReply()
        if self.orig_msg_id:
            self._send_reply(pending, reply, failure)
        # Nothing is written to a queue that was given up before.
        if pending.body is None:
            call_scope.reply_is_lost()
        else:
            self.listener.retrier.send(pending)
        if self.call_id:
            self.listener.note_answer(self, pending)


class Listener(amqpdriver.AMQPListener):
    """Where requests come in, and wait until they are taken.

    begun: tag of a consumer -> how often it has begun to consume.
    turned: when the loop has turned last, by time.monotonic().
    retrier: replies.ReplyRetrier.
    taken_calls: TakenCalls, by default of this process alone.
    contact: Contact with the broker, also when the connection is closed.
    """

    message_cls = Request

    def __init__(self, driver, conn):
        super().__init__(driver, conn)
        self.contact = conn.contact
        self.begun, self.turned = collections.Counter(), time.monotonic()
        # A round of all brokers may take long; the loop has not stopped.
        conn.tried = self._note_turn
        self.retrier = replies.ReplyRetrier(driver,
                                            self._obsolete_reply_queues.add)
        self.taken_calls = TakenCalls()
        self._answers = replies.SentReplies()
        self._next_look = self.turned + LOOK

    @property
    def stopping(self):
        return self._shutdown.is_set()

    def __call__(self, message):
        """Take in a message.Message as the request that it is."""
        if not message.is_answerable:
            LOG.warning(
                'A call to %(queue)s is dropped: its answer cannot be '
                'addressed, to _reply_q = %(reply)s for _msg_id = %(id)s',
                {'queue': message.routing_key,
                 'id': f'{message.get("_msg_id")!r:.80}',
                 'reply': f'{message.get("_reply_q")!r:.80}'})
            message.drop()
            return
        message.clean()
        message.seen = self.begun[message.consumer]
        address = message.address
        try:
            self._hear(message)
        except Exception as error:
            message.update(address)
            message.refuse(f'message: cannot be taken in: {error!r:.200}')
            self._hear(message)

    def _hear(self, message):
        unique_id = message.get('_unique_id')
        try:
            # The library's own look at it costs a traceback.
            self.msg_id_cache.check_duplicate_message(
                {'_unique_id': unique_id})
        except amqpdriver.rpc_common.DuplicateMessageError:
            LOG.debug('Message %s has come before', unique_id)
            message.acknowledge()
            return
        super().__call__(message)
        message.put_by()

    def take(self, request):
        """Acknowledge a request, which is this worker's then.

        Returns False if the broker has it again, or if it is a call that some
        worker took before.
        """
        message = request.message
        if message.seen != self.begun[message.consumer]:
            return False
        try:
            message.acknowledge()
        except Exception as error:
            LOG.info('A request goes back to the broker, which has closed '
                     'the connection: %s', error)
            return False
        if request.call_id is None:
            # A cast goes to each worker: it may come to each once.
            self.msg_id_cache.add(request.unique_id)
            return True
        # Not before, or who gets it from the broker would leave it alone.
        holder = self.taken_calls.take(request.call_id)
        if holder:
            self._leave(request, holder)
        return holder is None

    def _leave(self, request, holder):
        """Leave a call to the worker that took it before."""
        LOG.debug('Call %(id)s has come before, to %(holder)s',
                  {'id': request.unique_id, 'holder': holder.value})
        if holder is Holder.THIS_WORKER:
            answer = self._answers.get(request.call_id)
            if answer:
                self.retrier.send_again(answer)

    def note_answer(self, request, answer):
        """Note that a call is answered, and keep the answer for a while.

        answer: replies.PendingReply.
        """
        self._answers.keep(request.call_id, answer)
        self.taken_calls.answered(request.call_id)

    def poll(self, timeout=None, batch_size=1, batch_timeout=None):
        """Wait for a request: list of one, or of none once it is stopped."""
        while not self.stopping:
            self._turn()
            if self.incoming:
                return [self.incoming.pop(0)]
            self._read(IDLE)
        self._shutoff.set()
        return []

    def look(self, taken):
        """Read what has come, while no thread is free.

        taken: function of a request, whether it can do without one.
        """
        self._turn()
        for _ in range(AHEAD):
            # Each may take a while; that is no loop which has stopped.
            self.turned = time.monotonic()
            if not self._read(0.001):
                break
        self.incoming[:] = [request for request in self.incoming
                            if not taken(request)]

    def read_ahead(self, wanted):
        """Read far ahead for pings, which wait behind calls, or do no more.

        Not as far where calls are large.
        """
        largest = max((request.message.size for request in self.incoming),
                      default=1)
        self.conn.read_ahead(min(FAR_AHEAD, AHEAD_BYTES // largest)
                             if wanted else 0)

    def _read(self, seconds):
        """Return whether there was something to read within a time."""
        try:
            self.conn.consume(timeout=seconds)
            return True
        except amqpdriver.rpc_common.Timeout:
            return False
        finally:
            self.conn.note_alive()

    def _note_turn(self):
        self.turned = time.monotonic()

    def _turn(self):
        self._note_turn()
        self._message_operations_handler.process()
        if self.turned > self._next_look:
            self._next_look = self.turned + LOOK
            self.conn.bind_again()
