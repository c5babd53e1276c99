"""An RPC server that loses no request, and isolates callers from each other.

It is oslo.messaging's server with these differences, most of them by means of
``driver``:

- A request is acknowledged only when a thread is free for it, a large request
  when several are.  oslo.messaging acknowledges all that come, and loses the
  waiting ones if the process dies.  Beyond ``[oslo_messaging_rabbit]
  rabbit_qos_prefetch_count`` requests (0: no limit) they wait at the broker,
  available to other workers.
- A stop closes the connection at once, so that the broker requeues what was
  not acknowledged; acknowledged requests are answered.  oslo.messaging closes
  it after the last answer, and loses requests delivered until then (measured:
  of 50 requests a second for four workers, stopping two workers lost 31).
- While no thread is free the loop continues (``listener.py``) and sends
  heartbeats.  A reserved thread answers pings.
- Work for which no caller waits runs once the reply is sent.  A call is undone
  if its reply is lost, or if its message wants no reply (``call_scope.py``).
- A reply waits for a missing queue in another thread (``replies.py``).
- Keepalives for the caller end with any reply, also if no endpoint takes the
  call, and continue after a keepalive that finds no queue.
- One thread at a time computes (``concurrency/turns.py``).
- An invalid method, version or arguments are reported to the caller, not
  raised as errors of the dispatcher.  An unknown method or version is a
  warning in the log.
- If a result or error cannot be JSON, the caller gets an error.
  oslo.messaging would send nothing, and the caller would time out.

Private parts of oslo.messaging, except for options, are used only in this
module, ``broadcast.py``, ``declarations.py``, ``driver.py``, ``listener.py``
and ``replies.py``; ``requirements.txt`` bounds its version for them:
``_drivers.amqpdriver``, ``_drivers.base``, ``_drivers.common`` and
``_drivers.impl_rabbit``; of a server ``_create_listener``, ``_on_incoming``,
``_process_incoming``, ``_executor_cls`` and ``_work_executor``; of a transport
``_listen``; of a listener ``_poll_style_listener``, ``message_cls``,
``_shutdown``, ``_shutoff``, ``_message_operations_handler`` and
``_obsolete_reply_queues``; of a driver ``_get_connection``, ``_get_exchange``
and ``_connection_pool`` with its ``connection_cls``; of a connection
``_connection_lock``, ``_consumers``, ``_new_tags``,
``_get_quorum_configurations``, ``_poll_timeout``, ``_q_manager``,
``_set_current_channel`` and ``_transform_transport_url``; of a consumer
``_callback``; of a dispatcher ``_watchdog``; of a message ``orig_msg_id`` and
``_send_reply``.
"""

from concurrent import futures
import functools
import re
import threading
import time
import traceback

from oslo_log import log as logging
import oslo_messaging as messaging
from oslo_messaging.rpc import dispatcher
from oslo_messaging.rpc import server

from nova_sched import context
from nova_sched import exception
from nova_sched.concurrency import turns
from nova_sched.rpc import call_scope
from nova_sched.rpc import replies

LOG = logging.getLogger(__name__)

# Seconds between two reads while no thread is free.
_POLL = 0.25

# Maximum number of pings that wait for the reserved thread.
_PINGS = 16

# Seconds between two attempts to send a keepalive.
_KEEPALIVE_RETRY = 1

_VERSION = re.compile(r'\d{1,9}\.\d{1,9}(\.\d{1,9})?', re.ASCII)


class OnlyCalls(dispatcher.DefaultRPCAccessPolicy):
    """A policy that permits the methods in an endpoint's CALLS.

    Without CALLS, all public methods of the endpoint are permitted.
    """

    def is_allowed(self, endpoint, method):
        """Return whether a method of an endpoint may be called."""
        calls = getattr(endpoint, 'CALLS', None)
        return super().is_allowed(endpoint, method) and (
            calls is None or method in calls)


class Dispatcher(dispatcher.RPCDispatcher):
    """A dispatcher of messages to endpoints, for ``Server``."""

    def dispatch(self, incoming):
        """Return the result of an endpoint.

        Raises ExpectedException for a message that no endpoint accepts.
        """
        try:
            _check(incoming.message)
            return super().dispatch(incoming)
        except (exception.InvalidInput, dispatcher.NoSuchMethod,
                dispatcher.UnsupportedVersion, TypeError) as error:
            if isinstance(error, TypeError) and not _is_wrong_call(error):
                raise
            # Set the caller's context for the log line.
            self.serializer.deserialize_context(incoming.ctxt)
            LOG.warning('A message is refused: %s', error)
            raise dispatcher.ExpectedException from None
        except Exception:
            raise
        except BaseException as error:
            # The library would neither reply nor log it.
            raise RuntimeError(f'The call was ended by {error!r}') from error

    def _watchdog(self, event, incoming):
        incoming.end_with_reply(event)
        super()._watchdog(event, incoming)


def _check(message):
    """Raise InvalidInput for a malformed message."""
    if refused := getattr(message, 'refused', None):
        raise exception.InvalidInput(reason=refused)
    version = message.get('version', '1.0')
    for name, is_valid, expected in (
            ('method', isinstance(message.get('method'), str), 'a text'),
            ('version', isinstance(version, str)
             and _VERSION.fullmatch(version), 'a text such as 4.5'),
            ('args', isinstance(message.get('args', {}), dict),
             'an object')):
        if not is_valid:
            raise exception.InvalidInput(
                reason=f'{name} = {message.get(name)!r:.80}: must be '
                       f'{expected}')


def _is_wrong_call(error):
    """Return whether a TypeError is due to unknown or missing arguments.

    Then the traceback ends in the dispatcher, not in the method.
    """
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_globals['__name__'].startswith('oslo_messaging.')


def _is_ping(message):
    """Return whether a message is a ping."""
    content = message.message
    return (content.get('namespace') == 'baseapi'
            or content.get('method') == 'oslo_rpc_server_ping')


class Server(server.RPCServer):
    """An RPC server of a transport, a target and a ``Dispatcher``.

    taken_calls: TakenCalls shared with servers of other processes, or None.
    """

    def __init__(self, transport, target, dispatcher, taken_calls=None):
        super().__init__(transport, target, dispatcher)
        self._executor_cls = turns.TurnExecutor
        self._taken_calls = taken_calls
        self._threads = self.conf.executor_thread_pool_size
        self._free = threading.Semaphore(self._threads)
        self._reserve = futures.ThreadPoolExecutor(1, 'ping')
        self._reserve_free = threading.Semaphore(_PINGS)
        self._busy_since = None

    @property
    def polled_at(self):
        """Time of the last poll for requests, by time.monotonic().

        None before the start, after the stop, and on an in-process bus.
        """
        return self.listener and self.listener.while_serving('polled_at')

    @property
    def connection(self):
        """The driver.Connection of requests; None like ``polled_at``."""
        return self.listener and self.listener.while_serving('conn')

    @property
    def busy_for(self):
        """Seconds for which no thread has been free."""
        since = self._busy_since
        return time.monotonic() - since if since else 0.0

    def _create_listener(self):
        try:
            listener = super()._create_listener()
        except RuntimeError as error:
            # The driver's error for contradicting options.
            raise exception.ConfigurationError(
                '[oslo_messaging_rabbit]', 'as configured',
                str(error)) from error
        if self._taken_calls is not None:
            listener._poll_style_listener.taken_calls = self._taken_calls
        return _ClosingListener(listener, self._work_executor, self._reserve)

    def _on_incoming(self, incoming):
        [message] = incoming
        if self._answer_ping(message):
            return
        weight = min(getattr(message, 'weight', 1), self._threads)
        acquired = next((count for count in range(weight)
                         if not self._free.acquire(blocking=False)), weight)
        if acquired == weight:
            self._busy_since = None
        for _ in range(weight - acquired):
            while not self._free.acquire(timeout=_POLL):
                if self.listener.stopping:
                    return    # not acknowledged: the broker requeues it
                self._busy_since = self._busy_since or time.monotonic()
                self.listener.read_available(self._answer_ping)
        self._submit(message, self._work_executor.submit,
                     functools.partial(self._free.release, weight))

    def _answer_ping(self, message):
        """Submit a ping to the reserved thread; return whether it was done."""
        if not (_is_ping(message)
                and self._reserve_free.acquire(blocking=False)):
            return False
        self._submit(message, self._reserve.submit,
                     self._reserve_free.release)
        return True

    def _submit(self, message, submit, release):
        """Take a message and process it in a thread.

        submit: that of an executor.  release: called when it is processed, or
            not taken.
        """
        work = None
        try:
            if getattr(message, 'take', lambda: True)():
                work = submit(self._process, [_TrackedMessage(message)])
                work.add_done_callback(lambda _: release())
        finally:
            if work is None:
                release()

    def _process(self, incoming):
        # The caller's context is not set yet.
        context.forget()
        [message] = incoming
        getattr(message, 'load', lambda: None)()
        try:
            with call_scope.entered():
                self._process_incoming(incoming)
        finally:
            # An idle thread must not keep the context of its last call.
            context.forget()


class _TrackedMessage:
    """An incoming message: its reply ends keepalives, or undoes the call."""

    def __init__(self, message):
        self._message = message
        self._replied, self._ended = False, None

    def __getattr__(self, name):
        return getattr(self._message, name)

    def end_with_reply(self, ended):
        """Set an Event before the reply is sent; it ends the keepalives."""
        self._ended = ended
        if self._replied:
            ended.set()

    def heartbeat(self):
        """Send the caller a keepalive; retry until it is delivered."""
        while not self._ended.is_set():
            try:
                return self._message.heartbeat()
            except messaging.MessageDeliveryFailure as error:
                LOG.debug('Cannot send a keepalive for call %s: %s',
                          self._message.msg_id, error)
            self._ended.wait(_KEEPALIVE_RETRY)

    def reply(self, reply=None, failure=None):
        self._replied = True
        if self._ended:
            self._ended.set()
        try:
            self._send(reply, failure)
        except BaseException:
            call_scope.reply_is_lost()
            raise

    def _send(self, reply, failure):
        try:
            self._message.reply(reply, failure)
        except (TypeError, ValueError, RecursionError) as error:
            # A plug-in's error or a driver's result may hold any object.
            LOG.exception('The result of a call cannot be sent as JSON; its '
                          'caller gets a RuntimeError instead')
            if failure is None:
                call_scope.reply_is_lost()
            self._message.reply(failure=_as_text(
                error if failure is None else failure[1]))


def _as_text(error):
    """Return a failure with the text of an error, which can be JSON."""
    made = RuntimeError(''.join(
        traceback.format_exception_only(error)).strip())
    return type(made), made, error.__traceback__


class _ClosingListener:
    """A listener whose ``stop`` closes its connection.

    executor: for messages.  reserve: for pings; is shut down with it.

    The Listener of an in-process bus is the library's, and lacks attributes.
    """

    def __init__(self, listener, executor, reserve):
        self._adapter = listener
        self._executor, self._reserve = executor, reserve
        self._listener = listener._poll_style_listener
        self._stopped = False

    @property
    def stopping(self):
        return getattr(self._listener, 'stopping', False)

    def while_serving(self, name):
        """Return an attribute of a Listener, None after the stop."""
        return None if self._stopped else getattr(self._listener, name, None)

    def start(self, on_incoming):
        self._on_incoming = on_incoming
        # Start a thread of each before a message is taken for it.
        self._executor.submit(context.forget)
        self._reserve.submit(context.forget)
        self._adapter.start(on_incoming)

    def read_available(self, try_take):
        """Read the available messages while no thread is free.

        try_take: function of a message; returns whether it took the message.
        """
        getattr(self._listener, 'read_available', lambda _: None)(try_take)

    def stop(self):
        self._stopped = True
        self._adapter.stop()
        self._adapter.cleanup()
        while incoming := self._listener.poll(batch_size=1):
            self._on_incoming(incoming)

    def cleanup(self):
        """Abandon the replies without a queue; all calls are processed."""
        self._reserve.shutdown()
        if retrier := getattr(self._listener, 'retrier', None):
            retrier.close(replies.GRACE)
