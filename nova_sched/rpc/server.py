"""An RPC server that loses no request, and none of whose callers costs more.

oslo.messaging acknowledges a request when it arrives, before anything works
on it. Two consequences of that are put right here, and more beside them:

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
- While no thread is free nothing is read, no heartbeat is sent, and no ping
  is answered. Here the loop goes on (``listener.py``), and pings have a
  thread in reserve.
- A server looks only every five seconds whether it shall stop, and a client,
  too.
- A reply whose queue is gone keeps the thread that made it, and is given up
  after a while, and nobody learns of that. Here it waits elsewhere
  (``replies.py``); what the call has done is undone (``undo.py``), and
  what a message has done that wants no reply.
- Keepalives for the caller end when an endpoint has answered, so those of a
  call that no endpoint takes never would. Here they end with any reply.
- They also end with the first that finds no reply queue. Here they are tried
  again until the call is over.
- A method or a version that is no text, or arguments that are no mapping, are
  errors of the dispatcher itself. Here the caller is told what is wrong with
  them; and that there is no such method or version is no error of this
  service, and is logged in a line.
- A / in a user or a password of ``transport_url``, written %2F, would end the
  host's name there. Here it is part of them.
- The caller of a call whose result or error is no JSON would get no answer,
  and wait for its whole time-out. Here it gets an error that says so.

Of what oslo.messaging keeps to itself, all but options is touched in this
module, ``listener.py`` and ``replies.py`` alone, and ``requirements.txt``
bounds its version for them: ``_drivers.amqpdriver``, ``_drivers.impl_rabbit``
with its ``parse``, ``Consumer`` and ``RabbitMessage``; of a server
``_create_listener``, ``_on_incoming``, ``_process_incoming`` and
``_work_executor``; of a listener ``_poll_style_listener``, ``message_cls``,
``_shutdown`` and ``_shutoff``; of a driver ``_get_connection``; of a
connection ``_consumers``, ``_new_tags`` and ``_set_current_channel``; of a
dispatcher ``_watchdog``; of a message ``_raw_message``, ``orig_msg_id``,
``reply_q``, ``_send_reply`` and ``_obsolete_reply_queues`` with its
``_cache``.
"""

from concurrent import futures
import functools
import re
import threading
import traceback
import types
from urllib import parse

from oslo_log import log as logging
import oslo_messaging as messaging
from oslo_messaging._drivers import amqpdriver
from oslo_messaging._drivers import impl_rabbit
from oslo_messaging.rpc import dispatcher
from oslo_messaging.rpc import server

from nova_sched import context
from nova_sched import exception
from nova_sched.rpc import listener as listeners
from nova_sched.rpc import replies
from nova_sched.rpc import undo

LOG = logging.getLogger(__name__)

# Seconds; what an idle client waits for at a time, at most.
amqpdriver.ACK_REQUEUE_EVERY_SECONDS_MAX = listeners.IDLE

# What it writes URLs for kombu with, of users and passwords alone.
impl_rabbit.parse = types.SimpleNamespace(
    quote=functools.partial(parse.quote, safe=''))

# Seconds between two looks at the broker while no thread is free.
_TURN = 0.25

# How many pings may wait for the thread in reserve.
_PINGS = 16

# Seconds between two tries to tell a caller that its call is worked on.
_AGAIN = 1

_VERSION = re.compile(r'\d{1,9}\.\d{1,9}(\.\d{1,9})?', re.ASCII)


class OnlyCalls(dispatcher.DefaultRPCAccessPolicy):
    """Who calls may call what an endpoint names in CALLS, and nothing else.

    An endpoint without CALLS is all public, as the library has it.
    """

    def is_allowed(self, endpoint, method):
        """Whether a method of an endpoint may be called."""
        calls = getattr(endpoint, 'CALLS', None)
        return super().is_allowed(endpoint, method) and (
            calls is None or method in calls)


class Dispatcher(dispatcher.RPCDispatcher):
    """Hands messages to endpoints; to be given to ``Server``."""

    def dispatch(self, incoming):
        """What an endpoint returns.

        Raises ExpectedException for a message that no endpoint takes.
        """
        # Lines about it are its sender's also where no endpoint takes it.
        self.serializer.deserialize_context(incoming.ctxt)
        try:
            _check(incoming.message)
            return super().dispatch(incoming)
        except (exception.InvalidInput, dispatcher.NoSuchMethod,
                dispatcher.UnsupportedVersion, TypeError) as error:
            if isinstance(error, TypeError) and not _is_of_the_call(error):
                raise
            LOG.warning('A message is refused: %s', error)
            raise dispatcher.ExpectedException from None

    def _watchdog(self, event, incoming):
        incoming.ends(event)
        super()._watchdog(event, incoming)


def _check(message):
    """Raise InvalidInput for a message that no client can have made."""
    if refused := getattr(message, 'refused', None):
        raise exception.InvalidInput(reason=refused)
    version = message.get('version', '1.0')
    for name, right, wanted in (
            ('method', isinstance(message.get('method'), str), 'a text'),
            ('version', isinstance(version, str)
             and _VERSION.fullmatch(version), 'a text such as 4.5'),
            ('args', isinstance(message.get('args', {}), dict),
             'an object')):
        if not right:
            raise exception.InvalidInput(
                reason=f'{name} = {message.get(name)!r:.80}: must be '
                       f'{wanted}')


def _is_of_the_call(error):
    """Whether a method was called with arguments that it does not have.

    Then no frame of the method's own stands in the traceback.
    """
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_globals['__name__'].startswith('oslo_messaging.')


def _is_ping(message):
    """Whether an incoming message asks for nothing but a sign of life."""
    content = message.message
    return (content.get('namespace') == 'baseapi'
            or content.get('method') == 'oslo_rpc_server_ping')


class Server(server.RPCServer):
    """An RPC server of a transport, a target and a ``Dispatcher``."""

    def __init__(self, transport, target, dispatcher):
        super().__init__(transport, target, dispatcher)
        self._free = threading.Semaphore(self.conf.executor_thread_pool_size)
        self._reserve = futures.ThreadPoolExecutor(1, 'ping')
        self._reserve_free = threading.Semaphore(_PINGS)

    @property
    def turned(self):
        """When requests were looked for last, by time.monotonic(); or None.

        None where nobody is to look: before the start, after the stop, and
        on a bus within this process.
        """
        return self.listener.turned if self.listener else None

    def _create_listener(self):
        with listeners.ours():
            made = super()._create_listener()
        return _Listener(made, self._reserve)

    def _on_incoming(self, incoming):
        [message] = incoming
        if not self._free.acquire(blocking=False):
            if self._spared(message):
                return
            while not self._free.acquire(timeout=_TURN):
                if self.listener.stopping:
                    return    # not acknowledged, so the broker has it
                self.listener.look(self._spared)
        self._work(message, self._work_executor, self._free)

    def _spared(self, message):
        """Whether the thread in reserve answers a message."""
        if not (_is_ping(message)
                and self._reserve_free.acquire(blocking=False)):
            return False
        self._work(message, self._reserve, self._reserve_free)
        return True

    def _work(self, message, executor, free):
        """Have a thread of an executor work on a message, if it is ours.

        free: released when it is done.
        """
        take = getattr(message, 'take', None)
        if take and not take():
            free.release()
            return
        work = executor.submit(self._process, [_Answered(message)])
        work.add_done_callback(lambda _: free.release())

    def _process(self, incoming):
        _begin()
        try:
            self._process_incoming(incoming)
        finally:
            # A thread that waits for its next call keeps nothing of this one.
            _begin()


def _begin():
    """A call begins in this thread, and it is not known yet whose."""
    undo.begin()
    context.forget()


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
            undo.lost()
            raise
        if not self._delivered():
            undo.lost()

    def _send(self, reply, failure):
        try:
            self._message.reply(reply, failure)
        except (TypeError, ValueError, RecursionError) as error:
            # A plug-in's error, or a driver's answer, may hold anything.
            LOG.exception('What came of a call cannot be sent as JSON; its '
                          'caller gets a RuntimeError instead')
            if failure is None:
                undo.lost()
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
    """A listener whose ``stop`` closes its connection.

    reserve: executor that ends with it.
    """

    def __init__(self, listener, reserve):
        self._listener, self._reserve = listener, reserve
        self._arrived = listener._poll_style_listener
        self._over = False

    @property
    def stopping(self):
        return getattr(self._arrived, 'stopping', False)

    @property
    def turned(self):
        return None if self._over else getattr(self._arrived, 'turned', None)

    def start(self, on_incoming):
        self._on_incoming = on_incoming
        self._listener.start(on_incoming)

    def look(self, taken):
        """Read what has come, if that is possible while messages wait.

        taken: function of a message, whether it can do without a thread.
        """
        if look := getattr(self._arrived, 'look', None):
            look(taken)

    def stop(self):
        self._over = True
        self._listener.stop()
        self._listener.cleanup()
        while incoming := self._arrived.poll(batch_size=1):
            self._on_incoming(incoming)

    def cleanup(self):
        """All work is done: give up the replies that find no queue."""
        self._reserve.shutdown()
        if letters := getattr(self._arrived, 'letters', None):
            letters.close(replies.GRACE)
