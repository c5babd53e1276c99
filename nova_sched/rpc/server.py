"""An RPC server that loses no request, and keeps callers apart.

It is oslo.messaging's with these differences, most of which its ``driver``
makes possible:

- A request is taken only when a thread is free for it, and a large one when
  several are, as it takes the memory of many.  oslo.messaging acknowledges as
  many as come, and all that wait are lost if the process dies.  What waits
  beyond ``[oslo_messaging_rabbit]
  rabbit_qos_prefetch_count`` requests (0: any number) waits at the broker,
  where other workers find it.
- A stop closes the connection at once, so that the broker gives what was not
  acknowledged to other workers, and works on what was.  oslo.messaging closes
  it after the last answer, and loses what is delivered meanwhile (measured:
  of 50 requests a second for four workers, stopping two of them lost 31).
- While no thread is free the loop goes on (``listener.py``): heartbeats are
  sent, and pings have a thread in reserve.  If that lasts, more is read of the
  shared queue, where pings wait behind calls.
- Work for which no caller waits runs once the reply is sent, and the work of a
  call is undone when its reply is lost, or when its message wants no reply
  (``call_scope.py``).
- A reply whose queue is missing waits elsewhere (``replies.py``).
- Keepalives for the caller end with any reply, also of a call that no endpoint
  takes, and go on after one that finds no queue.
- Of its threads one at a time computes (``concurrency/turns.py``).
- A method or a version that is no text, and arguments that are no mapping, are
  told to the caller, not errors of the dispatcher.  That there is no such
  method or version is no error of this service, and a line in the log.
- The caller of a call whose result or error is no JSON gets an error that says
  so.  oslo.messaging would send nothing, and have it wait for its time-out.

What oslo.messaging keeps to itself, options apart, is used in this module,
``broadcast.py``, ``declarations.py``, ``driver.py``, ``listener.py`` and
``replies.py`` alone, and ``requirements.txt`` bounds its version for them:
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

# Seconds between two looks at the broker while no thread is free.
_TURN = 0.25

# Seconds without a free thread after which pings are looked for far ahead:
# calls that are read ahead wait here while other workers may be idle again.
_LONG = 1

# How many pings may wait for the thread in reserve.
_PINGS = 16

# Seconds between two tries to tell a caller that its call is worked on.
_AGAIN = 1

_VERSION = re.compile(r'\d{1,9}\.\d{1,9}(\.\d{1,9})?', re.ASCII)


class OnlyCalls(dispatcher.DefaultRPCAccessPolicy):
    """A policy by which callers may call what an endpoint names in CALLS.

    An endpoint without CALLS is all public, as the library has it.
    """

    def is_allowed(self, endpoint, method):
        """Return whether a method of an endpoint may be called."""
        calls = getattr(endpoint, 'CALLS', None)
        return super().is_allowed(endpoint, method) and (
            calls is None or method in calls)


class Dispatcher(dispatcher.RPCDispatcher):
    """A dispatcher of messages to endpoints, for ``Server``."""

    def dispatch(self, incoming):
        """Return what an endpoint returns.

        Raises ExpectedException for a message that no endpoint takes.
        """
        try:
            _check(incoming.message)
            return super().dispatch(incoming)
        except (exception.InvalidInput, dispatcher.NoSuchMethod,
                dispatcher.UnsupportedVersion, TypeError) as error:
            if isinstance(error, TypeError) and not _is_of_the_call(error):
                raise
            # Lines about it are its sender's also where no endpoint takes it.
            self.serializer.deserialize_context(incoming.ctxt)
            LOG.warning('A message is refused: %s', error)
            raise dispatcher.ExpectedException from None
        except Exception:
            raise
        except BaseException as error:
            # The library would answer nothing, and log nothing.
            raise RuntimeError(f'The call was ended by {error!r}') from error

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
    """Return whether a method was called with arguments it does not have.

    Then no frame of the method's own stands in the traceback.
    """
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_globals['__name__'].startswith('oslo_messaging.')


def _is_ping(message):
    """Return whether a message asks for nothing but a sign of life."""
    content = message.message
    return (content.get('namespace') == 'baseapi'
            or content.get('method') == 'oslo_rpc_server_ping')


class Server(server.RPCServer):
    """An RPC server of a transport, a target and a ``Dispatcher``.

    taken_calls: TakenCalls that it shares with servers of other processes;
        None for calls of its own.
    """

    def __init__(self, transport, target, dispatcher, taken_calls=None):
        super().__init__(transport, target, dispatcher)
        self._executor_cls = turns.TurnExecutor
        self._taken_calls = taken_calls
        self._most_places = self.conf.executor_thread_pool_size
        self._free = threading.Semaphore(self._most_places)
        self._reserve = futures.ThreadPoolExecutor(1, 'ping')
        self._reserve_free = threading.Semaphore(_PINGS)
        self._busy_since = None

    @property
    def turned(self):
        """When requests were looked for last, by time.monotonic(); or None.

        It is None where nobody is to look: before the start, after the stop,
        and on a bus within this process.
        """
        return self.listener.turned if self.listener else None

    @property
    def connection(self):
        """The driver.Connection that requests come by; None for another."""
        return self.listener.connection if self.listener else None

    @property
    def busy_for(self):
        """Seconds that messages have been waiting for a free thread."""
        since = self._busy_since
        return time.monotonic() - since if since else 0.0

    def _create_listener(self):
        try:
            listener = super()._create_listener()
        except RuntimeError as error:
            # How the driver says that its options contradict each other.
            raise exception.ConfigurationError(
                '[oslo_messaging_rabbit]', 'as configured',
                str(error)) from error
        if self._taken_calls is not None:
            listener._poll_style_listener.taken_calls = self._taken_calls
        return _ClosingListener(listener, self._work_executor, self._reserve)

    def _on_incoming(self, incoming):
        [message] = incoming
        places = min(getattr(message, 'places', 1), self._most_places)
        taken = self._taken_at_once(places)
        if taken == places:
            self._is_free()
        elif not taken and self._spared(message):
            return
        for _ in range(places - taken):
            while not self._free.acquire(timeout=_TURN):
                if self.listener.stopping:
                    return    # not acknowledged, so the broker has it
                self._is_busy()
                self.listener.look(self._spared)
        executor = self._work_executor
        self._work(message, executor.submit_first if _is_ping(message)
                   else executor.submit,
                   functools.partial(self._free.release, places))

    def _taken_at_once(self, places):
        """Take so many places, or those that are free; return how many."""
        return next((taken for taken in range(places)
                     if not self._free.acquire(blocking=False)), places)

    def _is_busy(self):
        """Note that no thread is free."""
        now = time.monotonic()
        self._busy_since = self._busy_since or now
        if now - self._busy_since > _LONG:
            self.listener.read_ahead(True)

    def _is_free(self):
        """Note that a message has found a thread at once."""
        if self._busy_since:
            self._busy_since = None
            self.listener.read_ahead(False)

    def _spared(self, message):
        """Return whether the thread in reserve answers a message."""
        if not (_is_ping(message)
                and self._reserve_free.acquire(blocking=False)):
            return False
        self._work(message, self._reserve.submit, self._reserve_free.release)
        return True

    def _work(self, message, submit, release):
        """Have a thread work on a message, if it is ours.

        submit: that of an executor.  release: called when it is done.
        """
        work = None
        try:
            take = getattr(message, 'take', lambda: True)
            if take():
                work = submit(self._process, [_TrackedMessage(message)])
        finally:
            if work is None:
                release()
        if work is not None:
            work.add_done_callback(lambda _: release())

    def _process(self, incoming):
        # The caller is not known yet.
        context.forget()
        [message] = incoming
        getattr(message, 'fetch', lambda: None)()
        try:
            with call_scope.entered():
                self._process_incoming(incoming)
        finally:
            # A thread that waits for its next call keeps nothing of this one.
            context.forget()


class _TrackedMessage:
    """An incoming message whose reply ends its keepalives, or is lost."""

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
            call_scope.reply_is_lost()
            raise

    def _send(self, reply, failure):
        try:
            self._message.reply(reply, failure)
        except (TypeError, ValueError, RecursionError) as error:
            # A plug-in's error, or a driver's answer, may hold anything.
            LOG.exception('What came of a call cannot be sent as JSON; its '
                          'caller gets a RuntimeError instead')
            if failure is None:
                call_scope.reply_is_lost()
            self._message.reply(failure=_as_text(
                error if failure is None else failure[1]))


def _as_text(error):
    """Return the failure that says of an error what can always be sent."""
    told = RuntimeError(''.join(
        traceback.format_exception_only(error)).strip())
    return type(told), told, error.__traceback__


class _ClosingListener:
    """A listener whose ``stop`` closes its connection.

    executor: of what comes.  reserve: of pings; ends with it.
    """

    def __init__(self, listener, executor, reserve):
        self._listener = listener
        self._executor, self._reserve = executor, reserve
        self._arrived = listener._poll_style_listener
        self._over = False

    @property
    def stopping(self):
        return getattr(self._arrived, 'stopping', False)

    @property
    def turned(self):
        return None if self._over else getattr(self._arrived, 'turned', None)

    @property
    def connection(self):
        return None if self._over else getattr(self._arrived, 'conn', None)

    def start(self, on_incoming):
        self._on_incoming = on_incoming
        # They have a thread before a message is taken for it.
        self._executor.submit(context.forget)
        self._reserve.submit(context.forget)
        self._listener.start(on_incoming)

    def look(self, taken):
        """Read what has come while no thread is free, if the driver can.

        taken: function of a message, whether it can do without a thread.
        """
        if look := getattr(self._arrived, 'look', None):
            look(taken)

    def read_ahead(self, wanted):
        """Read far ahead or not, if the driver can."""
        if read_ahead := getattr(self._arrived, 'read_ahead', None):
            read_ahead(wanted)

    def stop(self):
        self._over = True
        self._listener.stop()
        self._listener.cleanup()
        while incoming := self._arrived.poll(batch_size=1):
            self._on_incoming(incoming)

    def cleanup(self):
        """Give up the replies that find no queue; all work is done."""
        self._reserve.shutdown()
        if retrier := getattr(self._arrived, 'retrier', None):
            retrier.close(replies.GRACE)
