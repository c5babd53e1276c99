"""An RPC server that loses no request when it stops.

oslo.messaging acknowledges a request when it arrives, before anything works
on it. Two consequences of that are put right here, and seven more things:

- A server that stops closes its connection only after its last answer, and
  requests that are delivered while it closes are acknowledged and forgotten
  (measured: of 50 requests a second for four workers, stopping two of them
  lost 31). Here a stop closes the connection at once, so that the broker
  gives what was not acknowledged to other workers, and works on what was.
- A server acknowledges as many requests as come, however many wait for a
  thread, and all of them are lost if its process dies. Here a request is
  taken only when a thread is free for it; what waits beyond
  ``[oslo_messaging_rabbit] rabbit_qos_prefetch_count`` requests (0: any
  number) waits at the broker, where other workers find it.
- An idle server looks only every five seconds whether it shall stop.
- A reply whose queue is gone is given up after a while, and whoever made it
  does not learn of that. Here what the call has done is undone
  (``answers.py``), and what a message has done that wants no reply.
- The time that a missing reply queue is waited for runs while the broker is
  away, and callers may find it later than the service does. After an outage
  that is longer the first try is the last, and for a minute whatever else
  that caller is sent is thrown away. Here the time begins when the broker is
  back.
- Keepalives for the caller end when an endpoint has answered, so those of a
  call that no endpoint takes never would. Here they end with any reply.
- They also end with the first that finds no reply queue. Here they are tried
  again until the call is over.
- A / in a user or a password of ``transport_url``, written %2F, would end the
  host's name there. Here it is part of them.
- The caller of a call whose result or error is no JSON would get no answer,
  and wait for its whole time-out. Here it gets an error that says so.

Of what oslo.messaging keeps to itself, all but options is touched in this
module alone, and ``requirements.txt`` bounds its version for it:
``_drivers.amqpdriver``; ``parse`` of ``_drivers.impl_rabbit``; of a server
``_create_listener``, ``_on_incoming``, ``_process_incoming`` and
``_work_executor``; of a listener ``_poll_style_listener`` and
``message_cls``; of a dispatcher ``_watchdog``; of a message
``orig_msg_id``, ``reply_q``, ``_send_reply`` and ``_obsolete_reply_queues``
with its ``_cache``.
"""

import functools
import threading
import time
import traceback
import types
from urllib import parse

from oslo_log import log as logging
import oslo_messaging as messaging
from oslo_messaging._drivers import amqpdriver
from oslo_messaging._drivers import impl_rabbit
from oslo_messaging.rpc import dispatcher
from oslo_messaging.rpc import server

from nova_sched.rpc import answers

LOG = logging.getLogger(__name__)

# Seconds; what an idle server waits for at a time, at most.
amqpdriver.ACK_REQUEUE_EVERY_SECONDS_MAX = 0.5

# What it writes URLs for kombu with, of users and passwords alone.
impl_rabbit.parse = types.SimpleNamespace(
    quote=functools.partial(parse.quote, safe=''))

# Seconds that oslo.messaging waits between two tries to send a reply.
_PAUSE = 0.25

# Seconds between two tries to tell a caller that its call is worked on.
_AGAIN = 1


class _BrokerBackError(Exception):
    """A try to send a reply had to wait for the broker first."""


class _Message(amqpdriver.AMQPIncomingMessage):
    """A request whose caller has its time to come back with the broker."""

    def reply(self, reply=None, failure=None):
        while True:
            self._tried = time.monotonic()
            try:
                return super().reply(reply, failure)
            except _BrokerBackError:
                LOG.debug('The broker is back, the caller that waits for '
                          'reply %s is not yet', self.msg_id)

    def _send_reply(self, conn, reply=None, failure=None, ending=True):
        try:
            super()._send_reply(conn, reply, failure, ending)
        except messaging.MessageUndeliverable:
            if ending and self._waited():
                raise _BrokerBackError from None
            raise

    def _waited(self):
        """Whether the last try took half of the time for all, or more."""
        before, self._tried = self._tried, time.monotonic()
        patience = self.listener.driver.missing_destination_retry_timeout
        return patience > 0 and (
            self._tried - before - _PAUSE > max(patience / 2, 1))


amqpdriver.RpcAMQPListener.message_cls = _Message


class Dispatcher(dispatcher.RPCDispatcher):
    """Hands messages to endpoints; to be given to ``Server``."""

    def _watchdog(self, event, incoming):
        incoming.ends(event)
        super()._watchdog(event, incoming)


class Server(server.RPCServer):
    """An RPC server of a transport, a target and a ``Dispatcher``."""

    def __init__(self, transport, target, dispatcher):
        super().__init__(transport, target, dispatcher)
        self._free = threading.Semaphore(self.conf.executor_thread_pool_size)

    def _create_listener(self):
        return _Listener(super()._create_listener())

    def _on_incoming(self, incoming):
        self._free.acquire()
        work = self._work_executor.submit(
            self._process, [_Answered(message) for message in incoming])
        work.add_done_callback(lambda _: self._free.release())

    def _process(self, incoming):
        answers.begin()
        try:
            self._process_incoming(incoming)
        finally:
            # A thread that waits for its next call keeps nothing of this one.
            answers.begin()


class _Answered:
    """An incoming message that knows what comes of its reply."""

    def __init__(self, message):
        self._message = message
        self._replied, self._over = False, None

    def __getattr__(self, name):
        return getattr(self._message, name)

    def ends(self, over):
        """Have an Event set as soon as there is a reply to be sent.

        over: whoever sets it before has no need of further keepalives.
        """
        self._over = over
        if self._replied:
            over.set()

    def heartbeat(self):
        """Tell the caller that its call is worked on, once that arrives."""
        while not self._over.is_set():
            try:
                return self._message.heartbeat()
            except messaging.MessageDeliveryFailure as error:
                LOG.debug('Caller is not told that call %s is worked on: '
                          '%s', self._message.msg_id, error)
            self._over.wait(_AGAIN)

    def reply(self, reply=None, failure=None):
        self._replied = True
        if self._over:
            self._over.set()
        try:
            self._send(reply, failure)
        except BaseException:
            answers.lost()
            raise
        if not self._delivered():
            answers.lost()

    def _send(self, reply, failure):
        try:
            self._message.reply(reply, failure)
        except (TypeError, ValueError, RecursionError) as error:
            # A plug-in's error, or a driver's answer, may hold anything.
            LOG.exception('What came of a call cannot be sent as JSON; its '
                          'caller gets a RuntimeError instead')
            if failure is None:
                answers.lost()
            self._message.reply(failure=_as_text(
                error if failure is None else failure[1]))

    def _delivered(self):
        message = self._message
        if not isinstance(message, amqpdriver.AMQPIncomingMessage):
            return True
        return bool(message.orig_msg_id) and (
            message.reply_q not in message._obsolete_reply_queues._cache)


def _as_text(error):
    """The failure that says of an error what can be said in any case."""
    told = RuntimeError(''.join(
        traceback.format_exception_only(error)).strip())
    return type(told), told, error.__traceback__


class _Listener:
    """A listener whose ``stop`` also does the work of ``cleanup``."""

    def __init__(self, listener):
        self._listener = listener

    def start(self, on_incoming):
        self._on_incoming = on_incoming
        self._listener.start(on_incoming)

    def stop(self):
        self._listener.stop()
        self._listener.cleanup()
        arrived = self._listener._poll_style_listener
        while incoming := arrived.poll(batch_size=1):
            self._on_incoming(incoming)

    def cleanup(self):
        """Nothing: ``stop`` has closed the connection."""
