"""Notifications about requests, as Nova sends them.

A request costs its own thread no more than a place in a queue: payloads are
made, and sent, in a thread of their own. That is safe because nobody changes
a RequestSpec that is not their own, and making a payload leaves no trace on
it.
"""

import contextlib
import dataclasses
import queue
import threading
import time

from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched.observe import payloads
from nova_sched.rpc import notifier
from nova_sched.rpc.notifier import NotSentError
from nova_sched.rpc.notifier import RefusedError

LOG = logging.getLogger(__name__)

#: How many notifications wait before the next one is lost.
MOST = 1000
#: Seconds between one that was not sent and the next try.
PAUSE = 5
#: Seconds that a stop waits for what is still to be sent.
GRACE = 3


@dataclasses.dataclass(frozen=True)
class _Event:
    """A request that began, or ended with a decision.Pick each instance."""

    phase: str
    context: object
    spec_obj: object
    picks: list | tuple = ()


class Notifications:
    """The notifications that hosts are about to be chosen, and were.

    conf: ConfigOpts.  Nobody is told before ``configure``, nor where
    [oslo_messaging_notifications] driver is empty; nothing is made then.
    """

    def __init__(self, conf):
        self._conf, self._options, self._post = conf, None, None

    def configure(self):
        """Apply what the options say now.

        Raises ConfigurationError for a bus that there cannot be; all stays as
        it is then.
        """
        options = _options(self._conf)
        if options == self._options:
            return
        fresh = (_Post(self._conf) if config.notification_drivers(self._conf)
                 else None)
        old, self._post, self._options = self._post, fresh, options
        if old is not None:
            old.stop()

    def began(self, context, spec_obj):
        """Tell that hosts are about to be chosen for a request.

        context: RequestContext.  spec_obj: a RequestSpec that nobody changes.
        """
        self._tell('start', context, spec_obj)

    def ended(self, context, spec_obj, picks):
        """Tell that hosts were chosen: a decision.Pick each instance."""
        self._tell('end', context, spec_obj, picks)

    def stop(self):
        """Send what is queued, for at most GRACE seconds, and disconnect."""
        old, self._post, self._options = self._post, None, None
        if old is not None:
            old.stop()

    def _tell(self, *event):
        # Another thread may take it away meanwhile.
        post = self._post
        if post is not None:
            post.put(_Event(*event))


class _Post:
    """A sender of notifications in each form that [notifications] asks for.
    """

    def __init__(self, conf):
        bus, self._ways = notifier.Bus(conf), []
        wanted = conf.notifications.notification_format
        if wanted != 'versioned':
            self._ways.append((
                bus.notifier(f'scheduler.{conf.host}'),
                payloads.unversioned))
        if wanted != 'unversioned':
            self._ways.append((
                bus.notifier(
                    f'nova-scheduler:{conf.host}',
                    conf.notifications.versioned_notifications_topics),
                payloads.versioned))
        self._outbox = Outbox(
            _send, bus.close,
            keep=conf.oslo_messaging_notifications.retry < 0)

    def put(self, event):
        """Queue the notifications of an event."""
        for way, payload in self._ways:
            self._outbox.put((event, way, payload))

    def stop(self):
        """Send what is queued, for at most GRACE seconds."""
        self._outbox.stop(GRACE)


def _send(notification):
    """Make the payload of a notification and send it by its way."""
    event, way, payload = notification
    way.info(event.context, f'scheduler.select_destinations.{event.phase}',
             payload(event.spec_obj, event.picks))


def _options(conf):
    """Return all that notifications depend on, to be compared."""
    return (conf.host, config.notification_transport_url(conf),
            dict(conf.oslo_messaging_notifications),
            dict(conf.notifications))


class Outbox:
    """Sends notifications in a thread of its own, in the order they came.

    send: function of one of them; raises NotSentError when the bus does not
        take it, RefusedError when it never will, and that one is lost.
    close: function called at the end, in that thread as well, because it may
        hang with the bus.
    keep: whether one that was not taken is sent until it is; else it is lost.
    most: so many may wait.  pause: seconds after one that was not taken.

    Making one starts the thread.  The log has one line when the bus takes
    none or there is no room, and one when all that waited are sent.
    """

    def __init__(self, send, close, keep=True, most=MOST, pause=PAUSE):
        self._send, self._close = send, close
        self._keep, self._pause = keep, pause
        self._waiting = queue.Queue(most)
        self._stopping, self._over = threading.Event(), False
        # In trouble, this many were lost; None while all goes well.
        self._lock, self._lost = threading.Lock(), None
        # Why one was lost that no other try gets out: the last reason told.
        self._refused = None
        self._busy = False
        self._thread = threading.Thread(
            target=self._run, name='notifications', daemon=True)
        self._thread.start()

    def put(self, notification):
        """Queue a notification. Neither waits nor raises anything."""
        try:
            self._waiting.put_nowait(notification)
            return
        except queue.Full:
            full = f'{self._waiting.maxsize} wait already'
        # Outside of the handler, whose error oslo.log would add.
        self._trouble(full, lost=1)

    def stop(self, seconds):
        """Send what is queued, for at most so many seconds, and close."""
        end = time.monotonic() + seconds
        self._stopping.set()
        with contextlib.suppress(queue.Full):
            self._waiting.put(None, timeout=seconds)
        self._thread.join(max(0, end - time.monotonic()))
        self._over = True
        if left := self._busy + self._cleared():
            LOG.warning('%d notification(s) were not sent before the stop',
                        left)

    def _cleared(self):
        """Empty the queue, and return how many notifications it had."""
        count = 0
        with contextlib.suppress(queue.Empty):
            while True:
                count += self._waiting.get_nowait() is not None
        return count

    def _run(self):
        try:
            while not self._over and (
                    found := self._waiting.get()) is not None:
                self._busy = True
                if not self._done(found):
                    break
                self._busy = False
        finally:
            self._close()

    def _done(self, notification):
        """Send or lose a notification; return False if a stop comes first."""
        while error := self._refusal(notification):
            self._trouble(error, lost=0 if self._keep else 1)
            if self._stopping.wait(self._pause):
                return False
            if not self._keep:
                break
        return True

    def _refusal(self, notification):
        """Send a notification; return the error if the bus did not take it."""
        error = None
        try:
            self._send(notification)
        except NotSentError as exc:
            return exc
        except Exception as exc:
            # No other try mends it.
            error = exc
        else:
            self._well()
        if error is not None and repr(error) != self._refused:
            self._refused = repr(error)
            refused = isinstance(error, RefusedError)
            LOG.error('A notification is lost, and so are others for the same '
                      'reason: %s', error if refused else self._refused,
                      exc_info=None if refused else error)
        return None

    def _trouble(self, reason, lost):
        with self._lock:
            first = self._lost is None
            self._lost = (self._lost or 0) + lost
        if first:
            LOG.warning('Notifications do not get out: %s. Requests are '
                        'answered as ever; %d notifications can wait, and '
                        'others are lost', reason, self._waiting.maxsize)

    def _well(self):
        # As long as some wait, the next one may find no room.
        if self._lost is None or not self._waiting.empty():
            return
        with self._lock:
            lost, self._lost = self._lost, None
        LOG.info('Notifications get out again; %d were lost', lost)
